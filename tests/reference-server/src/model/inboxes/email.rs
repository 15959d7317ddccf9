//! The emails of threads, received and sent.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::content::placeholders::to_header_line;
use crate::content::text::derive;
use crate::model::email::recipients::Mailbox;
use crate::model::email::{Email, attachments};
use crate::model::received::Received;
use crate::store::table;
use crate::wire::{to_iso, view, words};

/// The maximum length of a Message-ID for threads and headers, in bytes: two of them fit on a line.
const MAX_MESSAGE_ID: usize = 250;
/// The maximum number of Message-IDs in `References`; the newest are kept.
const MAX_REFERENCES: usize = 20;
/// The number of searched bytes of HTML in a mail without a text.
const MAX_DERIVED: usize = 64 << 10;

/// An email of a thread, with a copy of its text: the received or sent email that it comes from may be evicted earlier.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct InboxEmail {
    /// For a sent email the ID for `GET /emails/{email_id}`.
    pub id: Uuid,
    pub inbox: Uuid,
    pub thread: Uuid,
    pub direction: Direction,
    /// The received email that it comes from.
    pub received: Option<Uuid>,
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub reply_to: Vec<String>,
    pub subject: Option<String>,
    /// Including its angle brackets.
    pub message_id: Option<String>,
    /// The Message-IDs that it refers to, oldest first.
    pub references: Vec<String>,
    pub html: Option<Arc<str>>,
    pub text: Option<Arc<str>>,
    /// The searched text, if the email has no text.
    derived: Option<Arc<str>>,
    pub attachments: Vec<File>,
    pub read: bool,
    pub received_at: Timestamp,
}

/// An attachment's metadata.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct File {
    pub id: Uuid,
    pub filename: Option<String>,
    /// In bytes; unknown for a hosted file.
    pub size: Option<usize>,
}

words! {
    /// Whether an email was received or sent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Direction {
        Inbound = "inbound",
        Outbound = "outbound",
    }
}

/// How the emails of threads are found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Group {
    Thread(Uuid),
    MessageId { inbox: Uuid, id: String },
}

impl table::Record for InboxEmail {
    const NOUN: &'static str = "an email";
    const PLURAL: &'static str = "emails of inboxes";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        let inbox = self.inbox;
        let by_message_id = self.message_id.clone().map(|id| Group::MessageId { inbox, id });
        [Group::Thread(self.thread)].into_iter().chain(by_message_id).collect()
    }
}

impl InboxEmail {
    /// A received email, without a thread.
    pub fn inbound(id: Uuid, inbox: Uuid, received: &Received) -> Self {
        let text: Option<Arc<str>> = received.text.as_deref().map(Arc::from);
        let derived = match (&text, &received.html) {
            (None, Some(html)) => Some(derive(&html[..html.floor_char_boundary(MAX_DERIVED)]).into()),
            _ => None,
        };
        let header = |name: &str| received.headers.get(name).map(String::as_str).unwrap_or_default();
        let mut references = message_ids(header("references"));
        for id in message_ids(header("in-reply-to")) {
            if !references.contains(&id) {
                references.push(id);
            }
        }
        references.drain(..references.len().saturating_sub(MAX_REFERENCES));
        let files = received.attachments.iter().map(|file| File {
            id: file.id,
            filename: Some(file.filename.clone()),
            size: Some(file.size),
        });
        Self {
            id,
            inbox,
            thread: Uuid::nil(),
            direction: Direction::Inbound,
            received: Some(received.id),
            from: received.from.clone(),
            to: received.to.clone(),
            cc: received.cc.clone(),
            bcc: received.bcc.clone(),
            reply_to: received.reply_to.clone(),
            // Encoded words can contain line breaks, which would add fields to the header of a reply.
            subject: Some(to_header_line(&received.subject)).filter(|subject| !subject.is_empty()),
            // Without the header, the received email has a made-up one, to which a reply must not refer.
            message_id: message_ids(&received.message_id)
                .pop()
                .filter(|_| received.headers.contains_key("message-id")),
            references,
            html: received.html.as_deref().map(Arc::from),
            text,
            derived,
            attachments: files.collect(),
            read: false,
            received_at: received.created_at,
        }
    }

    /// A sent email.
    pub fn outbound(inbox: Uuid, thread: Uuid, email: &Email, attachments: Vec<File>) -> Self {
        let references = email.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("references"));
        let texts = |list: &[Arc<str>]| list.iter().map(ToString::to_string).collect();
        Self {
            id: email.id,
            inbox,
            thread,
            direction: Direction::Outbound,
            received: None,
            from: email.from.to_string(),
            to: texts(&email.to),
            cc: email.cc.as_deref().map(texts).unwrap_or_default(),
            bcc: email.bcc.as_deref().map(texts).unwrap_or_default(),
            reply_to: email.reply_to.as_deref().map(texts).unwrap_or_default(),
            subject: Some(email.subject.clone()),
            message_id: Some(email.message_id.to_string()),
            references: references.flat_map(|(_, ids)| message_ids(ids)).collect(),
            html: email.bodies.html(),
            text: email.bodies.text(),
            derived: None,
            attachments,
            read: true,
            received_at: email.created_at,
        }
    }

    /// The headers of a reply to this email (RFC 5322, 3.6.4).
    pub fn reply_headers(&self) -> Vec<(String, String)> {
        let Some(id) = &self.message_id else { return Vec::new() };
        let skipped = (self.references.len() + 1).saturating_sub(MAX_REFERENCES);
        let known = self.references.iter().skip(skipped).chain([id]).map(String::as_str);
        let references = known.collect::<Vec<_>>().join(" ");
        vec![("In-Reply-To".to_owned(), id.clone()), ("References".to_owned(), references)]
    }

    /// The addresses of all senders and recipients, in lower case.
    pub fn addresses(&self) -> impl Iterator<Item = String> {
        let lists = self.to.iter().chain(&self.cc).chain(&self.bcc);
        [&self.from].into_iter().chain(lists).filter_map(|text| address(text))
    }

    /// The text that is searched.
    pub fn searched_text(&self) -> &str {
        self.text.as_deref().or(self.derived.as_deref()).unwrap_or_default()
    }
}

/// The address of a mailbox, in lower case.
pub fn address(text: &str) -> Option<String> {
    Mailbox::parse_sender(text).ok().map(|mailbox| mailbox.address.to_ascii_lowercase())
}

/// The Message-IDs of a header, with their angle brackets.
fn message_ids(header: &str) -> Vec<String> {
    let ids = header.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(id, _)| id.trim());
    let usable =
        |id: &&str| (1..MAX_MESSAGE_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    ids.filter(usable).map(|id| format!("<{id}>")).collect()
}

impl File {
    pub fn new(id: Uuid, file: &attachments::Attachment) -> Self {
        Self { id, filename: Some(file.filename.clone()), size: file.content.size() }
    }
}

view! {
    pub Summary of email: InboxEmail {
        id: email.id,
        direction: email.direction,
        from: email.from,
        to: email.to,
        cc: email.cc,
        bcc: email.bcc,
        reply_to: email.reply_to,
        subject: email.subject,
        message_id: email.message_id,
        attachments: email.attachments.iter().map(FileItem).collect::<Vec<_>>(),
        read: email.read,
        received_at: to_iso(email.received_at),
    }
}

view! {
    pub Item of email: InboxEmail { ..Summary, html: email.html, text: email.text, }
}

view! {
    FileItem of file: File { id: file.id, filename: file.filename, size: file.size, }
}
