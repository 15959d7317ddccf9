//! Drafts of emails from an inbox.

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::content::text::derive;
use crate::model::email::attachments::Attachment;
use crate::model::email::recipients::{Mailbox, texts};
use crate::store::table;
use crate::wire::{Problem, to_iso, view};

/// The maximum length of a snippet, in characters.
const MAX_SNIPPET: usize = 140;
/// The number of bytes of a body used for its snippet.
const SNIPPET_BYTES: usize = 4 << 10;

/// A draft. Kept after it was sent, so that it isn't sent twice, but not listed.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct InboxDraft {
    pub id: Uuid,
    pub inbox: Uuid,
    /// The thread and the email that it replies to.
    pub replies_to: Option<(Uuid, Uuid)>,
    pub to: Option<Vec<Mailbox>>,
    pub cc: Option<Vec<Mailbox>>,
    pub bcc: Option<Vec<Mailbox>>,
    pub subject: Option<String>,
    pub html: Option<Arc<str>>,
    pub text: Option<Arc<str>>,
    pub attachments: Vec<(Uuid, Attachment)>,
    pub progress: Progress,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Whether a draft was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Progress {
    #[default]
    Open,
    /// A request is sending it.
    Sending,
    Sent(Uuid),
}

/// How drafts are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Group {
    /// The drafts of an inbox that weren't sent.
    Open(Uuid),
    /// All drafts of an inbox.
    Inbox(Uuid),
    /// The unsent drafts of replies in a thread.
    OpenReply(Uuid),
    /// All drafts of replies in a thread.
    Thread(Uuid),
}

impl table::Record for InboxDraft {
    const NOUN: &'static str = "a draft";
    const PLURAL: &'static str = "drafts";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        let thread = self.replies_to.map(|(thread, _)| thread);
        let open = [Some(Group::Open(self.inbox)), thread.map(Group::OpenReply)];
        let open = open.into_iter().flatten().filter(|_| self.is_open());
        [Group::Inbox(self.inbox)].into_iter().chain(thread.map(Group::Thread)).chain(open).collect()
    }
}

impl InboxDraft {
    pub fn is_open(&self) -> bool {
        !matches!(self.progress, Progress::Sent(_))
    }

    /// 409 if it was sent, or is being sent.
    pub fn check_open(&self) -> Result<(), Problem> {
        let state = match self.progress {
            Progress::Open => return Ok(()),
            Progress::Sending => "is being sent".to_owned(),
            Progress::Sent(email) => format!("was sent as the email {email}"),
        };
        Err(Problem::new(StatusCode::CONFLICT, "conflict", format!("The draft {state}.")))
    }

    /// Whether it lacks any content.
    pub fn is_blank(&self) -> bool {
        self.to.is_none()
            && self.cc.is_none()
            && self.bcc.is_none()
            && self.subject.is_none()
            && self.html.is_none()
            && self.text.is_none()
            && self.attachments.is_empty()
    }

    /// The number of recipients.
    pub fn recipients(&self) -> usize {
        [&self.to, &self.cc, &self.bcc].into_iter().flatten().map(Vec::len).sum()
    }

    fn snippet(&self) -> Option<String> {
        let start = |body: &Arc<str>| body[..body.floor_char_boundary(SNIPPET_BYTES)].to_owned();
        let text = match (&self.text, &self.html) {
            (Some(text), _) => start(text),
            (None, Some(html)) => derive(&start(html)),
            (None, None) => return None,
        };
        let words: Vec<_> = text.split_whitespace().collect();
        Some(words.join(" ").chars().take(MAX_SNIPPET).collect())
    }

    fn sent_email(&self) -> Option<Uuid> {
        if let Progress::Sent(email) = self.progress { Some(email) } else { None }
    }
}

view! {
    Summary of draft: InboxDraft {
        id: draft.id,
        type: if draft.replies_to.is_some() { "reply" } else { "standalone" },
        to: draft.to.as_deref().map(texts),
        cc: texts(draft.cc.as_deref().unwrap_or_default()),
        bcc: texts(draft.bcc.as_deref().unwrap_or_default()),
        subject: draft.subject,
        thread_id: draft.replies_to.map(|(thread, _)| thread),
        reply_to_email_id: draft.replies_to.map(|(_, email)| email),
        updated_at: to_iso(draft.updated_at),
        attachments: draft.attachments.iter().map(|(id, file)| AttachmentItem(*id, file)).collect::<Vec<_>>(),
    }
}

view! {
    pub Item of draft: InboxDraft { ..Summary, snippet: draft.snippet(), }
}

view! {
    /// The JSON in events.
    pub Event of draft: InboxDraft {
        object: "inbox_draft",
        ..Summary,
        email_id: draft.sent_email(),
        created_at: to_iso(draft.created_at),
    }
}

view! {
    pub Detail of draft: InboxDraft {
        object: "inbox_draft",
        ..Item,
        html: draft.html,
        text: draft.text,
        email_id: draft.sent_email(),
        created_at: to_iso(draft.created_at),
    }
}

/// An attachment of a draft; the size of a hosted one is unknown.
struct AttachmentItem<'a>(Uuid, &'a Attachment);

impl Serialize for AttachmentItem<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let Self(id, file) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", id)?;
        map.serialize_entry("filename", &file.filename)?;
        map.serialize_entry("content_type", &file.content_type)?;
        map.serialize_entry("size", &file.content.size())?;
        map.end()
    }
}
