//! Shared by all commands that make changes: shows the request, or sends it and reports the result.
//!
//! While a change is in flight it is recorded in the context's [`InFlight`](crate::diagnostics::InFlight). Even after an interrupt, a full disk
//! or a failing filter, and with --quiet, the command reports the ID, the outcome and the idempotency key.

use idempost::{Call, Client, Error, IdempotencyKey, Outcome, call::WithResponse};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::actions::confirm;
use crate::actions::dry_run::{self, Content};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::{Fail, repeatable_with};
use crate::input::flags::{Choices, DryRun, Flags};
use crate::output::secret::{self, SecretFile};
use crate::output::was_stdout_closed;

// The flag of every mutating command. No doc comment: it would replace the command's.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub(crate) struct DryRunFlag {
    /// Validate everything and show the request without sending it; =curl shows a curl command
    ///
    /// Needs neither a credential nor a base URL.
    #[arg(short = 'n', long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "json", value_parser = Choices(&["json", "curl"]), hide_possible_values = true)]
    pub(crate) dry_run: Option<String>,
}

// The flags of a change with an idempotency key. No doc comment either.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct SendFlags {
    /// Idempotency key: within 24 hours, the same key and request are executed only once
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    idempotency_key: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Builds a call whose response is printed unchanged.
pub(crate) type BuildCall<'a> = dyn Fn(&Client) -> Call<WithResponse<()>> + 'a;

/// A change: a call, and the message for an unknown outcome.
#[derive(Debug)]
pub(crate) struct Mutation<'a> {
    /// Print the request instead of sending it.
    pub(crate) dry_run: Option<DryRun>,
    /// The message if a signal interrupts the call or its outcome is unknown:
    /// `the template may have been created; check: idempost templates list`.
    pub(crate) unknown_outcome: &'a str,
    /// The idempotency key, if any.
    pub(crate) key: Option<&'a IdempotencyKey>,
    /// Whether the command line contains the key, so that rerunning it is safe. Otherwise the key is random.
    pub(crate) key_given: bool,
    /// The attachments, for a dry run.
    pub(crate) contents: &'a [Content],
}

impl Mutation<'_> {
    /// Executes the call that `make` builds, or prints it and returns no response. The response must be [reported](report).
    pub(crate) async fn execute<T: DeserializeOwned + Send + 'static>(
        &self,
        context: &Context,
        make: impl Fn(&Client) -> Call<T>,
    ) -> Result<Option<(Client, WithResponse<T>)>, Fail> {
        self.respond(context, &|client| make(client).with_response()).await
    }

    /// Like [`execute`](Self::execute), for a call that returns its response.
    pub(crate) async fn respond<T: Send + 'static>(
        &self,
        context: &Context,
        make: &dyn Fn(&Client) -> Call<WithResponse<T>>,
    ) -> Result<Option<(Client, WithResponse<T>)>, Fail> {
        if let Some(form) = self.dry_run {
            let client = context.client_for_preview()?;
            let preview = make(&client).preview()?;
            dry_run::show(&preview, self.contents, form, &context.identity()?, context)?;
            return Ok(None);
        }
        let client = context.client()?;
        context.in_flight.begin(self.unknown_outcome, self.key.map(IdempotencyKey::as_str));
        match trace::respond(context, &|| make(&client)).await {
            Ok(response) => {
                context.in_flight.record_accepted(ids(&document(&response)));
                Ok(Some((client, response)))
            }
            Err(error) => {
                context.in_flight.finish();
                if matches!(error, Error::Api(_)) && error.outcome() == Outcome::Rejected {
                    return Err(Fail::RejectedChange(error));
                }
                Err(Fail::from_call(error, self.unknown_outcome, self.key_given))
            }
        }
    }
}

/// How to send emails: with an idempotency key, or only in a dry run.
#[derive(Debug)]
pub(crate) struct Sending {
    key: IdempotencyKey,
    key_given: bool,
    pub(crate) dry_run: Option<DryRun>,
}

impl Sending {
    /// Reads the flags; the key is random by default.
    pub(crate) fn read(key: Option<&str>, dry_run: Option<&str>, flags: &mut Flags) -> Self {
        let key_given = key.is_some();
        let key = flags.idempotency_key(key).unwrap_or_else(IdempotencyKey::random);
        Self { key, key_given, dry_run: flags.dry_run(dry_run) }
    }

    /// Executes the call that `make` builds with the key, like [`Mutation::execute`]. `what` is the message for an unknown outcome.
    pub(crate) async fn execute<T: DeserializeOwned + Send + 'static>(
        &self,
        what: &str,
        contents: &[Content],
        context: &Context,
        make: impl Fn(&Client) -> Call<T>,
    ) -> Result<Option<(Client, WithResponse<T>)>, Fail> {
        let Self { ref key, key_given, dry_run } = *self;
        let unknown_outcome = &repeatable_with(what, key);
        Mutation { dry_run, unknown_outcome, key: Some(key), key_given, contents }
            .execute(context, |client| make(client).idempotency_key(key.as_str()))
            .await
    }
}

