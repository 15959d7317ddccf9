//! Captured emails, as the inbox stores them.
//!
//! An email is stored as its parts: the MIME message, and a text derived from the HTML, are rendered on access.

pub mod lazy;
pub mod mime;
pub mod simulation;
pub mod tracking;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use jiff::Timestamp;
use jiff::fmt::serde::timestamp::nanosecond;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::tracking::Tracking;
use crate::content::codes::{Extracted, extract};
use crate::content::links::Link;
use crate::content::preview::Preview;
use crate::model::email::Email;
use crate::model::email::attachments::Attachment;
use crate::model::email::draft::Draft;
use crate::model::email::recipients::Mailbox;
use crate::store::mails::StoredMail;
use crate::wire::described;

pub use crate::model::email::tags::Tag;
pub use crate::model::mail::lazy::Lazy;

/// An email as it would have been sent: its envelope, its message, and the time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CapturedMail {
    /// The ID of the captured email in the inbox.
    pub id: String,
    /// The ID of the email that `POST /emails` returned.
    pub email_id: String,
    /// The sender as given, with its display name.
    pub from: String,
    /// The recipients as given, without those whose simulated outcome prevents sending (`suppressed@`, `failed@`).
    pub to: Vec<String>,
    /// Like [`to`](Self::to).
    pub cc: Vec<String>,
    /// Like [`to`](Self::to). The message itself doesn't contain them.
    pub bcc: Vec<String>,
    /// The subject as given.
    pub subject: String,
    /// The complete message (RFC 5322), rendered on first access.
    pub mime: Lazy<Bytes>,
    /// The time of sending, by the service's clock.
    pub captured_at: Timestamp,
    /// The email's tags.
    pub tags: Vec<Tag>,
    /// The attachments, without their content.
    pub attachments: Vec<CapturedAttachment>,
    /// The HTML body.
    pub html: Lazy<Option<Arc<str>>>,
    /// The text body, given or derived from the HTML on first access.
    pub text: Lazy<Option<Arc<str>>>,
    /// The one-time codes in the subject and the bodies, without separators, the best candidate first; extracted on first access.
    pub codes: Lazy<Vec<String>>,
    /// The web links of the HTML in order, then the URLs that only occur as text; extracted on first access.
    pub links: Lazy<Vec<Link>>,
    /// The approximate number of bytes, rendered or not.
    pub held_bytes: usize,
}

described! {
    /// An attachment of a captured email.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
    #[non_exhaustive]
    pub struct CapturedAttachment {
        /// The file name, without folders.
        pub filename: String,
        /// The media type, given or derived from the file name.
        pub content_type: String,
        /// In bytes, before Base64.
        pub size: usize,
        /// The ID that the HTML refers to as `cid:<content_id>`.
        pub content_id: Option<String>,
    }
}

/// A captured email in the inbox.
#[derive(Debug, Deserialize, Serialize)]
pub struct Mail {
    pub id: Uuid,
    pub email_id: Uuid,
    #[serde(with = "nanosecond::required")]
    pub captured_at: Timestamp,
    message_id: Arc<str>,
    draft: Box<Draft>,
    /// Whether the sender's domain enforces TLS.
    enforced: bool,
    /// Boxed, since few emails have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking: Option<Box<Tracking>>,
    unread: AtomicBool,
    /// The size of the rendered message in bytes, once it has been rendered.
    #[serde(skip)]
    size: OnceLock<usize>,
}

/// The bodies of an email as sent.
pub struct MailBodies {
    /// Including open and click tracking, if the sender's domain uses it.
    pub html: Option<Arc<str>>,
    pub text: Option<Arc<str>>,
}

impl Mail {
    pub fn new(
        id: Uuid,
        email: &Email,
        draft: Box<Draft>,
        enforced: bool,
        tracking: Option<Tracking>,
        at: Timestamp,
    ) -> Self {
        let message_id = Arc::clone(&email.message_id);
        Self {
            id,
            email_id: email.id,
            captured_at: at,
            message_id,
            draft,
            enforced,
            tracking: tracking.map(Box::new),
            unread: AtomicBool::new(true),
            size: OnceLock::new(),
        }
    }

    /// The sender as given, with its display name.
    pub fn from(&self) -> &str {
        &self.draft.from.text
    }

    /// The address of the sender, without its display name.
    pub fn sender(&self) -> &str {
        &self.draft.from.address
    }

    /// The recipients as given.
    pub fn to(&self) -> Vec<&str> {
        self.accepted_recipients(&self.draft.to).collect()
    }

    pub fn cc(&self) -> Vec<&str> {
        self.each_cc().collect()
    }

    pub fn each_cc(&self) -> impl Iterator<Item = &str> {
        self.accepted_recipients(self.draft.cc.iter().flatten())
    }

    pub fn bcc(&self) -> Vec<&str> {
        self.each_bcc().collect()
    }

    pub fn each_bcc(&self) -> impl Iterator<Item = &str> {
        self.accepted_recipients(self.draft.bcc.iter().flatten())
    }

