//! The mail as it would leave: headers, text and HTML bodies, inline parts, attachments.
//!
//! The parts nest as RFC 2046 and RFC 2387 have it: `mixed` holds the bodies and the attachments, `alternative` the
//! text and the HTML, `related` the HTML and what it shows. Each level exists only if it is needed.

use std::borrow::Cow;

use jiff::Timestamp;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::date::Date;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;
use mail_builder::headers::{Header as _, HeaderType};
use mail_builder::mime::{BodyPart, MimePart};
use mail_builder::{MessageBuilder, headers::message_id::MessageId};

use crate::resources::emails::attachments::{Attachment, Content};
use crate::resources::emails::draft::Draft;
use crate::resources::emails::recipients::Mailbox;
use crate::resources::emails::record::Email;

/// Renders the mail. Blind recipients are in the envelope alone, never here.
pub(crate) fn render(email: &Email, draft: &Draft, at: Timestamp) -> Vec<u8> {
    let mut message = MessageBuilder::new()
        .header("From", addresses(std::slice::from_ref(&draft.from)))
        .header("To", addresses(&draft.to));
    if let Some(cc) = &draft.cc {
        message = message.header("Cc", addresses(cc));
    }
    if let Some(reply_to) = &draft.reply_to {
        message = message.header("Reply-To", addresses(reply_to));
    }
    let message_id = email.message_id.trim_matches(['<', '>']);
    message = message
        .header("Subject", Text::new(draft.subject.as_str()))
        .header("Date", Date::new(at.as_second()))
        .header("Message-ID", MessageId::new(message_id));
    for (name, value) in &draft.headers {
        message = message.header(name.as_str(), custom(value));
    }
    let mut output = Vec::with_capacity(draft.size());
    // Writing to memory does not fail.
    let _ = message.body(body(draft, &Boundaries(email))).write_to(&mut output);
    output
}

/// Boundaries made from the email's id: they can't be guessed by whoever wrote the bodies, unless the ids are seeded.
struct Boundaries<'a>(&'a Email);

impl Boundaries<'_> {
    fn multipart<'x>(&self, kind: &str, parts: Vec<MimePart<'x>>) -> MimePart<'x> {
        let boundary = format!("=_{kind}_{}", self.0.id.simple());
        let content_type = ContentType::new(format!("multipart/{kind}")).attribute("boundary", boundary);
        MimePart::new(content_type, parts)
    }
}

fn body<'x>(draft: &'x Draft, boundaries: &Boundaries<'_>) -> MimePart<'x> {
    let (inline, attached): (Vec<_>, Vec<_>) = draft
        .attachments
        .iter()
        .partition(|attachment| attachment.content_id.is_some() && draft.html.is_some());

    let text = draft.text.as_deref().map(|text| MimePart::new("text/plain", BodyPart::Text(text.into())));
    let html = draft.html.as_deref().map(|html| {
        let html = MimePart::new("text/html", BodyPart::Text(html.into()));
        if inline.is_empty() {
            return html;
        }
        let mut parts = vec![html];
        parts.extend(inline.iter().map(|attachment| part(attachment, true)));
        boundaries.multipart("related", parts)
    });
    let bodies = match (text, html) {
        (Some(text), Some(html)) => boundaries.multipart("alternative", vec![text, html]),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => MimePart::new("text/plain", BodyPart::Text("".into())),
    };
    if attached.is_empty() {
        return bodies;
    }
    let mut parts = vec![bodies];
    parts.extend(attached.iter().map(|attachment| part(attachment, attachment.content_id.is_some())));
    boundaries.multipart("mixed", parts)
}

fn part(attachment: &Attachment, inline: bool) -> MimePart<'_> {
    let bytes: &[u8] = match &attachment.content {
        Content::Bytes(bytes) => bytes,
        Content::Hosted(_) => &[],
    };
    // A raw header hides from the builder that the part may be text, whose line ends it would change.
    let content_type = Raw::new(attachment.content_type.as_str());
    let disposition = disposition(if inline { "inline" } else { "attachment" }, &attachment.filename);
    let mut part = MimePart {
        headers: vec![
            ("Content-Type".into(), content_type.into()),
            ("Content-Disposition".into(), Raw::new(disposition).into()),
        ],
        contents: BodyPart::Binary(Cow::Borrowed(bytes)),
    };
    if let Some(id) = &attachment.content_id {
        part = part.cid(id.as_str());
    }
    part
}

/// The file name as RFC 2183 has it, and beyond ASCII as RFC 2231 has it.
fn disposition(kind: &str, filename: &str) -> String {
    if filename.is_ascii() {
        let quoted = filename.replace('\\', "\\\\").replace('"', "\\\"");
        return format!("{kind}; filename=\"{quoted}\"");
    }
    let encoded = percent_encoding::utf8_percent_encode(filename, percent_encoding::NON_ALPHANUMERIC);
    format!("{kind}; filename*=utf-8''{encoded}")
}

/// A custom header's value: as it is, or in encoded words beyond ASCII.
fn custom(value: &str) -> HeaderType<'_> {
    if value.is_ascii() { Raw::new(value).into() } else { Text::new(value).into() }
}

/// Addresses with their names. The builder would put encoded words inside quotes, where RFC 2047 forbids them.
fn addresses(mailboxes: &[Mailbox]) -> Raw<'static> {
    let mut line = String::new();
    for mailbox in mailboxes {
        if !line.is_empty() {
            line.push_str(", ");
        }
        match &mailbox.name {
            None => line.push_str(&mailbox.address),
            Some(name) => {
                line.push_str(&phrase(name));
                line.push_str(" <");
                line.push_str(&mailbox.address);
                line.push('>');
            }
        }
    }
    Raw::new(line)
}

fn phrase(name: &str) -> String {
    if !name.is_ascii() {
        let mut encoded = Vec::new();
        // Writing to memory does not fail. The builder folds long words; the line is folded again as a whole.
        let _ = Text::new(name).write_header(&mut encoded, 0);
        let encoded = String::from_utf8_lossy(&encoded);
        return encoded.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let atoms =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" !#$%&'*+-/=?^_`{|}~".contains(&byte));
    if atoms {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
