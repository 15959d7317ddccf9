//! Received emails.
//!
//! The raw message is stored, and its attachments are extracted on each request: storing them decoded as well would double the memory.

pub mod parts;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use jiff::Timestamp;
use mail_parser::{Address, ContentType, Message, MessagePart, MimeHeaders as _, PartType};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::content::inline_images::InlineImages;
use crate::mime::{self, NotParsed};
use crate::model::relayed::RelayLog;
use crate::store::mails::StoredMail;
use crate::wire::{described, to_iso, view, words};

/// A received email.
#[derive(Debug, Deserialize, Serialize)]
pub struct Received {
    pub id: Uuid,
    pub created_at: Timestamp,
    /// The envelope recipients.
    pub recipients: Vec<String>,
    /// The address only; the display name stays in the header.
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub reply_to: Vec<String>,
    pub subject: String,
    pub message_id: String,
    pub html: Option<String>,
    pub text: Option<String>,
    /// By lower-case name; repeated values are joined with `, `.
    pub headers: BTreeMap<String, String>,
    pub attachments: Vec<Attachment>,
    /// `None` if nothing is known about the sender.
    pub authentication: Option<Authentication>,
    pub unread: AtomicBool,
    /// The raw message.
    pub raw: Bytes,
    /// The attempts to send it through a real server.
    #[serde(default, skip_serializing_if = "RelayLog::is_empty")]
    pub relayed: RelayLog,
}

described! {
    /// The results of sender authentication (RFC 7208, RFC 6376, RFC 7489). The sandbox doesn't authenticate senders, so the test provides them.
    #[derive(Clone, Copy, Debug, Deserialize)]
    pub struct Authentication {
        pub spf: CheckResult,
        pub dkim: CheckResult,
        pub dmarc: CheckResult,
    }
}

impl Authentication {
    /// The results for an email that wasn't checked.
    pub const UNKNOWN: Self =
        Self { spf: CheckResult::Unknown, dkim: CheckResult::Unknown, dmarc: CheckResult::Unknown };
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckResult {
        Pass = "pass",
        Fail = "fail",
        Gray = "gray",
        ProcessingFailed = "processing_failed",
        Unknown = "unknown",
    }
}

/// The metadata of an attachment.
#[derive(Debug, Deserialize, Serialize)]
pub struct Attachment {
    pub id: Uuid,
    pub filename: String,
    pub content_type: String,
    pub content_id: Option<String>,
    pub inline: bool,
    /// In bytes, decoded.
    pub size: usize,
    /// The index among the message's files.
    place: u32,
}

impl Received {
    /// Parses a message. Returns `None` if it has no headers at all.
    ///
    /// # Errors
    /// If it exceeds a limit of the parser.
    pub fn read(
        id: Uuid,
        created_at: Timestamp,
        recipients: Vec<String>,
        authentication: Authentication,
        raw: Bytes,
        mut next_id: impl FnMut() -> Uuid,
    ) -> Result<Option<Self>, NotParsed> {
        let message = mime::parse(&raw)?;
        let Some(message) = message.filter(|message| !message.headers().is_empty()) else { return Ok(None) };
        let attachments = collect_attachments(&message, &mut next_id);
        let sender = message.from().and_then(|from| from.iter().find_map(|one| one.address()));
        let received = Self {
            id,
            created_at,
            recipients,
            from: sender.unwrap_or_default().trim().to_owned(),
            to: list_addresses(message.to()),
            cc: list_addresses(message.cc()),
            bcc: list_addresses(message.bcc()),
            reply_to: list_addresses(message.reply_to()),
            subject: message.subject().unwrap_or_default().to_owned(),
            message_id: message.message_id().map_or_else(
                // Required for every item (`docs/specification.md`), but optional in a message.
                || format!("<{id}@received.invalid>"),
                |id| format!("<{}>", id.trim_matches(['<', '>'])),
            ),
            html: parts::html(&message),
            text: parts::text(&message),
            headers: headers(&message),
            attachments,
            authentication: Some(authentication),
            unread: AtomicBool::new(true),
            raw: Bytes::new(),
            relayed: RelayLog::default(),
        };
        drop(message);
        Ok(Some(Self { raw, ..received }))
    }

    /// The sender with its display name, which only the header contains.
    pub fn sender(&self) -> Cow<'_, str> {
        let Some(header) = self.headers.get("from") else { return Cow::Borrowed(&self.from) };
        if !header.contains("=?") {
            return Cow::Borrowed(header);
        }
        let line = format!("From: {header}\r\n\r\n");
        let decoded = mime::headers(line.as_bytes()).map(|message| list_addresses(message.from()).join(", "));
        decoded.map_or(Cow::Borrowed(header), Cow::Owned)
    }

    /// Extracts the content of an attachment.
    pub fn content(&self, attachment: &Attachment) -> Result<Bytes, NotParsed> {
        attachment_content(&self.raw, attachment)
    }
}

impl StoredMail for Received {
    fn id(&self) -> Uuid {
        self.id
    }

    fn stored_at(&self) -> Timestamp {
        self.created_at
    }

    fn unread(&self) -> &AtomicBool {
        &self.unread
    }
}

/// The attachments of a message, in order.
pub fn attachments(raw: &[u8]) -> Result<Vec<Attachment>, NotParsed> {
    Ok(mime::parse(raw)?.map(|message| collect_attachments(&message, &mut Uuid::nil)).unwrap_or_default())
}

