//! `broadcasts create`: creates a draft, or sends at once with `--send`.

use std::time::Duration;

use idempost::broadcasts::NewBroadcast;

use super::confirm_send::{self, SendSummary};
use super::content;
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::wait::{self, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{DryRun, Flags, Required};

/// Create a broadcast as a draft, or send it with --send
///
/// Prints the ID. A draft may lack a body until it is sent. Subject, HTML and text may contain placeholders, which are filled in for each contact: {{{FIRST_NAME}}}, {{{LAST_NAME}}},
/// {{{EMAIL}}}, {{{contact.city|your town}}} for a property and its fallback, and {{{SERVICE_UNSUBSCRIBE_URL}}} for the contact's
/// unsubscribe link.
///
/// --send asks for confirmation, since a sent broadcast can't be recalled; --yes skips the question.
#[derive(Debug, clap::Args)]
#[command(mut_arg("segment_id", |arg| arg.add(Required)), mut_arg("from", |arg| arg.add(Required)),
    mut_arg("subject", |arg| arg.add(Required)), after_help = "Examples:\n  \
    idempost broadcasts create --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --from 'Acme <news@acme.test>' \\\n      \
    --subject 'Your week' --html-file week.html\n  \
    idempost broadcasts create --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --from news@acme.test \\\n      \
    --subject 'Hello {{{FIRST_NAME}}}' --text-file week.txt --send --scheduled-at 'friday at 9am'")]
pub(crate) struct Args {
    #[command(flatten)]
    content: content::Args,
    /// Send it: now, or at the time of --scheduled-at
    #[arg(long)]
    send: bool,
    /// With --send, the time: ISO 8601, or a phrase such as `in 1 hour`
    ///
    /// The text is passed to the service unchanged.
    #[arg(long, value_name = "TIME")]
    scheduled_at: Option<String>,
    /// With --send, wait until the broadcast is sent
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = confirm_send::SENT)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

type Set = fn(NewBroadcast, String) -> NewBroadcast;

struct Plan {
    broadcast: NewBroadcast,
    /// The summary to confirm before sending.
    summary: Option<SendSummary>,
    wait: Option<Duration>,
    dry_run: Option<DryRun>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Plan { broadcast, summary, wait, dry_run } = plan(args, context).await?;
    if let (Some(summary), None) = (&summary, dry_run) {
        confirm_send::confirm(summary, context).await?;
    }
    let unknown_outcome = if summary.is_some() {
        "the broadcast may have been created and sent; check: idempost broadcasts list --limit 1"
    } else {
        "the broadcast may have been created; check: idempost broadcasts list --limit 1"
    };
    let done =
        mutation::execute(dry_run, unknown_outcome, context, |client| client.broadcasts().create(&broadcast))
            .await?;
    let Some(response) = done else { return Ok(()) };
    let id = response.value.id.clone();
    mutation::print(id.as_str(), &response, context)?;
    if summary.is_none() {
        context.out.note(&format!("draft created · send it: idempost broadcasts send {id}"));
    }
    match wait {
        Some(timeout) => confirm_send::wait(&context.client()?, id, timeout, context).await,
        None => Ok(()),
    }
}

async fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let Args { mut content, send, scheduled_at, wait, timeout, dry_run } = args;
    let mut flags = Flags::default();
    flags.help(
        "idempost broadcasts create --segment-id ID --from 'You <you@yours.test>' --subject '…' --html-file PATH",
    );
    if content.from.is_none() {
        content.from = context.settings()?.from.as_ref().map(|from| from.value.clone());
    }
    let bodies = content.bodies(&mut flags, context).await;
    flags.field("/scheduled_at", "--scheduled-at", scheduled_at.as_deref());
    let mut broadcast = NewBroadcast::new(
        content.segment_id.clone().unwrap_or_default(),
        content.from.clone().unwrap_or_default(),
        content.subject.clone().unwrap_or_default(),
    );
    let given = bodies.unread || bodies.html.is_some() || bodies.text.is_some();
    let setters: [(_, Set); 5] = [
        (bodies.html, NewBroadcast::html),
        // A missing body is reported below, by its flags.
        (bodies.text.or(((send && !given) || bodies.unread).then(|| "-".to_owned())), NewBroadcast::text),
        (content.preview_text, NewBroadcast::preview_text),
        (content.name, NewBroadcast::name),
        (content.topic_id, |broadcast, topic| broadcast.topic_id(topic)),
    ];
    for (value, set) in setters {
        if let Some(value) = value {
            broadcast = set(broadcast, value);
        }
    }
    if !content.reply_to.is_empty() {
        broadcast = broadcast.reply_to(content.reply_to);
    }
    if content.subject.is_none() {
        flags.missing("--subject");
    }
    if send && !given {
        flags.missing("--html or --text");
    }
    match (&scheduled_at, send) {
        (Some(when), true) => broadcast = broadcast.send_at(when),
        (None, true) => broadcast = broadcast.send_now(),
        (Some(when), false) => {
            flags.wrong("exclusive", "--scheduled-at requires --send", "--scheduled-at", when);
        }
        (None, false) => {}
    }
    if let (Some(state), false) = (&wait, send) {
        flags.wrong("exclusive", "--wait requires --send: a draft isn't sent", "--wait", state);
    }
    let wait = flags.take(wait::plan(wait.as_deref(), &timeout.wait_timeout, confirm_send::SENT)).flatten();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(broadcast.check());
    flags.finish()?;
    let summary = send.then(|| SendSummary {
        subject: content.subject.unwrap_or_default(),
        from: content.from.unwrap_or_default(),
        segment: content.segment_id.unwrap_or_default(),
        when: scheduled_at,
    });
    Ok(Plan { broadcast, summary, wait, dry_run })
}
