//! What every command that changes something does: show it, or do it and say what came of it.

use posthaste::{Call, Client, Raw};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::fail::Fail;
use crate::narrate;
use crate::preview::{self, DryRun};
use crate::unsettled::Unsettled;

/// The flag of every command that changes something.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub(crate) struct DryRunFlag {
    /// Check everything and show the request, but send nothing; =curl shows a command
    ///
    /// Needs neither a credential nor an address of the service.
    #[arg(short = 'n', long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "json")]
    pub(crate) dry_run: Option<String>,
}

/// Carries out the call that `make` describes, or shows it; then there is no answer. `doubt` is what to say when a signal comes between,
/// or when nobody knows what the service has done: `the template may have been made; look: posthaste templates list`.
pub(crate) async fn carry_out<T: DeserializeOwned + Send + 'static>(
    dry_run: Option<DryRun>,
    doubt: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<Option<Raw<T>>, Fail> {
    if let Some(form) = dry_run {
        let client = context.client_for_preview()?;
        preview::show(&make(&client).preview()?, &[], form, context)?;
        return Ok(None);
    }
    let client = context.client()?;
    let unsettled = Unsettled::new(context, doubt.to_owned());
    let answer = narrate::carry_out(context, || make(&client)).await;
    unsettled.settled();
    answer.map(Some).map_err(|error| Fail::of_call(error, doubt))
}

/// Prints the id that people want, and the whole answer for programs.
pub(crate) fn print<T>(id: &str, answer: &Raw<T>, context: &Context) -> Result<(), Fail> {
    context.out.result(&[id.to_owned()], &document(answer))
}

/// The answer as the service wrote it.
pub(crate) fn document<T>(answer: &Raw<T>) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}
