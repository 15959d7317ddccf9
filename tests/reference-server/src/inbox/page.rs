//! The inbox as a page: `GET /_/`.
//!
//! Everything on it was written by whoever sent the mails: all of it is escaped, and the page may neither run a script
//! nor load anything.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use url::form_urlencoded;
use uuid::Uuid;

use crate::delivery::captured::CapturedMail;
use crate::keys;
use crate::lock::lock;
use crate::problem::Problem;
use crate::resources::timestamp::database;
use crate::service::Service;

/// The tenant that the page shows when none is named: the key that the sandbox suggests.
pub(crate) const USUAL_KEY: &str = "sb_local";
/// How many mails the page shows.
const SHOWN: usize = 100;

/// How much of a body the page shows, in bytes.
const LONGEST: usize = 256 << 10;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd;\
    vertical-align:top;overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f6f6f6;\
    padding:1rem}iframe{width:100%;height:24rem;border:1px solid #ddd;background:#fff}summary{margin:1rem 0}.none{color:#666}@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}a{color:#8bf}\
    pre{background:#222}td,th{border-color:#333}}";

/// `GET /_/`: the list, or with `?id=` one mail.
pub(super) fn show(service: &Service, query: Option<&str>) -> Result<Response<Bytes>, Problem> {
    let mut key = USUAL_KEY.to_owned();
    let mut id = None;
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "key" => key = value.into_owned(),
            "id" => id = Uuid::try_parse(&value).ok(),
            _ => {}
        }
    }
    let credential =
        keys::credential(&key, &service.state().key_book).ok_or_else(Problem::invalid_api_key)?;
    // Looking at an inbox must not make a tenant.
    let tenant = service.state().find(&credential.tenant);
    let body = match (tenant, id) {
        (Some(tenant), Some(id)) => {
            let mail = lock(&tenant.captured).get(id).cloned();
            mail.map(|mail| whole(&mail, &key)).ok_or_else(|| Problem::not_found("Message not found."))?
        }
        (Some(tenant), None) => {
            let captured = lock(&tenant.captured);
            let mails: Vec<_> = captured.newest_first().take(SHOWN).cloned().collect();
            let total = captured.len();
            drop(captured);
            overview(&mails, total, &key)
        }
        (None, _) => overview(&[], 0, &key),
    };
    Ok(html(&key, &body))
}

fn overview(mails: &[std::sync::Arc<CapturedMail>], total: usize, key: &str) -> String {
    let mut page = format!("<h1>Inbox of {}</h1>", escaped(key));
    if mails.is_empty() {
        page.push_str("<p class=none>No mail has left yet.</p>");
        return page;
    }
    // Writing to a string does not fail.
    let _ = write!(
        page,
        "<p>{total} captured, newest first.</p><table><tr><th>When<th>From<th>To<th>Subject</tr>"
    );
    for mail in mails {
        let subject = if mail.subject.is_empty() { "(no subject)" } else { &mail.subject };
        let _ = write!(
            page,
            "<tr><td>{}<td>{}<td>{}<td><a href=\"?{}\">{}</a></tr>",
            database(mail.captured_at),
            escaped(&mail.from),
            escaped(&mail.to.join(", ")),
            escaped(&link(key, Some(&mail.id))),
            escaped(subject),
        );
    }
    page.push_str("</table>");
    page
}

fn whole(mail: &CapturedMail, key: &str) -> String {
    let mut page = format!("<p><a href=\"?{}\">Inbox</a></p><h1>", escaped(&link(key, None)));
    let _ = write!(page, "{}</h1><table>", escaped(&mail.subject));
    let rows = [
        ("From", mail.from.clone()),
        ("To", mail.to.join(", ")),
        ("Cc", mail.cc.join(", ")),
        ("Bcc", mail.bcc.join(", ")),
        ("Left at", database(mail.captured_at)),
        ("Email", mail.email_id.clone()),
        (
            "Tags",
            mail.tags.iter().map(|tag| format!("{}={}", tag.name, tag.value)).collect::<Vec<_>>().join(", "),
        ),
        (
            "Attachments",
            mail.attachments
                .iter()
                .map(|one| format!("{} ({}, {} bytes)", one.filename, one.content_type, one.size))
                .collect::<Vec<_>>()
                .join(", "),
        ),
    ];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(page, "<tr><th>{name}<td>{}</tr>", escaped(value));
    }
    page.push_str("</table>");
    if let Some(text) = &mail.text {
        let _ = write!(page, "<h2>Text</h2><pre>{}</pre>", escaped(shortened(text)));
    }
    if let Some(html) = &mail.html {
        // In a sandbox without any permission, and under the page's own policy: it may lay itself out, no more.
        let html = escaped(shortened(html));
        let _ = write!(page, "<h2>HTML</h2><iframe sandbox title=HTML srcdoc=\"{html}\"></iframe>");
    }
    let source = String::from_utf8_lossy(&mail.mime[..mail.mime.len().min(LONGEST)]);
    let _ = write!(page, "<details><summary>Source</summary><pre>{}</pre></details>", escaped(&source));
    page
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

fn link(key: &str, id: Option<&str>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("key", key);
    if let Some(id) = id {
        query.append_pair("id", id);
    }
    query.finish()
}

fn html(key: &str, body: &str) -> Response<Bytes> {
    let page = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport \
         content=\"width=device-width\"><title>Inbox of {}</title><style>{STYLE}</style></head><body>{body}</body></html>",
        escaped(key)
    );
    let mut response = Response::new(Bytes::from(page));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            char => safe.push(char),
        }
    }
    safe
}
