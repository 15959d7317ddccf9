//! Renders an email as a MIME message: headers, text and HTML bodies, inline parts, attachments.
//!
//! The parts nest as in RFC 2046 and RFC 2387: `mixed` contains the bodies and the attachments, `alternative` the text and the HTML,
//! `related` the HTML and its inline parts. Each level exists only if needed.

pub mod field;

use jiff::Timestamp;
use mail_builder::encoders::base64::base64_encode_mime;
use mail_builder::headers::date::Date;
use mail_builder::mime::{BodyPart, MimePart};
use uuid::Uuid;

use self::field::Fields;
use crate::model::email::attachments::{self, Attachment};
use crate::model::email::draft::Draft;
use crate::model::mail::MailBodies;

/// Renders the message. Bcc recipients appear in the envelope only, never here.
pub fn render(draft: &Draft, bodies: &MailBodies, email: Uuid, message_id: &str, at: Timestamp) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.addresses("From", std::slice::from_ref(&draft.from));
    fields.addresses("To", &draft.to);
    if let Some(cc) = &draft.cc {
        fields.addresses("Cc", cc);
    }
    if let Some(reply_to) = &draft.reply_to {
        fields.addresses("Reply-To", reply_to);
    }
    fields.text("Subject", &draft.subject);
    fields.literal("Date", &Date::new(at.as_second()).to_rfc822());
    fields.literal("Message-ID", message_id);
    for (name, value) in &draft.headers {
        fields.custom(name, value);
    }
    fields.literal("MIME-Version", "1.0");
    let text = |body: &Option<std::sync::Arc<str>>| body.as_ref().map_or(0, |body| body.len());
    let encoded = attachments::encoded_size(&draft.attachments);
    let mut output = Vec::with_capacity(2_048 + text(&bodies.html) + text(&bodies.text) + encoded);
    body(draft, bodies, &Boundaries(email)).write(fields, &mut output);
    output
}

/// Boundaries derived from the email's ID: the author of the bodies can't guess them, unless the IDs are seeded.
struct Boundaries(Uuid);

impl Boundaries {
    fn multipart<'a>(&self, kind: &'static str, parts: Vec<Part<'a>>) -> Part<'a> {
        Part::Multipart { kind, boundary: format!("=_{kind}_{}", self.0.simple()), parts }
    }
}

fn body<'a>(draft: &'a Draft, bodies: &'a MailBodies, boundaries: &Boundaries) -> Part<'a> {
    let (inline, attached): (Vec<_>, Vec<_>) = draft
        .attachments
        .iter()
        .partition(|attachment| attachment.content_id.is_some() && bodies.html.is_some());

    let text = bodies.text.as_deref().map(|text| Part::Text("text/plain", text));
    let html = bodies.html.as_deref().map(|html| {
        let html = Part::Text("text/html", html);
        if inline.is_empty() {
            return html;
        }
        let mut parts = vec![html];
        parts.extend(inline.iter().map(|attachment| Part::File(attachment, "inline")));
        boundaries.multipart("related", parts)
    });
    let bodies = match (text, html) {
        (Some(text), Some(html)) => boundaries.multipart("alternative", vec![text, html]),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => Part::Text("text/plain", ""),
    };
    if attached.is_empty() {
        return bodies;
    }
    let mut parts = vec![bodies];
    parts.extend(attached.iter().map(|attachment| {
        Part::File(attachment, if attachment.content_id.is_some() { "inline" } else { "attachment" })
    }));
    boundaries.multipart("mixed", parts)
}

/// Converts every line end to CRLF (RFC 5322, 2.3). The quoted-printable encoder always recognizes those, and others only sometimes.
fn with_line_ends(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + text.len() / 32);
    let mut rest = text;
    while let Some(end) = rest.find(['\r', '\n']) {
        lines.push_str(&rest[..end]);
        lines.push_str("\r\n");
        rest = rest[end..].strip_prefix("\r\n").unwrap_or(&rest[end + 1..]);
    }
    lines.push_str(rest);
    lines
}

enum Part<'a> {
    /// A body, with its media type.
    Text(&'static str, &'a str),
    /// A file, with its disposition.
    File(&'a Attachment, &'static str),
    Multipart {
        kind: &'static str,
        boundary: String,
        parts: Vec<Part<'a>>,
    },
}

impl Part<'_> {
    /// Writes the part after these fields. Writing to memory can't fail.
    fn write(self, mut fields: Fields, output: &mut Vec<u8>) {
        match self {
            Part::Text(kind, text) => {
                output.extend_from_slice(fields.all_lines().as_bytes());
                // `MimePart` chooses the encoding and writes its header fields.
                let _ = MimePart::new(kind, BodyPart::Text(with_line_ends(text).into())).write_part(output);
            }
            Part::File(attachment, disposition) => {
                fields.literal("Content-Type", attachment.content_type.trim());
                fields.with_parameter("Content-Disposition", disposition, ("filename", &attachment.filename));
                if let Some(id) = &attachment.content_id {
                    fields.literal("Content-ID", &format!("<{id}>"));
                }
                fields.literal("Content-Transfer-Encoding", "base64");
                output.extend_from_slice(fields.finish().as_bytes());
                let _ = base64_encode_mime(attachment.content.bytes(), output, false);
            }
            Part::Multipart { kind, boundary, parts } => {
                fields.with_parameter("Content-Type", &format!("multipart/{kind}"), ("boundary", &boundary));
                output.extend_from_slice(fields.finish().as_bytes());
                for part in parts {
                    output.extend_from_slice(format!("\r\n--{boundary}\r\n").as_bytes());
                    part.write(Fields::default(), output);
                }
                output.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
            }
        }
    }
}
