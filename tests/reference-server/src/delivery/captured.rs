//! The mail that left, as the inbox keeps it.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use uuid::Uuid;

use super::{fate, mime};
use crate::resources::emails::attachments::Content;
use crate::resources::emails::draft::Draft;
use crate::resources::emails::recipients::Mailbox;
use crate::resources::emails::record::Email;
pub use crate::resources::emails::tags::Tag;
use crate::store::size::Size;

/// A mail as it would have left: its envelope, its bytes, and when.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct CapturedMail {
    /// The mail's own identifier, as the inbox uses it.
    pub id: String,
    /// The identifier of the email that `POST /emails` answered.
    pub email_id: String,
    /// The sender as given, with its friendly name.
    pub from: String,
    /// The recipients it left for, as given. Those it could not leave for (`suppressed@`, `failed@`) are not among them.
    pub to: Vec<String>,
    /// As [`to`](Self::to).
    pub cc: Vec<String>,
    /// As [`to`](Self::to). In the mail itself they do not appear.
    pub bcc: Vec<String>,
    /// The subject as given.
    pub subject: String,
    /// The whole message as it would travel (RFC 5322).
    pub mime: Bytes,
    /// When it left, by the service's clock.
    pub captured_at: Timestamp,
    /// The email's tags.
    pub tags: Vec<Tag>,
    /// What was attached, without its content.
    pub attachments: Vec<CapturedAttachment>,
    /// The HTML body.
    pub html: Option<Arc<str>>,
    /// The text body, given or derived.
    pub text: Option<Arc<str>>,
    uuid: Uuid,
    email_uuid: Uuid,
}

/// What a captured mail says of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
#[non_exhaustive]
pub struct CapturedAttachment {
    /// Its file name without folders.
    pub filename: String,
    /// Its media type, given or derived from the file name.
    pub content_type: String,
    /// In bytes, before Base64.
    pub size: usize,
    /// What the HTML refers to as `cid:<content_id>`.
    pub content_id: Option<String>,
}

impl CapturedMail {
    /// The bytes that it takes beside its email, which may share the bodies.
    pub(crate) fn size_beside(&self, email: &Email) -> usize {
        let own = |body: &Option<Arc<str>>, of_email: &Option<Arc<str>>| match (body, of_email) {
            (Some(body), Some(shared)) if Arc::ptr_eq(body, shared) => 0,
            _ => body.heap_size(),
        };
        self.size() + own(&self.html, &email.html) + own(&self.text, &email.text)
    }
}

/// Without its bodies.
impl Size for CapturedMail {
    fn heap_size(&self) -> usize {
        let texts = [&self.id, &self.email_id, &self.from, &self.subject].map(Size::heap_size);
        let lists = [&self.to, &self.cc, &self.bcc].map(Size::heap_size);
        let attached = self.tags.heap_size() + self.attachments.heap_size();
        texts.iter().chain(&lists).sum::<usize>() + self.mime.heap_size() + attached
    }
}

impl Size for CapturedAttachment {
    fn heap_size(&self) -> usize {
        self.filename.heap_size() + self.content_type.heap_size() + self.content_id.heap_size()
    }
}

impl CapturedMail {
    pub(crate) fn new(uuid: Uuid, email: &Email, draft: &Draft, enforced: bool, at: Timestamp) -> Self {
        Self {
            id: uuid.to_string(),
            email_id: email.id.to_string(),
            from: draft.from.text.clone(),
            to: left_for(&draft.to, enforced),
            cc: left_for(draft.cc.as_deref().unwrap_or_default(), enforced),
            bcc: left_for(draft.bcc.as_deref().unwrap_or_default(), enforced),
            subject: draft.subject.clone(),
            // Boxed, so that no spare capacity is kept for as long as the mail.
            mime: mime::render(email, draft, at).into_boxed_slice().into(),
            captured_at: at,
            tags: draft.tags.clone(),
            attachments: draft.attachments.iter().map(CapturedAttachment::of).collect(),
            html: draft.html.clone(),
            text: email.text.clone(),
            uuid,
            email_uuid: email.id,
        }
    }

    /// The address that it was sent from, without the friendly name: the sender of the envelope.
    pub fn sender(&self) -> &str {
        address(&self.from)
    }

    /// The addresses that it left for, hidden ones too: the recipients of the envelope.
    pub fn recipients(&self) -> impl Iterator<Item = &str> {
        [&self.to, &self.cc, &self.bcc].into_iter().flatten().map(|one| address(one))
    }

    pub(crate) fn email_uuid(&self) -> Uuid {
        self.email_uuid
    }

    pub(crate) fn uuid(&self) -> Uuid {
        self.uuid
    }
}

impl CapturedAttachment {
    fn of(attachment: &crate::resources::emails::attachments::Attachment) -> Self {
        let size = match &attachment.content {
            Content::Bytes(bytes) => bytes.len(),
            Content::Hosted(_) => 0,
        };
        Self {
            filename: attachment.filename.clone(),
            content_type: attachment.content_type.clone(),
            size,
            content_id: attachment.content_id.clone(),
        }
    }
}

/// Of `email` or `Name <email>`.
fn address(text: &str) -> &str {
    let bracketed = text.rsplit_once('<').and_then(|(_, rest)| rest.split_once('>'));
    bracketed.map_or(text, |(address, _)| address).trim()
}

fn left_for(mailboxes: &[Mailbox], enforced: bool) -> Vec<String> {
    mailboxes.iter().filter(|one| !fate::is_refused(one, enforced)).map(|one| one.text.clone()).collect()
}
