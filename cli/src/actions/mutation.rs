//! What every command that changes something does: show it, or do it and report what came of it.
//!
//! While a change is under way it is noted in the context's [`InFlight`](crate::diagnostics::InFlight). An interrupt, a full disk or a filter that
//! fails then ends with the ID, the outcome and the idempotency key, whatever else was asked to be quiet.

use posthaste::{Call, Client, Deleted, IdempotencyKey, Reference, WithResponse};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::actions::confirm;
use crate::actions::dry_run::{self, Content};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags};
use crate::output::record;

// The flag of every command that changes something; no doc comment, which would take the place of a command's own.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub(crate) struct DryRunFlag {
    /// Check everything and show the request, but send nothing; =curl shows a command
    ///
    /// Needs neither a credential nor an address of the service.
    #[arg(short = 'n', long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "json", value_parser = Choices(&["json", "curl"]), hide_possible_values = true)]
    pub(crate) dry_run: Option<String>,
}

/// A change: one call, and what to say of it if it is cut off.
#[derive(Debug)]
pub(crate) struct Mutation<'a> {
    /// Show the request instead.
    pub(crate) dry_run: Option<DryRun>,
    /// What to say when a signal comes between, or when nobody knows what the service has done:
    /// `the template may have been created; look: posthaste templates list`.
    pub(crate) doubt: &'a str,
    /// The key that makes repeating it harmless.
    pub(crate) key: Option<&'a IdempotencyKey>,
    /// The attachments, for a dry run.
    pub(crate) contents: &'a [Content],
}

impl Mutation<'_> {
    /// Carries out the call that `make` describes, or shows it; then there is no response. The response has to be [reported](report).
    pub(crate) async fn carry_out<T: DeserializeOwned + Send + 'static>(
        &self,
        context: &Context,
        make: impl Fn(&Client) -> Call<T>,
    ) -> Result<Option<(Client, WithResponse<T>)>, Fail> {
        if let Some(form) = self.dry_run {
            let client = context.client_for_preview()?;
            dry_run::show(&make(&client).preview()?, self.contents, form, context)?;
            return Ok(None);
        }
        let client = context.client()?;
        context.in_flight.begin(self.doubt, self.key.map(IdempotencyKey::as_str));
        match trace::carry_out(context, || make(&client)).await {
            Ok(answer) => {
                context.in_flight.accepted(ids(&document(&answer)));
                Ok(Some((client, answer)))
            }
            Err(error) => {
                context.in_flight.finish();
                Err(Fail::of_call(error, self.doubt))
            }
        }
    }
}

/// Carries out a change without a key, or shows it.
pub(crate) async fn carry_out<T: DeserializeOwned + Send + 'static>(
    dry_run: Option<DryRun>,
    doubt: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<Option<WithResponse<T>>, Fail> {
    let done = Mutation { dry_run, doubt, key: None, contents: &[] }.carry_out(context, make).await?;
    Ok(done.map(|(_, answer)| answer))
}

/// Prints what came of a change. A reader that went away doesn't undo the change: it is reported on standard error then, and the command goes on.
pub(crate) fn report(context: &Context, print: impl FnOnce() -> Result<(), Fail>) -> Result<(), Fail> {
    match print() {
        Err(Fail::BrokenPipe) => context.report_unread(),
        Err(fail) => return Err(fail),
        Ok(()) => {}
    }
    context.in_flight.finish();
    Ok(())
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
    confirm_delete(dry_run.dry_run.is_some(), context, &make).await?;
    match carry_out(dry_run.plan()?, doubt, context, make).await? {
        Some(answer) => print(answer.value.id.as_ref(), &answer, context),
        None => Ok(()),
    }
}

/// Asks a person at a terminal before a deletion: `delete domain d91cd9bd-…?`
pub(crate) async fn confirm_delete<T: DeserializeOwned + Send + 'static>(
    dry_run: bool,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    if dry_run || !asks(context)? {
        return Ok(());
    }
    let path = make(&context.client_for_preview()?).preview()?.path_and_query();
    let mut parts = path.trim_start_matches('/').splitn(2, '/');
    let (noun, id) = (parts.next().unwrap_or_default().replace('-', " "), parts.next().unwrap_or_default());
    let noun = noun
        .strip_suffix("ies")
        .map_or_else(|| noun.trim_end_matches('s').to_owned(), |stem| format!("{stem}y"));
    confirm::confirm(&format!("delete {noun} {id}?"), context).await
}

/// Asks for confirmation at a terminal before an irreversible change.
pub(crate) async fn confirm(dry_run: bool, question: &str, context: &Context) -> Result<(), Fail> {
    if dry_run || !asks(context)? { Ok(()) } else { confirm::confirm(question, context).await }
}

fn asks(context: &Context) -> Result<bool, Fail> {
    Ok(!context.global.yes && confirm::may_ask(context)?)
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

/// Reports a change: the id that people want, and the whole answer for programs.
pub(crate) fn print<T>(id: &str, answer: &WithResponse<T>, context: &Context) -> Result<(), Fail> {
    report(context, || context.out.result(&[id.to_owned()], &document(answer)))
}

/// The answer as the service wrote it.
pub(crate) fn document<T>(answer: &WithResponse<T>) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// The IDs in a response: of one thing, or of a list.
fn ids(document: &Value) -> Vec<String> {
    let items = document["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    std::iter::once(document)
        .chain(items)
        .filter_map(|item| Some(item.get("id")?.as_str()?.to_owned()))
        .collect()
}
