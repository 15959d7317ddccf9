//! `suppressions check`: whether the service would send to an address, as an exit code.

use idempost::{Error, error::ApiErrorKind};
use serde_json::{Value, json};

use crate::actions::{mutation, trace};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::rows::given::Given;

pub(super) async fn run(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let email = given.text("email").unwrap_or_default();
    let mut flags = given.flags(context).await;
    // An ID would be a valid path, and a misspelled address would never be found.
    if let Err(Error::Invalid(problems)) = context.client_for_preview()?.suppressions().add(email).preview() {
        flags.add_problems(Err(problems));
    }
    flags.finish()?;
    let client = context.client()?;
    let found = match trace::execute(context, || client.suppressions().get(email)).await {
        Ok(response) => mutation::document(&response),
        // A 404 of another service has a different name, and isn't about the address.
        Err(Error::Api(api)) if api.kind() == ApiErrorKind::NotFound && api.name == "not_found" => {
            Value::Null
        }
        Err(error) => return Err(error.into()),
    };
    let suppressed = !found.is_null();
    let text = |field: &str| found[field].as_str().unwrap_or("unknown").to_owned();
    let line = if suppressed {
        format!("{email}  suppressed  {}  {}", text("origin"), text("created_at"))
    } else {
        format!("{email}  not suppressed")
    };
    let document = json!({
        "object": "suppression_check", "email": email, "suppressed": suppressed, "suppression": found,
    });
    context.out.result(&[line], &document)?;
    if !suppressed {
        return Ok(());
    }
    Err(Fail::rejected(format!("{email} is on the suppression list (origin: {})", text("origin")))
        .hint(format!("to send to it again: idempost suppressions remove {email}")))
}