/// Executes a change without an idempotency key, or prints it.
pub(crate) async fn execute<T: DeserializeOwned + Send + 'static>(
    dry_run: Option<DryRun>,
    unknown_outcome: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<Option<WithResponse<T>>, Fail> {
    let mutation = Mutation { dry_run, unknown_outcome, key: None, key_given: false, contents: &[] };
    Ok(mutation.execute(context, make).await?.map(|(_, response)| response))
}

/// Saves the secret of an otherwise unreadable response to the file or standard output. Returns the failure.
pub(crate) fn keep_secret(fail: Fail, file: Option<SecretFile<'_>>, context: &Context) -> Fail {
    let Some(idempost::Error::Decode(unreadable)) = fail.sdk() else { return fail };
    let Some(created) = unreadable.secret() else { return fail };
    let saved = match file {
        Some(file) => {
            let path = file.path.display().to_string();
            file.write(created).map(|()| context.out.warn(&format!("the new secret is in {path}")))
        }
        None => context.out.print_untrusted(format!("{created}\n").as_bytes()),
    };
    secret::register(created);
    match saved {
        Ok(()) => fail,
        Err(lost) => lost,
    }
}

/// Prints the result of a change. If standard output is closed, the change is reported on standard error, and the command continues.
pub(crate) fn report(context: &Context, print: impl FnOnce() -> Result<(), Fail>) -> Result<(), Fail> {
    match print() {
        Err(Fail::BrokenPipe) => context.report_unread(),
        Err(fail) => return Err(fail),
        Ok(()) if was_stdout_closed() => context.report_unread(),
        Ok(()) => {}
    }
    context.in_flight.finish();
    Ok(())
}

/// Asks for confirmation at a terminal before a deletion: `Delete domain d91cd9bd-…?`
pub(crate) async fn confirm_delete(
    dry_run: bool,
    context: &Context,
    make: &BuildCall<'_>,
) -> Result<(), Fail> {
    if dry_run || !should_confirm(context)? {
        return Ok(());
    }
    let path = make(&context.client_for_preview()?).preview()?.path_and_query();
    confirm::confirm(&delete_question(&path), context).await
}

/// The question for the path of a deletion, which ends with a noun and an ID.
fn delete_question(path: &str) -> String {
    let mut segments = path.rsplit('/');
    let id = percent_decode_str(segments.next().unwrap_or_default()).decode_utf8_lossy();
    let noun = segments.next().unwrap_or_default().replace('-', " ");
    let noun = match (noun.strip_suffix("ies"), noun.strip_suffix("xes")) {
        (Some(stem), _) => format!("{stem}y"),
        (_, Some(stem)) => format!("{stem}x"),
        _ => noun.trim_end_matches('s').to_owned(),
    };
    format!("Delete {noun} {id}?")
}

/// Asks for confirmation at a terminal before an irreversible change.
pub(crate) async fn confirm(dry_run: bool, question: &str, context: &Context) -> Result<(), Fail> {
    if dry_run || !should_confirm(context)? { Ok(()) } else { confirm::confirm(question, context).await }
}

fn should_confirm(context: &Context) -> Result<bool, Fail> {
    Ok(!context.global.yes && confirm::is_interactive(context)?)
}

/// Prints the result of a change: the ID, or the whole response as JSON.
pub(crate) fn print<T>(id: &str, response: &WithResponse<T>, context: &Context) -> Result<(), Fail> {
    report(context, || context.out.result(&[id.to_owned()], &document(response)))
}

/// The response's JSON, unchanged.
pub(crate) fn document<T>(response: &WithResponse<T>) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_default()
}

/// The IDs in a response: of one resource, or of a list.
pub(crate) fn ids(document: &Value) -> Vec<String> {
    let items = document["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    std::iter::once(document)
        .chain(items)
        .filter_map(|item| Some(item.get("id")?.as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_is_confirmed_by_its_noun_and_id() {
        for (path, question) in [
            ("/segments/s1", "Delete segment s1?"),
            ("/contact-properties/p1", "Delete contact property p1?"),
            ("/contacts/ada%40example.com", "Delete contact ada@example.com?"),
            ("/inboxes/support%40acme.test", "Delete inbox support@acme.test?"),
            ("/inboxes/support%40acme.test/drafts/d1", "Delete draft d1?"),
        ] {
            assert_eq!(delete_question(path), question);
        }
    }
}
