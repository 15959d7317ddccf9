//! `broadcasts update`: changes a broadcast that hasn't been sent.

use idempost::broadcasts::BroadcastPatch;

use super::{content, show_command};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::clear;
use crate::input::flags::{Choices, Flags};

/// Change a draft or a scheduled broadcast
///
/// Fields not set by a flag stay unchanged. A scheduled broadcast stays scheduled.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost broadcasts update 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --subject 'Your week, corrected'\n  \
    idempost broadcasts update 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --html-file week.html --clear text --clear topic-id")]
pub(crate) struct Args {
    /// ID of the broadcast
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    content: content::Args,
    /// Clear a field: reply-to, html, text, preview-text, name or topic-id; repeatable
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["reply-to", "html", "text", "preview-text", "name", "topic-id"]), hide_possible_values = true)]
    clear: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

type Set = fn(BroadcastPatch, String) -> BroadcastPatch;
type Clear = fn(BroadcastPatch) -> BroadcastPatch;

/// The fields that can be cleared.
const CLEARS: [(&str, Clear); 6] = [
    ("reply-to", BroadcastPatch::clear_reply_to),
    ("html", BroadcastPatch::clear_html),
    ("text", BroadcastPatch::clear_text),
    ("preview-text", BroadcastPatch::clear_preview_text),
    ("name", BroadcastPatch::clear_name),
    ("topic-id", BroadcastPatch::clear_topic_id),
];

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, content, clear, dry_run } = args;
    let mut flags = Flags::default();
    let bodies = content.bodies(&mut flags, context).await;
    let mut patch = BroadcastPatch::new();
    let mut set = Vec::new();
    let setters: [(&str, _, Set); 8] = [
        ("segment-id", content.segment_id, |patch, segment| patch.segment_id(segment)),
        ("from", content.from, BroadcastPatch::from),
        ("subject", content.subject, BroadcastPatch::subject),
        ("html", bodies.html, BroadcastPatch::html),
        ("text", bodies.text, BroadcastPatch::text),
        ("preview-text", content.preview_text, BroadcastPatch::preview_text),
        ("name", content.name, BroadcastPatch::name),
        ("topic-id", content.topic_id, |patch, topic| patch.topic_id(topic)),
    ];
    for (field, value, setter) in setters {
        if let Some(value) = value {
            patch = setter(patch, value);
            set.push(field);
        }
    }
    if !content.reply_to.is_empty() {
        patch = patch.reply_to(content.reply_to);
        set.push("reply-to");
    }
    patch = clear::apply(patch, &clear, &CLEARS, &set, &mut flags);
    let nothing = set.is_empty() && clear.is_empty() && !bodies.unread;
    if nothing {
        flags.help("idempost broadcasts update ID --subject '…'");
        flags.missing("a field to change");
    } else {
        flags.add_problems(patch.check().or_else(|problems| {
            // An unknown field name leaves nothing to change; it was reported already.
            idempost::problem::Problems::check(
                problems.into_vec().into_iter().filter(|problem| !problem.path.is_empty()),
            )
        }));
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = format!("the broadcast may have been changed; check: {}", show_command(&id));
    let done = mutation::execute(dry_run, &unknown_outcome, context, |client| {
        client.broadcasts().update(id.as_str(), &patch)
    });
    match done.await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}
