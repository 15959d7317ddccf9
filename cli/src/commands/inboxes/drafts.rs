//! Drafts of an inbox.

use idempost::{
    Client,
    inboxes::{InboxDraftPatch, NewInboxDraft},
};

use super::change_with_files;
use super::messages::{self, SendFlags};
use crate::actions::attachments::InboxArgs;
use crate::actions::html_command;
use crate::actions::mutation::DryRunFlag;
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::bodies;
use crate::input::clear::{self, Clears};
use crate::input::flags::{Choices, Flags};
use crate::output::table::{Column, Kind};

// A draft to read.
#[derive(Debug, clap::Args)]
pub(crate) struct DraftArg {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// ID of the draft
    #[arg(value_name = "DRAFT_ID")]
    draft: String,
}

/// Columns of the list; the first five are the default.
pub(super) const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("type", "TYPE", Kind::Text),
        Column::new("to", "TO", Kind::Shrinks),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("updated_at", "UPDATED", Kind::Time),
        Column::new("snippet", "SNIPPET", Kind::Shrinks),
        Column::new("thread_id", "THREAD", Kind::Id),
        Column::new("reply_to_email_id", "REPLY TO", Kind::Id),
    ],
    shown: 5,
    nothing: "no drafts",
};

// The content of a draft; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Content {
    /// Recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    to: Vec<String>,
    /// Cc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    cc: Vec<String>,
    /// Bcc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    bcc: Vec<String>,
    /// Subject, at most 2,000 characters
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    #[command(flatten)]
    attachments: InboxArgs,
}

impl Content {
    fn declare(&self, missing: &'static str, flags: &mut Flags) {
        flags.field("", missing, None);
        flags.list("/to", "--to", &self.to);
        flags.list("/cc", "--cc", &self.cc);
        flags.list("/bcc", "--bcc", &self.bcc);
        flags.field("/subject", "--subject", self.subject.as_deref());
    }
}

/// Create a draft and print its ID
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost inboxes create-draft support@acme.test --to ada@example.com --subject Offer --text 'Dear Ada'\n  \
    idempost inboxes create-draft support@acme.test --thread 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 \\\n    \
    --reply-to-email 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 --text-file answer.txt")]
pub(crate) struct CreateArgs {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    #[command(flatten)]
    content: Content,
    /// Thread that it replies to
    #[arg(long, value_name = "ID", requires = "reply_to_email")]
    thread: Option<String>,
    /// Email of the thread that it replies to
    #[arg(long, value_name = "ID", requires = "thread")]
    reply_to_email: Option<String>,
    #[command(flatten)]
    send: SendFlags,
}

pub(super) async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let CreateArgs { inbox, content, thread, reply_to_email, send } = args;
    let mut flags = Flags::default();
    content.declare("--to, --cc, --bcc, --subject, --text, --html or --attach", &mut flags);
    let Content { to, cc, bcc, subject, bodies, attachments } = content;
    let mut stdin = context.stdin();
    let bodies = html_command::bodies(&bodies, &mut flags, &mut stdin).await;
    let (attachments, contents) = attachments.open(&mut flags, &mut stdin).await;
    let draft = NewInboxDraft::new().to(to).cc(cc).bcc(bcc);
    let mut draft = attachments.into_iter().fold(draft, NewInboxDraft::attach);
    if let Some(subject) = subject {
        draft = draft.subject(subject);
    }
    if let Some(html) = bodies.html {
        draft = draft.html(html);
    }
    if let Some(text) = bodies.text {
        draft = draft.text(text);
    }
    if let (Some(thread), Some(email)) = (thread, reply_to_email) {
        draft = draft.reply_to(thread, email);
    }
    let checked = if bodies.unread { Ok(()) } else { draft.check() };
    let make = |client: &Client| client.inboxes().create_draft(&inbox, &draft);
    messages::send(flags, checked, &send, &contents, context, make).await
}

/// Change a draft that wasn't sent
///
/// Fields not set by a flag stay unchanged, except that a body replaces the other one, too, and the attached files replace all others.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    idempost inboxes update-draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21 --subject 'New offer' --clear cc")]
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    draft: DraftArg,
    #[command(flatten)]
    content: Content,
    /// Clear a field: to, cc, bcc, subject, html, text or attachments
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["to", "cc", "bcc", "subject", "html", "text", "attachments"]), hide_possible_values = true)]
    clear: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

const CLEARS: &Clears<InboxDraftPatch> = &[
    ("to", InboxDraftPatch::clear_to),
    ("cc", InboxDraftPatch::clear_cc),
    ("bcc", InboxDraftPatch::clear_bcc),
    ("subject", InboxDraftPatch::clear_subject),
    ("html", InboxDraftPatch::clear_html),
    ("text", InboxDraftPatch::clear_text),
    ("attachments", InboxDraftPatch::clear_attachments),
];

pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { draft: DraftArg { inbox, draft }, content, clear, dry_run } = args;
    let mut flags = Flags::default();
    content.declare("a field to change", &mut flags);
    let Content { to, cc, bcc, subject, bodies, attachments } = content;
    let mut stdin = context.stdin();
    let bodies = html_command::bodies(&bodies, &mut flags, &mut stdin).await;
    let (attachments, contents) = attachments.open(&mut flags, &mut stdin).await;
    let given = [
        ("to", !to.is_empty()),
        ("cc", !cc.is_empty()),
        ("bcc", !bcc.is_empty()),
        ("subject", subject.is_some()),
        ("html", bodies.html.is_some()),
        ("text", bodies.text.is_some()),
        ("attachments", !attachments.is_empty()),
    ];
    let set: Vec<_> = given.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
    let mut patch = clear::apply(InboxDraftPatch::new(), &clear, CLEARS, &set, &mut flags);
    patch = attachments.into_iter().fold(patch, InboxDraftPatch::attach);
    if !to.is_empty() {
        patch = patch.to(to);
    }
    if !cc.is_empty() {
        patch = patch.cc(cc);
    }
    if !bcc.is_empty() {
        patch = patch.bcc(bcc);
    }
    if let Some(subject) = subject {
        patch = patch.subject(subject);
    }
    if let Some(html) = bodies.html {
        patch = patch.html(html);
    }
    if let Some(text) = bodies.text {
        patch = patch.text(text);
    }
    let checked = if bodies.unread { Ok(()) } else { patch.check() };
    let unknown = format!("the draft may have been changed; check: idempost inboxes draft {inbox} {draft}");
    let make = |client: &Client| client.inboxes().update_draft(&inbox, &draft, &patch);
    change_with_files(flags, checked, &dry_run, &unknown, &contents, context, make).await
}

/// Send a draft, once, and print the ID of the email
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost inboxes send-draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"
)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    draft: DraftArg,
    #[command(flatten)]
    send: SendFlags,
}

pub(super) async fn send(args: SendArgs, context: &Context) -> Result<(), Fail> {
    let SendArgs { draft: DraftArg { inbox, draft }, send } = args;
    let make = |client: &Client| client.inboxes().send_draft(&inbox, &draft);
    messages::send(Flags::default(), Ok(()), &send, &[], context, make).await
}
