//! The filters of `inboxes threads` and `search`, and the columns of threads and emails.

use idempost::inboxes::{InboxFolder, InboxThreadMatch, InboxThreadSummary};
use idempost::types::fields::Kind::{Choice, Text};
use idempost::{Client, List};

use crate::rows::prelude::*;

const FOLDER: Field = Field::new(
    "folder",
    "FOLDER",
    "Folder: inbox, archive, spam, sent or trash; repeatable [default: inbox; with --label: inbox, archive, sent]",
)
.list(&Choice(InboxFolder::KNOWN));
const LABEL: Field = filter("label", "ID", "Only threads with this label; repeat to match any");
const READ: Field = Field::new("read", "", "Only threads that were read").switch().conflicts("unread");
const UNREAD: Field = Field::new("unread", "", "Only threads that weren't read").switch();

pub(super) const FILTERS: &[Field] = &[FOLDER, LABEL, READ, UNREAD];

/// The conditions of a search, before the filters.
pub(super) const CONDITIONS: &[Field] = &[
    Field::positional(
        "query",
        "QUERY",
        "Words in subject, body, addresses or names of attachments, at most 256 characters",
    )
    .optional(),
    filter("from", "TEXT", "Part of the sender; repeat to match any"),
    filter("to", "TEXT", "Part of a To address; repeatable"),
    filter("cc", "TEXT", "Part of a Cc address; repeatable"),
    filter("bcc", "TEXT", "Part of a Bcc address; repeatable"),
    Field::new("has_attachment", "", "Only emails with attachments").switch(),
    Field::new("since", "DATE", "Only emails since this date (UTC) or ISO 8601 time"),
    Field::new("until", "DATE", "Only emails until the end of this date (UTC) or until this ISO 8601 time"),
    FOLDER,
    LABEL,
    READ,
    UNREAD,
];

const fn filter(name: &'static str, value: &'static str, help: &'static str) -> Field {
    Field::new(name, value, help).list(&Text)
}

pub(super) const LIST_HELP: &str = "Columns: id, from, subject, email_count, received_at, folder, read, labels, to, cc, bcc, has_attachment, has_draft\n\n\
    Examples:\n  \
    idempost inboxes threads support@acme.test --unread\n  \
    idempost inboxes threads support@acme.test --folder archive --folder sent --all";
pub(super) const SEARCH_HELP: &str = "Columns: the same as in `inboxes threads`, and matched_email_id\n\n\
    Examples:\n  \
    idempost inboxes search support@acme.test '\"unpaid invoice\" -draft'\n  \
    idempost inboxes search support@acme.test --from ada@example.com --since 2026-09-01 --has-attachment";

/// Applies the filters to a list or a search, which have the same methods.
macro_rules! filtered {
    ($given:expr, $list:expr) => {{
        let list = $list;
        let list = texts($given, "folder")
            .fold(list, |list, folders| list.folders(folders.into_iter().map(InboxFolder::from)));
        let list = texts($given, "label").fold(list, |list, labels| list.labels(labels));
        if $given.is_set("read") || $given.is_set("unread") { list.read($given.is_set("read")) } else { list }
    }};
}

/// The values of a filter, if set.
fn texts(given: &Given<'_>, id: &str) -> impl Iterator<Item = Vec<String>> + use<> {
    Some(given.texts(id)).filter(|texts| !texts.is_empty()).into_iter()
}

pub(super) fn list(client: &Client, given: &Given<'_>) -> List<InboxThreadSummary> {
    filtered!(given, client.inboxes().threads(given.ids[0]))
}

pub(super) fn search(client: &Client, given: &Given<'_>) -> List<InboxThreadMatch> {
    let list = filtered!(given, client.inboxes().search(given.ids[0]));
    let list = texts(given, "from").fold(list, List::from);
    let list = texts(given, "to").fold(list, List::to);
    let list = texts(given, "cc").fold(list, List::cc);
    let list = texts(given, "bcc").fold(list, List::bcc);
    let list = given.text("query").into_iter().fold(list, List::query);
    let list = given.text("since").into_iter().fold(list, List::start_date);
    let list = given.text("until").into_iter().fold(list, List::end_date);
    if given.is_set("has_attachment") { list.has_attachment(true) } else { list }
}

/// Columns of threads.
pub(super) const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("from", "FROM", Kind::Shrinks),
    Column::new("subject", "SUBJECT", Kind::Shrinks),
    Column::new("email_count", "EMAILS", Kind::Text),
    Column::new("received_at", "RECEIVED", Kind::Time),
    Column::new("folder", "FOLDER", Kind::Text).optional(),
    Column::new("read", "READ", Kind::Text).optional(),
    Column::new("labels", "LABELS", Kind::Shrinks).optional(),
    Column::new("to", "TO", Kind::Shrinks).optional(),
    Column::new("cc", "CC", Kind::Shrinks).optional(),
    Column::new("bcc", "BCC", Kind::Shrinks).optional(),
    Column::new("has_attachment", "ATTACHMENT", Kind::Text).optional(),
    Column::new("has_draft", "DRAFT", Kind::Text).optional(),
    Column::new("matched_email_id", "MATCH", Kind::Id).optional(),
])
.nothing("no threads");

/// Columns of emails.
pub(super) const EMAILS: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("direction", "DIRECTION", Kind::Text),
    Column::new("from", "FROM", Kind::Shrinks),
    Column::new("to", "TO", Kind::Shrinks),
    Column::new("received_at", "TIME", Kind::Time),
    Column::new("subject", "SUBJECT", Kind::Shrinks).optional(),
    Column::new("text", "TEXT", Kind::Shrinks).optional(),
    Column::new("html", "HTML", Kind::Shrinks).optional(),
    Column::new("cc", "CC", Kind::Shrinks).optional(),
    Column::new("bcc", "BCC", Kind::Shrinks).optional(),
    Column::new("reply_to", "REPLY-TO", Kind::Shrinks).optional(),
    Column::new("message_id", "MESSAGE-ID", Kind::Shrinks).optional(),
    Column::new("read", "READ", Kind::Text).optional(),
])
.nothing("no emails");
