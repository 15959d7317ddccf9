//! `emails batch`: up to 100 emails in one request.

use std::collections::BTreeSet;

use http::Method;
use idempost::{
    BatchEmail, Call, Client,
    emails::{AcceptedBatch, check_batch},
    problem::{Problem, Problems},
};
use serde_json::Value;

use crate::actions::html_command;
use crate::actions::mutation::{self, DryRunFlag, Sending};
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::documents::Documents;
use crate::input::flags::Flags;
use crate::output::format_count;

/// Send up to 100 emails in one request
///
/// FILE is a JSON array of emails, or one JSON object per line, in the API's format; - reads standard input. Batches don't support
/// attachments, nor `scheduled_at` without --allow-scheduled-at. One invalid email fails the whole batch and nothing is sent, unless --permissive is given.
///
/// Prints the IDs of the accepted emails in order, one per line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost emails batch emails.json --idempotency-key newsletter-17\n  \
    jq -c '.[]' people.json | idempost emails batch -\n  \
    idempost emails batch emails.jsonl --dry-run")]
pub(crate) struct Args {
    /// JSON array, or one JSON object per line; - reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Send the valid emails even if others are invalid; the exit code is then 10
    ///
    /// The service then validates each email. Input that can't be parsed as an email is still rejected here.
    #[arg(long)]
    permissive: bool,
    /// HTML from a command's output, such as a renderer, for all emails without `html` and `template`
    ///
    /// Nothing is sent if the command fails.
    #[arg(long, value_name = "COMMAND")]
    html_command: Option<String>,
    /// Accept `scheduled_at` in the emails: Resend supports it, although the specification doesn't
    ///
    /// A service that follows the specification rejects the batch, and so does a sandbox without `--compat live`.
    #[arg(long)]
    allow_scheduled_at: bool,
    /// Idempotency key: within 24 hours, the same batch is sent only once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
    /// Skip local validation, in case the service's limits have changed
    #[arg(long, hide_short_help = true)]
    no_validate: bool,
}

/// A validated batch.
#[derive(Debug)]
pub(crate) struct Plan {
    emails: Vec<BatchEmail>,
    /// A body that this version can't parse, sent because of --no-validate.
    json: Option<Vec<Value>>,
    recipients: usize,
    permissive: bool,
    unchecked: bool,
    sending: Sending,
}

/// Reads the file and validates every email in it.
async fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let mut flags = Flags::default();
    let sending = Sending::read(args.idempotency_key.as_deref(), args.dry_run.dry_run.as_deref(), &mut flags);

    let (source, text) = context.stdin().text("FILE", &args.file)?;
    let (mut documents, mut found) = Documents::read(source, text)?;

    if let Some(command) = &args.html_command {
        match html_command::output(command).await {
            Ok(html) => documents.items.iter_mut().for_each(|email| set_html(email, &html)),
            Err(rule) => {
                flags.reject("command", rule, "--html-command", command);
                documents.items.iter_mut().for_each(|email| set_html(email, "stand-in"));
            }
        }
    }

    let (mut emails, mut shape_errors) = BatchEmail::read_all(&documents.items);
    if args.allow_scheduled_at {
        emails = emails.into_iter().map(BatchEmail::allow_schedule).collect();
        shape_errors = shape_errors
            .or_else(|problems| Problems::check(problems.into_vec().into_iter().filter(is_no_schedule)));
    }
    let readable = shape_errors.is_ok();
    let whole = |problem: &Problem| problem.code == "count" && problem.path.matches('/').count() < 2;
    let rules = check_batch(&emails).or_else(|problems| {
        if args.permissive {
            Problems::check(problems.into_vec().into_iter().filter(whole))
        } else {
            Err(problems)
        }
    });
    let mut omitted = documents.omitted;
    if !args.no_validate
        && let Err(problems) = Problems::merge(shape_errors, rules)
    {
        omitted += problems.omitted();
        found.extend(documents.locate(problems.into_vec()));
    }
    found.sort_by_key(|found| {
        item_pointer(&found.problem.path).trim_start_matches('/').parse::<usize>().unwrap_or(0)
    });
    let (of_items, of_flags) = (found.len() + omitted, flags.into_report().found);
    let items: BTreeSet<&str> = found.iter().map(|found| item_pointer(&found.problem.path)).collect();
    let summary = format!(
        "{} in {}{} of {}; nothing was sent",
        format_count(of_items, "problem"),
        if omitted > 0 { "at least " } else { "" },
        items.len(),
        format_count(documents.items.len(), "email")
    );
    let summary =
        (of_flags.is_empty() && !items.contains("") && documents.items.len() > 1).then_some(summary);
    found.extend(of_flags);
    if !found.is_empty() {
        let timed = found.iter().any(|found| found.problem.code == "unsupported");
        let help = timed.then(|| {
            "a batch can't have attachments or schedules; send such emails one by one: idempost emails send; if the service accepts \
             schedules in a batch: --allow-scheduled-at"
                .to_owned()
        });
        return Err(Fail::Usage(Diagnostics { summary, found, omitted, help, ..Diagnostics::default() }));
    }
    for (i, warning) in
        emails.iter().enumerate().flat_map(|(i, email)| email.warnings().into_iter().map(move |one| (i, one)))
    {
        context.out.warn(&format!("/{i}{warning}"));
    }
    let recipients = documents.items.iter().map(recipient_count).sum();
    let json = (!readable).then_some(documents.items);
    Ok(Plan { emails, json, recipients, permissive: args.permissive, unchecked: args.no_validate, sending })
}

