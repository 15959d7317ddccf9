//! The unsubscribe page: `GET /_/unsubscribe/{word}` asks for confirmation, `POST` unsubscribes.
//!
//! A GET must not unsubscribe: mail clients and scanners follow links. The POST is the one click of RFC 8058, or the page's own button. No
//! key is needed; the signed link proves that it came with the email.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use crate::delivery::unsubscribe::{self, UnsubscribeRequest};
use crate::state::State;
use crate::wire::escape::escaped;
use crate::wire::problem::Problem;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}\
    button{font:inherit;padding:.5rem 1rem}@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}}";

/// The page with the button.
pub(super) fn ask(state: &State, word: &str) -> Result<Response<Bytes>, Problem> {
    let leaving = read(state, word)?;
    let (address, what) = words(&leaving)?;
    Ok(page(&format!(
        "<h1>Unsubscribe?</h1><p>{address} will get no more {what}.</p>\
         <form method=post><input type=hidden name=List-Unsubscribe value=One-Click><button>Unsubscribe</button></form>"
    )))
}

/// Unsubscribes; repeating it has no further effect.
pub(super) fn end(state: &State, word: &str) -> Result<Response<Bytes>, Problem> {
    let leaving = read(state, word)?;
    let (address, what) = words(&leaving)?;
    leaving.end(state);
    Ok(page(&format!("<h1>Unsubscribed</h1><p>{address} gets no more {what}.</p>")))
}

fn read(state: &State, word: &str) -> Result<UnsubscribeRequest, Problem> {
    unsubscribe::open(state, word).ok_or_else(|| {
        Problem::new(
            StatusCode::FORBIDDEN,
            "invalid_link",
            "This link is not signed by this service, or its account no longer exists.",
        )
    })
}

fn words(leaving: &UnsubscribeRequest) -> Result<(String, String), Problem> {
    let address = leaving.address().ok_or_else(|| Problem::not_found("Contact not found."))?;
    let what = match leaving.topic() {
        Some(topic) => format!("mail about <b>{}</b>", escaped(&topic)),
        None => "mail of this kind".to_owned(),
    };
    Ok((format!("<b>{}</b>", escaped(&address)), what))
}

fn page(body: &str) -> Response<Bytes> {
    let page = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta name=robots content=noindex><title>Unsubscribe</title><style>{STYLE}</style></head><body>{body}</body></html>"
    );
    let mut response = Response::new(Bytes::from(page));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
    );
    // The page's URL authorizes the request.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
