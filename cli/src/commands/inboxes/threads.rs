//! `inboxes threads` and `search`, and the columns of emails.

use idempost::inboxes::InboxFolder;

use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::table::{Column, Kind};

// The filters of threads; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Filters {
    /// Folder: inbox, archive, spam, sent or trash; repeatable [default: inbox; with --label: inbox, archive, sent]
    #[arg(long, value_name = "FOLDER", value_parser = Choices(InboxFolder::KNOWN), hide_possible_values = true)]
    folder: Vec<String>,
    /// Only threads with this label; repeatable, any of them
    #[arg(long, value_name = "ID")]
    label: Vec<String>,
    /// Only threads that were read
    #[arg(long, conflicts_with = "unread")]
    read: bool,
    /// Only threads that weren't read
    #[arg(long)]
    unread: bool,
}

/// Applies the filters to a list or a search, which have the same methods.
macro_rules! filtered {
    ($filters:expr, $list:expr) => {{
        let Filters { folder, label, read, unread } = $filters;
        let mut list = $list;
        if !folder.is_empty() {
            list = list.folders(folder.into_iter().map(InboxFolder::from));
        }
        if !label.is_empty() {
            list = list.labels(label);
        }
        if read || unread {
            list = list.read(read);
        }
        list
    }};
}

impl Filters {
    fn check(&self) -> Result<(), Fail> {
        let mut flags = Flags::default();
        for (i, folder) in self.folder.iter().enumerate() {
            if !InboxFolder::KNOWN.contains(&folder.as_str()) {
                let rule = format!("--folder must be one of {}", InboxFolder::KNOWN.join(", "));
                flags.wrong_nth("type", rule, "--folder", i + 1, folder);
            }
        }
        flags.finish()
    }
}

/// List threads, most recently active first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, from, subject, email_count, received_at, folder, read, labels, to, cc, bcc, has_attachment, has_draft\n\n\
    Examples:\n  \
    idempost inboxes threads support@acme.test --unread\n  \
    idempost inboxes threads support@acme.test --folder archive --folder sent --all"
)]
pub(crate) struct ListArgs {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    part: pages::Args,
}

/// Columns of threads; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("from", "FROM", Kind::Shrinks),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("email_count", "EMAILS", Kind::Text),
        Column::new("received_at", "RECEIVED", Kind::Time),
        Column::new("folder", "FOLDER", Kind::Text),
        Column::new("read", "READ", Kind::Text),
        Column::new("labels", "LABELS", Kind::Shrinks),
        Column::new("to", "TO", Kind::Shrinks),
        Column::new("cc", "CC", Kind::Shrinks),
        Column::new("bcc", "BCC", Kind::Shrinks),
        Column::new("has_attachment", "ATTACHMENT", Kind::Text),
        Column::new("has_draft", "DRAFT", Kind::Text),
        Column::new("matched_email_id", "MATCH", Kind::Id),
    ],
    shown: 5,
    nothing: "no threads",
};

pub(super) async fn list(args: ListArgs, context: &Context) -> Result<(), Fail> {
    let ListArgs { inbox, filters, part } = args;
    filters.check()?;
    pages::list(part, &TABLE, context, |client| filtered!(filters, client.inboxes().threads(inbox))).await
}

/// Search threads, most recently active first
///
/// All conditions must apply to one email of a thread. Quotes enclose a phrase, and - before a word or phrase excludes it; a query that starts
/// with - comes after --. A sandbox examines the 1,000 most recently active threads of the folders.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: those of `inboxes threads`, and matched_email_id\n\n\
    Examples:\n  \
    idempost inboxes search support@acme.test '\"unpaid invoice\" -draft'\n  \
    idempost inboxes search support@acme.test --from ada@example.com --since 2026-09-01 --has-attachment")]
pub(crate) struct SearchArgs {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// Words in subject, body, addresses or names of attachments, at most 256 characters
    #[arg(value_name = "QUERY")]
    query: Option<String>,
    /// Part of the sender; repeatable, any of them
    #[arg(long, value_name = "TEXT")]
    from: Vec<String>,
    /// Part of a To address; repeatable
    #[arg(long, value_name = "TEXT")]
    to: Vec<String>,
    /// Part of a Cc address; repeatable
    #[arg(long, value_name = "TEXT")]
    cc: Vec<String>,
    /// Part of a Bcc address; repeatable
    #[arg(long, value_name = "TEXT")]
    bcc: Vec<String>,
    /// Only emails with attachments
    #[arg(long)]
    has_attachment: bool,
    /// Only emails since this date (UTC) or ISO 8601 time
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only emails until this date, included as a whole, or ISO 8601 time
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    part: pages::Args,
}

pub(super) async fn search(args: SearchArgs, context: &Context) -> Result<(), Fail> {
    let SearchArgs { inbox, query, from, to, cc, bcc, has_attachment, since, until, filters, part } = args;
    filters.check()?;
    pages::list(part, &TABLE, context, |client| {
        let mut list = filtered!(filters, client.inboxes().search(inbox));
        if let Some(query) = query {
            list = list.query(query);
        }
        if !from.is_empty() {
            list = list.from(from);
        }
        if !to.is_empty() {
            list = list.to(to);
        }
        if !cc.is_empty() {
            list = list.cc(cc);
        }
        if !bcc.is_empty() {
            list = list.bcc(bcc);
        }
        if has_attachment {
            list = list.has_attachment(true);
        }
        if let Some(since) = since {
            list = list.start_date(since);
        }
        if let Some(until) = until {
            list = list.end_date(until);
        }
        list
    })
    .await
}

/// Columns of emails; the first five are the default.
pub(super) const EMAILS: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("direction", "DIRECTION", Kind::Text),
        Column::new("from", "FROM", Kind::Shrinks),
        Column::new("to", "TO", Kind::Shrinks),
        Column::new("received_at", "TIME", Kind::Time),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("text", "TEXT", Kind::Shrinks),
        Column::new("html", "HTML", Kind::Shrinks),
        Column::new("cc", "CC", Kind::Shrinks),
        Column::new("bcc", "BCC", Kind::Shrinks),
        Column::new("reply_to", "REPLY-TO", Kind::Shrinks),
        Column::new("message_id", "MESSAGE-ID", Kind::Shrinks),
        Column::new("read", "READ", Kind::Text),
    ],
    shown: 5,
    nothing: "no emails",
};