    /// The addresses for replies, from the field or else a header.
    pub fn each_reply_to(&self) -> impl Iterator<Item = &str> {
        let headers = self.draft.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("reply-to"));
        let fields = self.draft.reply_to.iter().flatten().map(|one| &*one.text);
        fields.chain(headers.map(|(_, value)| value.as_str()))
    }

    /// All recipients as given.
    pub fn recipients(&self) -> impl Iterator<Item = &str> {
        self.accepted_recipients(self.draft.recipients())
    }

    fn accepted_recipients<'a>(
        &'a self,
        mailboxes: impl IntoIterator<Item = &'a Mailbox>,
    ) -> impl Iterator<Item = &'a str> {
        let left = mailboxes.into_iter().filter(|one| !simulation::is_rejected(one, self.enforced));
        left.map(|one| &*one.text)
    }

    /// Including its angle brackets.
    pub fn message_id(&self) -> &str {
        &self.message_id
    }

    pub fn subject(&self) -> &str {
        &self.draft.subject
    }

    pub fn tags(&self) -> &[Tag] {
        &self.draft.tags
    }

    /// The attachments with their content.
    pub fn files(&self) -> &[Attachment] {
        &self.draft.attachments
    }

    pub fn attachments(&self) -> Vec<CapturedAttachment> {
        self.draft.attachments.iter().map(CapturedAttachment::new).collect()
    }

    /// Whether a searched part of its text satisfies the condition.
    pub fn any_of_text(&self, holds: &mut dyn FnMut(&str) -> bool) -> bool {
        self.draft.bodies.any_of_text(holds)
    }

    pub fn html(&self) -> Option<Arc<str>> {
        let html = self.draft.bodies.html()?;
        Some(match &self.tracking {
            Some(tracking) => tracking.apply(&html, self.email_id).into(),
            None => html,
        })
    }

    pub fn text(&self) -> Option<Arc<str>> {
        self.draft.bodies.text()
    }

    /// Its one-time codes and links; `html` must be this mail's.
    pub fn extract(&self, html: Option<&str>) -> Extracted {
        extract(self.subject(), html, self.draft.bodies.explicit_text().as_deref())
    }

    /// Its preview in lists.
    pub fn preview(&self) -> Preview {
        let (html, text) = (self.draft.bodies.html(), self.draft.bodies.explicit_text());
        Preview::new(self.subject(), html.as_deref(), text.as_deref())
    }

    pub fn bodies(&self) -> MailBodies {
        MailBodies { html: self.html(), text: self.text() }
    }

    /// Renders the complete message (RFC 5322).
    pub fn mime(&self) -> Bytes {
        self.render(&self.bodies())
    }

    /// Like [`mime`](Self::mime), for a caller that has the bodies.
    pub fn render(&self, bodies: &MailBodies) -> Bytes {
        let rendered = mime::render(&self.draft, bodies, self.email_id, &self.message_id, self.captured_at);
        let _ = self.size.set(rendered.len());
        rendered.into()
    }

    /// The size of the rendered message, in bytes.
    pub fn size(&self) -> usize {
        self.size.get().copied().unwrap_or_else(|| self.mime().len())
    }

    /// The number of bytes, excluding the bodies and message ID shared with its email.
    pub fn owned_bytes(&self) -> usize {
        size_of::<Self>() + self.draft.size()
    }

    /// Converts to the public type.
    pub fn to_captured(self: &Arc<Self>) -> CapturedMail {
        let owned = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
        let (mime, html, text) = (Arc::clone(self), Arc::clone(self), Arc::clone(self));
        let extracted = Arc::clone(self);
        let extracted = Lazy::new(move || extracted.extract(extracted.html().as_deref()));
        let links = extracted.clone();
        CapturedMail {
            id: self.id.to_string(),
            email_id: self.email_id.to_string(),
            from: self.from().to_owned(),
            to: owned(self.to()),
            cc: owned(self.cc()),
            bcc: owned(self.bcc()),
            subject: self.subject().to_owned(),
            mime: Lazy::new(move || mime.mime()),
            captured_at: self.captured_at,
            tags: self.tags().to_vec(),
            attachments: self.attachments(),
            html: Lazy::new(move || html.html()),
            text: Lazy::new(move || text.text()),
            codes: Lazy::new(move || extracted.codes.clone()),
            links: Lazy::new(move || links.links.clone()),
            held_bytes: self.owned_bytes() + self.draft.bodies.size(),
        }
    }
}

impl StoredMail for Mail {
    fn id(&self) -> Uuid {
        self.id
    }

    fn stored_at(&self) -> Timestamp {
        self.captured_at
    }

    fn unread(&self) -> &AtomicBool {
        &self.unread
    }
}

impl CapturedMail {
    /// The envelope sender: the address without the display name.
    pub fn sender(&self) -> &str {
        address(&self.from)
    }

    /// The envelope recipients, including bcc.
    pub fn recipients(&self) -> impl Iterator<Item = &str> {
        [&self.to, &self.cc, &self.bcc].into_iter().flatten().map(|one| address(one))
    }
}

impl CapturedAttachment {
    fn new(attachment: &Attachment) -> Self {
        Self {
            filename: attachment.filename.clone(),
            content_type: attachment.content_type.clone(),
            size: attachment.content.bytes().len(),
            content_id: attachment.content_id.clone(),
        }
    }
}

/// The address of `email` or `Name <email>`.
fn address(text: &str) -> &str {
    let bracketed = text.rsplit_once('<').and_then(|(_, rest)| rest.split_once('>'));
    bracketed.map_or(text, |(address, _)| address).trim()
}
