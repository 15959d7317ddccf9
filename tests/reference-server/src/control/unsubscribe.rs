//! The unsubscribe page: `GET /_/unsubscribe/{word}` asks for confirmation, or for one of the email's addresses; `POST`
//! unsubscribes.
//!
//! A GET must not unsubscribe: mail clients and scanners follow links. The POST is the one-click request of RFC 8058, or comes from the page's
//! button. No key is needed; the signed link proves that it came with the email.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use url::form_urlencoded;

use crate::delivery::unsubscribe::{self, UnsubscribeRequest};
use crate::state::State;
use crate::wire::{Problem, escape_html, quote, response_with};

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}\
    button{font:inherit;padding:.5rem 1rem}@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}}";

/// The page with the button. If the email has several addresses, it asks for one.
pub fn confirmation_page(state: &State, token: &str) -> Result<Response<Bytes>, Problem> {
    let request = read(state, token)?;
    let what = describe_subject(&request);
    let addresses = known_recipients(&request)?;
    let (question, choice) = match addresses.as_slice() {
        [address] if !request.has_hidden() => {
            (format!("<b>{}</b> will no longer receive {what}.", escape_html(address)), String::new())
        }
        several => (
            format!("Which address should no longer receive {what}?"),
            render_choices(several, request.has_hidden()),
        ),
    };
    Ok(render_page(&format!(
        "<h1>Unsubscribe?</h1><form method=post><p>{question}</p>{choice}\
         <input type=hidden name=List-Unsubscribe value=One-Click><button>Unsubscribe</button></form>"
    )))
}

/// Unsubscribes the contact, the only address, or the one in the form. Repeating it has no further effect.
pub fn confirm(state: &State, token: &str, body: &[u8]) -> Result<Response<Bytes>, Problem> {
    let request = read(state, token)?;
    let addresses = known_recipients(&request)?;
    // The field for another address comes last.
    let given =
        form_urlencoded::parse(body).filter(|(name, value)| name == "address" && !value.is_empty()).last();
    let given = given.map(|(_, value)| value);
    let address = match (given, addresses.as_slice()) {
        (_, [address]) if !request.has_hidden() => address.clone(),
        (Some(given), _) => request.find(&given).ok_or_else(|| {
            Problem::validation(format!(
                "`address` must be a recipient of the email; found {}.",
                quote(&given)
            ))
        })?,
        (None, _) => {
            return Err(Problem::validation(
                "`address` must be one of the email's recipients: this link belongs to several. Open it in a browser to choose.",
            ));
        }
    };
    request.apply(state, &address)?;
    let what = describe_subject(&request);
    Ok(render_page(&format!(
        "<h1>Unsubscribed</h1><p><b>{}</b> will no longer receive {what}.</p>",
        escape_html(&address)
    )))
}

/// The fields that select an address.
fn render_choices(addresses: &[String], has_hidden: bool) -> String {
    let required = if has_hidden { "" } else { " required" };
    let options = addresses.iter().map(|address| {
        let address = escape_html(address);
        format!(
            "<p><label><input type=radio name=address value=\"{address}\"{required}> {address}</label></p>"
        )
    });
    let other = "<p><label>Another address that received it <input type=email name=address></label></p>";
    options.chain(has_hidden.then(|| other.to_owned())).collect()
}

fn known_recipients(request: &UnsubscribeRequest) -> Result<Vec<String>, Problem> {
    let addresses = request.addresses();
    if addresses.is_empty() && !request.has_hidden() {
        return Err(Problem::not_found("The contact or the email of this link no longer exists."));
    }
    Ok(addresses)
}

fn read(state: &State, token: &str) -> Result<UnsubscribeRequest, Problem> {
    unsubscribe::open(state, token).ok_or_else(|| {
        Problem::new(
            StatusCode::FORBIDDEN,
            "invalid_link",
            "This link is not signed by this service, or its account no longer exists.",
        )
    })
}

/// The subscription that the link ends.
fn describe_subject(request: &UnsubscribeRequest) -> String {
    match request.topic() {
        Some(topic) => format!("mail about <b>{}</b>", escape_html(&topic)),
        None => "mail of this kind".to_owned(),
    }
}

fn render_page(body: &str) -> Response<Bytes> {
    let page = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta name=robots content=noindex><title>Unsubscribe</title><style>{STYLE}</style></head><body>{body}</body></html>"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // The page's URL authorizes the request.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    response_with(page, headers)
}
