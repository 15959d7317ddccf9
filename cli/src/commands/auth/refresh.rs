//! `auth refresh`: refreshes the login's access token, perhaps with a narrower scope.

use idempost::auth::RefreshRequest;

use super::{LOGIN, failed, of_store, status};
use crate::context::Context;
use crate::credentials::CredentialKind;
use crate::diagnostics::Fail;
use crate::input::flags::Choices;

/// Get a new access token with a narrower scope
///
/// The scopes must be among those of the login. They apply to this access token, for 15 minutes: the next refresh gets the login's scopes
/// again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost auth refresh --scope emails:send")]
pub(crate) struct Args {
    /// Scope to ask for: emails:send or full_access; repeatable
    #[arg(long = "scope", value_name = "SCOPE", required = true, value_parser = Choices(&["emails:send", "full_access"]), hide_possible_values = true)]
    scopes: Vec<String>,
}

/// Refreshes, and prints the status.
pub(super) async fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let credentials = context.credentials()?;
    match credentials.overview().map_err(|error| of_store(&error))? {
        Some(overview) if overview.metadata.kind == CredentialKind::Login => {}
        _ => {
            return Err(Fail::Auth {
                message: "not logged in; an API key has no scope".to_owned(),
                hint: Some(LOGIN.to_owned()),
            });
        }
    }
    let request = RefreshRequest::with_scope(args.scopes.iter().map(String::as_str));
    context.session(&credentials)?.refresh(request).await.map_err(failed)?;
    status::run(&status::Args {}, context)
}