/// The attachments of a raw message with their content.
pub fn read_contents(raw: &[u8]) -> Result<Vec<(Attachment, Bytes)>, NotParsed> {
    Ok(mime::parse(raw)?.map(|message| contents(&message)).unwrap_or_default())
}

/// The attachments of a message with their content.
pub fn contents(message: &Message<'_>) -> Vec<(Attachment, Bytes)> {
    let parts = parts::files(message);
    let files = collect_attachments(message, &mut Uuid::nil).into_iter().zip(parts);
    files.map(|(file, part)| (file, content(part, message).into_owned().into())).collect()
}

/// The inline images of a message by content ID; if several have the same ID, the first one counts. A message that can't be parsed has none.
pub fn inline_images(raw: &[u8]) -> InlineImages {
    let mut pictures = InlineImages::new();
    for (file, bytes) in read_contents(raw).unwrap_or_default() {
        if let Some(id) = file.content_id {
            pictures.entry(id).or_insert((file.content_type, bytes));
        }
    }
    pictures
}

fn collect_attachments(message: &Message<'_>, id: &mut impl FnMut() -> Uuid) -> Vec<Attachment> {
    let files = (0..).zip(parts::files(message));
    files.map(|(place, part)| Attachment::read(id(), place, part, message)).collect()
}

/// Extracts the content of an attachment from this message.
pub fn attachment_content(raw: &[u8], attachment: &Attachment) -> Result<Bytes, NotParsed> {
    let message = mime::parse(raw)?;
    let bytes = message.as_ref().and_then(|message| {
        let part = parts::files(message).into_iter().nth(attachment.place as usize)?;
        Some(content(part, message).into_owned())
    });
    Ok(bytes.unwrap_or_default().into())
}

impl Attachment {
    fn read(id: Uuid, place: u32, part: &MessagePart<'_>, message: &Message<'_>) -> Self {
        let content_type = part.content_type().map_or_else(
            || if part.is_message() { "message/rfc822" } else { "application/octet-stream" }.to_owned(),
            media_type,
        );
        let content_id = part.content_id().map(|id| id.trim_matches(['<', '>']).to_owned());
        let inline = match part.content_disposition() {
            Some(disposition) => disposition.is_inline(),
            // Inline images aren't listed as files.
            None => content_id.is_some() && !part.is_message(),
        };
        let filename = part
            .attachment_name()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map_or_else(|| default_name(place, &content_type), str::to_owned);
        let size = content(part, message).len();
        Self { id, filename, content_type, content_id, inline, size, place }
    }
}

/// Without parameters: the boundary and file name are not part of the media type.
fn media_type(content_type: &ContentType<'_>) -> String {
    let subtype = content_type.subtype().unwrap_or("plain");
    format!("{}/{subtype}", content_type.ctype()).to_ascii_lowercase()
}

/// `docs/specification.md` requires a name for every attachment, but messages don't.
fn default_name(place: u32, content_type: &str) -> String {
    let extension = match content_type {
        "message/rfc822" => Some("eml"),
        "text/plain" => Some("txt"),
        "text/html" => Some("html"),
        "image/jpeg" => Some("jpg"),
        "image/png" => Some("png"),
        "image/gif" => Some("gif"),
        "application/pdf" => Some("pdf"),
        "text/calendar" => Some("ics"),
        _ => None,
    };
    match extension {
        Some(extension) => format!("attachment-{}.{extension}", place + 1),
        None => format!("attachment-{}", place + 1),
    }
}

/// The decoded content of a file. The parser converts text to UTF-8; a file keeps its bytes, which may be in no character set at all.
fn content<'a>(part: &'a MessagePart<'_>, message: &'a Message<'_>) -> std::borrow::Cow<'a, [u8]> {
    let text = matches!(part.body, PartType::Text(_) | PartType::Html(_));
    let bytes = if text { mime::decode_part(part, message) } else { None };
    bytes.unwrap_or_else(|| part.contents().into())
}

pub fn list_addresses(address: Option<&Address<'_>>) -> Vec<String> {
    let all = address.into_iter().flat_map(Address::iter);
    all.filter_map(|one| Some(format_mailbox(one.name().map(str::trim), one.address()?.trim()))).collect()
}

/// `email` or `Name <email>`, quoted so that the name can't be parsed as another address.
pub fn format_mailbox(name: Option<&str>, address: &str) -> String {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return address.to_owned() };
    let name: String = name.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    if name.chars().all(|char| char.is_alphanumeric() || " -_'!&*+/=?^`{|}~#$%".contains(char)) {
        return format!("{name} <{address}>");
    }
    format!("\"{}\" <{address}>", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn headers(message: &Message<'_>) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in mime::unfolded_headers(message) {
        headers
            .entry(name.to_ascii_lowercase())
            .and_modify(|known| {
                known.push_str(", ");
                known.push_str(&value);
            })
            .or_insert(value);
    }
    headers
}

view! {
    pub Item of email: Received {
        id: email.id,
        to: email.to,
        from: email.from,
        created_at: to_iso(email.created_at),
        subject: email.subject,
        bcc: email.bcc,
        cc: email.cc,
        reply_to: email.reply_to,
        message_id: email.message_id,
        received_for: email.recipients,
        attachments: email.attachments.iter().map(AttachmentItem).collect::<Vec<_>>(),
    }
}

view! {
    #[derive(Clone)]
    pub AttachmentItem of attachment: Attachment {
        id: attachment.id,
        filename: attachment.filename,
        content_type: attachment.content_type,
        content_id: attachment.content_id,
        content_disposition: if attachment.inline { "inline" } else { "attachment" },
        size: attachment.size,
    }
}
