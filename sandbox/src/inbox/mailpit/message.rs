//! One message: its details, headers, source, parts and bodies.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{StatusCode, header};
use jiff::Timestamp;
use md5::{Digest as _, Md5};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use serde_json::{Value, json};

use super::summary::{common_fields, find_by_id, split_address};
use super::{json as answer, messages};
use crate::inbox::mail::MailView;
use idempost_reference_server::control::downloads::inert_response;
use idempost_reference_server::mime;
use idempost_reference_server::model::received::read_contents;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::problem::{self, Problem};
use idempost_reference_server::wire::timestamp::to_iso;

/// `GET /api/v1/message/{id}`
pub(super) fn show(call: &AccountCall<'_>, id: &str) -> HandlerResult {
    let mail = find(call, id)?;
    let source = mail.source()?;
    let headers = mime::headers(&source);
    let header = |name: &str| {
        let all = headers.iter().flat_map(mime::unfolded_headers);
        all.filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .last()
            .map(|(_, value)| value)
            .unwrap_or_default()
    };
    let date =
        headers.as_ref().and_then(|message| Timestamp::from_second(message.date()?.to_timestamp()).ok());
    let sender = match &mail {
        MailView::Sent(mail) => split_address(mail.from()).1,
        MailView::Received(mail) => mail.from.clone(),
        MailView::Unsent(_) => String::new(),
    };
    let return_path = Some(header("Return-Path")).filter(|path| !path.is_empty());
    let mut details = common_fields(&mail, headers.as_ref());
    let (inline, attachments) = parts(&source);
    for (name, value) in [
        ("Read", (!mail.searchable().is_unread()).into()),
        ("ReturnPath", return_path.map_or(sender, |path| path.trim_matches(['<', '>']).to_owned()).into()),
        ("ListUnsubscribe", unsubscribe(&header("List-Unsubscribe"), &header("List-Unsubscribe-Post"))),
        ("Date", to_iso(date.unwrap_or_else(|| mail.searchable().timestamp())).into()),
        ("Text", mail.text().unwrap_or_default().into()),
        ("HTML", mail.html().unwrap_or_default().into()),
        ("Size", source.len().into()),
        ("Inline", inline.into()),
        ("Attachments", attachments.into()),
    ] {
        details[name] = value;
    }
    Ok(answer(&details))
}

/// `GET /api/v1/message/{id}/headers`
pub(super) fn headers(call: &AccountCall<'_>, id: &str) -> HandlerResult {
    let source = find(call, id)?.source()?;
    let mut headers = BTreeMap::<String, Vec<String>>::new();
    let parsed = mime::headers(&source);
    for (name, value) in parsed.iter().flat_map(mime::unfolded_headers) {
        headers.entry(canonical_name(name)).or_default().push(value);
    }
    Ok(answer(&json!(headers)))
}

/// `GET /api/v1/message/{id}/raw`; with `dl=1` as a download.
pub(super) fn source(call: &AccountCall<'_>, id: &str) -> HandlerResult {
    let mail = find(call, id)?;
    if call.query().unwrap_or_default().split('&').any(|pair| pair == "dl=1") {
        return mail.download();
    }
    Ok(inert_response(mail.source()?, "text/plain; charset=utf-8"))
}

/// `GET /api/v1/message/{id}/part/{part}`: a file, which browsers save instead of showing it.
pub(super) fn part(call: &AccountCall<'_>, id: &str, part: &str) -> HandlerResult {
    let index = part.parse::<usize>().ok().and_then(|part| part.checked_sub(1));
    let index = index.ok_or_else(|| Problem::not_found("404 page not found"))?;
    find(call, id)?.file(&index.to_string(), false)
}

/// `GET /view/{file}`: a message's HTML or text; without an extension, redirects to the message on the inbox page.
pub(super) fn view(call: &AccountCall<'_>, file: &str) -> HandlerResult {
    match file.rsplit_once('.') {
        None => {
            let mail = find(call, file)?;
            let (folder, id) = match &mail {
                MailView::Sent(mail) => ("sent", mail.id),
                MailView::Received(mail) => ("received", mail.id),
                MailView::Unsent(email) => ("unsent", email.id),
            };
            // Relative, since a proxy may add a prefix to all paths.
            Ok(problem::redirect(StatusCode::FOUND, &format!("../_/#/{folder}/{id}")))
        }
        // Isolated as on the inbox page.
        Some((id, "html")) => find(call, id)?.html_document(&call.cancellation()),
        Some((id, "txt")) => text(call, id),
        _ => Err(Problem::not_found("404 page not found")),
    }
}

fn text(call: &AccountCall<'_>, id: &str) -> HandlerResult {
    let mail = find(call, id)?;
    let mut response = inert_response(
        Bytes::from(mail.text().unwrap_or_default().into_owned()),
        "text/plain; charset=utf-8",
    );
    response.headers_mut().remove(header::CONTENT_SECURITY_POLICY);
    Ok(response)
}

/// Finds a message by its ID. `latest` is the newest message, or the newest that matches `query`.
fn find(call: &AccountCall<'_>, id: &str) -> Result<MailView, Problem> {
    let missing = || Problem::not_found("404 page not found");
    if id == "latest" {
        return messages::latest(call)?.ok_or_else(missing);
    }
    find_by_id(&call.tenant, id).ok_or_else(missing)
}

/// Returns a message's inline files, and its other ones.
fn parts(source: &Bytes) -> (Vec<Value>, Vec<Value>) {
    let (mut inline, mut attachments) = (Vec::new(), Vec::new());
    for (index, (part, content)) in read_contents(source).unwrap_or_default().into_iter().enumerate() {
        let parts = if part.inline { &mut inline } else { &mut attachments };
        parts.push(json!({
            "PartID": (index + 1).to_string(),
            "FileName": part.filename,
            "ContentType": part.content_type,
            "ContentID": part.content_id.unwrap_or_default(),
            "Size": content.len(),
            "Checksums": {
                "MD5": hex(Md5::digest(&content)),
                "SHA1": hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, &content)),
                "SHA256": hex(digest(&SHA256, &content)),
            },
        }));
    }
    (inline, attachments)
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn unsubscribe(header: &str, post: &str) -> Value {
    let links = header.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0));
    json!({"Header": header, "Links": links.collect::<Vec<_>>(), "Errors": "", "HeaderPost": post})
}

/// Returns a header name in Go's spelling, such as `Message-Id`.
fn canonical_name(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        format!("{}{}", first.to_ascii_uppercase(), rest.to_ascii_lowercase())
    });
    words.collect::<Vec<_>>().join("-")
}