/// Sends the batch or shows the request.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let plan = plan(args, context).await?;
    let make = |client: &Client| {
        let call: Call<AcceptedBatch> = match &plan.json {
            None => client.emails().send_batch(&plan.emails),
            Some(items) => client.request(Method::POST, "/emails/batch").json(items).with_response_type(),
        };
        let call = if plan.permissive { call.permissive() } else { call };
        if plan.unchecked { call.skip_validation() } else { call }
    };
    let done = plan.sending.execute("the emails may have been accepted", &[], context, make).await;
    let Some((_, response)) = done.map_err(permissive_before)? else { return Ok(()) };
    let AcceptedBatch { data, errors, .. } = &response.value;
    let ids: Vec<String> = data.iter().map(|accepted| accepted.id.to_string()).collect();
    let accepted = format_count(ids.len(), "email");
    mutation::report(context, || context.out.result(&ids, &mutation::document(&response)))?;
    if errors.is_empty() {
        context.out.note(&format!("accepted {accepted} for {}", format_count(plan.recipients, "recipient")));
        return Ok(());
    }
    let refused = errors.iter().map(|error| format!("  /{}: {}", error.index, error.message));
    let message =
        std::iter::once(format!("{} rejected, {accepted} accepted", format_count(errors.len(), "email")));
    let message = message.chain(refused).collect::<Vec<_>>().join("\n");
    if ids.is_empty() {
        return Err(Fail::rejected(message));
    }
    Err(Fail::items(false, message)
        .hint("correct the rejected emails and send only those: the others were accepted"))
}

/// The failure of a batch whose idempotency key was first used with --permissive, some of whose emails were rejected.
fn permissive_before(fail: Fail) -> Fail {
    match fail.sdk() {
        Some(idempost::Error::Decode(unread)) if unread.path == "errors" => {
            Fail::items(false, format!("an earlier request had the same idempotency key: {}", unread.source))
                .hint("to list the accepted and the rejected emails, run the same command with --permissive")
        }
        _ => fail,
    }
}

fn is_no_schedule(problem: &Problem) -> bool {
    problem.code != "unsupported" || !problem.path.ends_with("/scheduled_at")
}

/// Sets the HTML of an email that has neither HTML nor a template.
fn set_html(email: &mut Value, html: &str) {
    if let Some(fields) = email.as_object_mut()
        && !fields.contains_key("template")
    {
        fields.entry("html").or_insert_with(|| html.into());
    }
}

/// `/3` of `/3/to/0`.
fn item_pointer(pointer: &str) -> &str {
    let end = pointer.get(1..).and_then(|rest| rest.find('/')).map_or(pointer.len(), |at| at + 1);
    &pointer[..end]
}

fn recipient_count(email: &Value) -> usize {
    let fields = ["to", "cc", "bcc"].into_iter().filter_map(|field| email.get(field));
    fields.map(|value| value.as_array().map_or(usize::from(!value.is_null()), Vec::len)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_its_email() {
        assert_eq!(item_pointer("/3/to/0"), "/3");
        assert_eq!(item_pointer("/100"), "/100");
        assert_eq!(item_pointer(""), "");
    }
}
