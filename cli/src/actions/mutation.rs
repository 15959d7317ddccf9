//! What every command that changes something does: show it, or do it and say what came of it.

use posthaste::{Call, Client, Deleted, Reference, WithResponse};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::actions::dry_run;
use crate::actions::trace;
use crate::actions::unsettled::Unsettled;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{DryRun, Flags};
use crate::output::record;

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
) -> Result<Option<WithResponse<T>>, Fail> {
    if let Some(form) = dry_run {
        let client = context.client_for_preview()?;
        dry_run::show(&make(&client).preview()?, &[], form, context)?;
        return Ok(None);
    }
    let client = context.client()?;
    let unsettled = Unsettled::new(context, doubt.to_owned());
    let answer = trace::carry_out(context, || make(&client)).await;
    unsettled.settled();
    answer.map(Some).map_err(|error| Fail::of_call(error, doubt))
}

/// Carries out, or shows, what needs nothing but an id and answers with one; and prints that.
pub(crate) async fn by_id<I: AsRef<str> + DeserializeOwned + Send + 'static>(
    dry_run: &DryRunFlag,
    doubt: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<Reference<I>>,
) -> Result<(), Fail> {
    match carry_out(dry_run.plan()?, doubt, context, make).await? {
        Some(answer) => print(answer.value.id.as_ref(), &answer, context),
        None => Ok(()),
    }
}

/// The same for a deletion.
pub(crate) async fn delete<I: AsRef<str> + DeserializeOwned + Send + 'static>(
    dry_run: &DryRunFlag,
    doubt: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<Deleted<I>>,
) -> Result<(), Fail> {
    match carry_out(dry_run.plan()?, doubt, context, make).await? {
        Some(answer) => print(answer.value.id.as_ref(), &answer, context),
        None => Ok(()),
    }
}

impl DryRunFlag {
    /// Reads it where no other flag can be wrong.
    fn plan(&self) -> Result<Option<DryRun>, Fail> {
        let mut flags = Flags::default();
        let dry_run = flags.dry_run(self.dry_run.as_deref());
        flags.finish()?;
        Ok(dry_run)
    }
}

/// Shows one thing as the service tells it.
pub(crate) async fn show<T: DeserializeOwned + Send + 'static>(
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    let client = context.client()?;
    let record = trace::carry_out(context, || make(&client)).await?;
    let document = document(&record);
    context.out.result(&record::lines(&document), &document)
}

/// Prints the id that people want, and the whole answer for programs.
pub(crate) fn print<T>(id: &str, answer: &WithResponse<T>, context: &Context) -> Result<(), Fail> {
    context.out.result(&[id.to_owned()], &document(answer))
}

/// The answer as the service wrote it.
pub(crate) fn document<T>(answer: &WithResponse<T>) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}
