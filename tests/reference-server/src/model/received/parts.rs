//! The bodies and files of a message. Every part becomes a body or a file, so nothing is lost.

use std::collections::BTreeSet;

use mail_parser::{Message, MessagePart, MimeHeaders as _, PartType};

use crate::content::text::derive;
use crate::wire::to_pre_element;

/// The files in order: attachments, and texts that are marked as files although they are among the bodies.
pub(super) fn files<'a, 'x>(message: &'a Message<'x>) -> Vec<&'a MessagePart<'x>> {
    let bodies = message.text_body.iter().chain(&message.html_body).filter(|id| is_file(message, **id));
    let ids: BTreeSet<u32> = message.attachments.iter().chain(bodies).copied().collect();
    ids.iter().filter_map(|id| message.parts.get(*id as usize)).collect()
}

/// Whether a part among the bodies is a file. The parser considers every text of `multipart/alternative` a body.
fn is_file(message: &Message<'_>, id: u32) -> bool {
    let disposition = message.parts.get(id as usize).and_then(|part| part.content_disposition());
    disposition.is_some_and(|kind| kind.is_attachment() || id > 0 && kind.has_attribute("filename"))
}

/// The parts of the HTML body, some of which may be text. Empty if all are.
pub fn html_parts<'a, 'x>(message: &'a Message<'x>) -> Vec<&'a MessagePart<'x>> {
    body(message, &message.html_body, |part| matches!(part.body, PartType::Html(_)))
}

/// The parts of the text body, some of which may be HTML. Empty if all are.
pub fn text_parts<'a, 'x>(message: &'a Message<'x>) -> Vec<&'a MessagePart<'x>> {
    body(message, &message.text_body, |part| matches!(part.body, PartType::Text(_)))
}

fn body<'a, 'x>(
    message: &'a Message<'x>,
    ids: &[u32],
    is_own: impl Fn(&MessagePart<'_>) -> bool,
) -> Vec<&'a MessagePart<'x>> {
    let ids = ids.iter().filter(|id| !is_file(message, **id));
    let parts: Vec<_> = ids.filter_map(|id| message.parts.get(*id as usize)).collect();
    if parts.iter().any(|part| is_own(part)) { parts } else { Vec::new() }
}

/// The HTML body: its parts in order.
pub fn html(message: &Message<'_>) -> Option<String> {
    let parts = html_parts(message);
    let html = parts.iter().filter_map(|part| match &part.body {
        PartType::Html(html) => Some(html.to_string()),
        PartType::Text(text) => Some(to_pre_element(text)),
        _ => None,
    });
    html.reduce(|all, next| join_parts(all, &next))
}

/// The text body: its parts in order.
pub fn text(message: &Message<'_>) -> Option<String> {
    let parts = text_parts(message);
    let texts = parts.iter().filter_map(|part| match &part.body {
        PartType::Text(text) => Some(text.to_string()),
        PartType::Html(html) => Some(derive(html)),
        _ => None,
    });
    texts.reduce(|all, next| join_parts(all, &next))
}

/// Starts the second part on its own line.
fn join_parts(mut all: String, next: &str) -> String {
    if !all.ends_with('\n') {
        all.push('\n');
    }
    all + next
}
