//! `broadcasts create`: a draft, or a broadcast that goes out.

use std::time::Duration;

use posthaste::NewBroadcast;

use super::content;
use super::departure::{self, Letter};
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::wait::{self, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{DryRun, Flags, Required};

/// Make a broadcast: a draft, or with --send one that goes out
///
/// It prints the id. Subject, HTML and text may hold placeholders, which are filled for each contact: {{{FIRST_NAME}}}, {{{LAST_NAME}}},
/// {{{EMAIL}}}, {{{contact.city|your town}}} for a property with what stands there when the contact has none, and
/// {{{SERVICE_UNSUBSCRIBE_URL}}} for the link with which the contact unsubscribes.
///
/// With --send it asks first, since what has gone out can't be taken back; --yes answers the question.
#[derive(Debug, clap::Args)]
#[command(mut_arg("segment_id", |arg| arg.add(Required)), mut_arg("from", |arg| arg.add(Required)),
    mut_arg("subject", |arg| arg.add(Required)), after_help = "Examples:\n  \
    posthaste broadcasts create --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --from 'Acme <news@acme.test>' \\\n      \
    --subject 'Your week' --html-file week.html\n  \
    posthaste broadcasts create --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --from news@acme.test \\\n      \
    --subject 'Hello {{{FIRST_NAME}}}' --text-file week.txt --send --scheduled-at 'friday at 9am'")]
pub(crate) struct Args {
    #[command(flatten)]
    content: content::Args,
    /// Send it: at once, or at --scheduled-at
    #[arg(long)]
    send: bool,
    /// With --send, when: ISO 8601, or words such as `in 1 hour`
    ///
    /// The text goes to the service unchanged.
    #[arg(long, value_name = "WHEN")]
    scheduled_at: Option<String>,
    /// With --send, wait until it has gone out
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = departure::SENT)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

type Set = fn(NewBroadcast, String) -> NewBroadcast;

struct Plan {
    broadcast: NewBroadcast,
    /// What is asked about, if it goes out.
    letter: Option<Letter>,
    wait: Option<Duration>,
    dry_run: Option<DryRun>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Plan { broadcast, letter, wait, dry_run } = plan(args, context)?;
    if let (Some(letter), None) = (&letter, dry_run) {
        departure::confirm(letter, context).await?;
    }
    let doubt = if letter.is_some() {
        "the broadcast may have been made and sent; look: posthaste broadcasts list --limit 1"
    } else {
        "the broadcast may have been made; look: posthaste broadcasts list --limit 1"
    };
    let done =
        mutation::carry_out(dry_run, doubt, context, |client| client.broadcasts().create(&broadcast)).await?;
    let Some(answer) = done else { return Ok(()) };
    let id = answer.value.id.clone();
    mutation::print(id.as_str(), &answer, context)?;
    if letter.is_none() {
        context.out.note(&format!("a draft · send it: posthaste broadcasts send {id}"));
    }
    match wait {
        Some(timeout) => departure::wait(&context.client()?, id, timeout, context).await,
        None => Ok(()),
    }
}

fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let Args { mut content, send, scheduled_at, wait, timeout, dry_run } = args;
    let mut flags = Flags::default();
    flags.help(
        "posthaste broadcasts create --segment-id ID --from 'You <you@yours.test>' --subject '…' --html-file PATH",
    );
    if content.from.is_none() {
        content.from = context.settings()?.from.as_ref().map(|from| from.value.clone());
    }
    let bodies = content.bodies(&mut flags, context);
    flags.field("/scheduled_at", "--scheduled-at", scheduled_at.as_deref());
    let mut broadcast = NewBroadcast::new(
        content.segment_id.clone().unwrap_or_default(),
        content.from.clone().unwrap_or_default(),
        content.subject.clone().unwrap_or_default(),
    );
    let given = bodies.unread || bodies.html.is_some() || bodies.text.is_some();
    let setters: [(_, Set); 5] = [
        (bodies.html, NewBroadcast::html),
        // Without any body it is said below, by its flags.
        (bodies.text.or((!given || bodies.unread).then(|| "-".to_owned())), NewBroadcast::text),
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
    if !given {
        flags.missing("--html or --text");
    }
    match (&scheduled_at, send) {
        (Some(when), true) => broadcast = broadcast.send_at(when),
        (None, true) => broadcast = broadcast.send_now(),
        (Some(when), false) => {
            flags.wrong("exclusive", "--scheduled-at goes with --send only", "--scheduled-at", when);
        }
        (None, false) => {}
    }
    if let (Some(state), false) = (&wait, send) {
        flags.wrong("exclusive", "--wait goes with --send only: a draft goes nowhere", "--wait", state);
    }
    let wait = flags.take(wait::plan(wait.as_deref(), &timeout.wait_timeout, departure::SENT)).flatten();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.judge(broadcast.check());
    flags.finish()?;
    let letter = send.then(|| Letter {
        subject: content.subject.unwrap_or_default(),
        from: content.from.unwrap_or_default(),
        segment: content.segment_id.unwrap_or_default(),
        when: scheduled_at,
    });
    Ok(Plan { broadcast, letter, wait, dry_run })
}
