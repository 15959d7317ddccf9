//! What the person sees: who asks, for what, for which account, and where the browser goes next.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use url::Url;

use crate::model::oauth::clients::{OAuthClient, is_loopback};
use crate::state::oauth::Request;
use crate::wire::escape::escaped;

const STYLE: &str = include_str!("page.css");
/// An envelope, for the service; drawn here, as the page loads nothing.
const ENVELOPE: &str = "<svg viewBox=\"0 0 24 24\" fill=none stroke=currentColor stroke-width=1.75 stroke-linejoin=round>\
    <rect x=3 y=5 width=18 height=14 rx=2.5 /><path d=\"m3.5 7 8.5 6.5L20.5 7\" stroke-linecap=round /></svg>";

/// What is asked of a person.
pub(super) struct Asked<'a> {
    /// Where the service is reached.
    pub(super) address: &'a str,
    pub(super) waiting: &'a Request,
    pub(super) client: &'a OAuthClient,
    /// The account that is suggested, or was typed in.
    pub(super) key: &'a str,
    /// What was wrong with the last answer.
    pub(super) wrong: Option<&'a str>,
}

impl Asked<'_> {
    /// The page with the question on it.
    pub(super) fn page(&self) -> Response<Bytes> {
        let who = escaped(&self.client.name);
        let status = if self.wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let (invalid, wrong) = match self.wrong {
            None => ("", String::new()),
            Some(text) => (
                " aria-invalid=true aria-describedby=wrong",
                format!("<p id=wrong class=wrong role=alert>{}</p>", escaped(text)),
            ),
        };
        let initial = self.client.name.trim().chars().next().map(|first| first.to_uppercase().to_string());
        let body = format!(
            "<div class=pair aria-hidden=true><span>{initial}</span><i></i><span class=own>{ENVELOPE}</span></div>\
             <h1><b>{who}</b> asks for access</h1>{about}\
             <p>to an account of the sandbox at <b>{here}</b>. If you allow it, it can:</p>\
             {scopes}\
             <form method=post>\
             <input type=hidden name=token value=\"{token}\">\
             <label for=account>Account</label>\
             <input id=account name=account value=\"{key}\" autocomplete=off autocapitalize=off spellcheck=false required maxlength=256{invalid}>\
             {wrong}<p class=note>Each API key is an account here. Access is given to this one only.</p>\
             <div class=choice><button name=decision value=allow class=allow>Allow</button>\
             <button name=decision value=deny formnovalidate>Deny</button></div></form>\
             <p class=note>Either way you go back to <b>{back}</b>. Access lasts until you revoke it, or until it isn\u{2019}t used for \
             60\u{a0}days.</p>",
            initial = escaped(initial.as_deref().unwrap_or_default()),
            about = about(self.client),
            here = escaped(self.address.split_once("://").map_or(self.address, |(_, host)| host)),
            scopes = in_words(&self.waiting.scopes),
            token = self.waiting.token,
            key = escaped(self.key),
            back = escaped(&whereto(&self.waiting.redirect_uri)),
        );
        page(status, "Allow access?", &body, Some(&self.waiting.redirect_uri))
    }
}

/// Where the client says that its home is.
fn about(client: &OAuthClient) -> String {
    let home = client.client_uri.as_deref().and_then(|address| Url::parse(address).ok());
    let host = home.as_ref().and_then(Url::host_str);
    host.map(|host| format!("<p class=note>It says that its home is {}.</p>", escaped(host)))
        .unwrap_or_default()
}

/// What the scopes allow, in words. Whoever may do everything needs no more to send.
fn in_words(scopes: &[String]) -> &'static str {
    if scopes.iter().any(|scope| scope == "full_access") {
        return "<ul class=all><li><b>do everything</b> that the account can: send and read emails, and change contacts, domains, templates, \
                webhooks and API keys</ul>";
    }
    "<ul><li><b>send emails</b> and broadcasts in your name, and nothing else</ul>"
}

/// Where the browser goes back to, as a person reads it.
fn whereto(redirect: &str) -> String {
    match Url::parse(redirect) {
        Ok(url) if is_loopback(&url) => "a program on this computer".to_owned(),
        Ok(url) => {
            url.host_str().map_or_else(|| format!("the program behind {}:", url.scheme()), str::to_owned)
        }
        Err(_) => redirect.to_owned(),
    }
}

/// There is nothing to decide.
pub(super) fn gone() -> Response<Bytes> {
    let body = "<h1><b>This request is over</b></h1><p>It was decided already, it is older than ten minutes, or there never was one.</p>\
                <p>Go back to the program and begin again.</p>";
    page(StatusCode::NOT_FOUND, "Request is over", body, None)
}

/// The form doesn't prove where it was filled in.
pub(super) fn forged() -> Response<Bytes> {
    let body = "<h1><b>Nothing was decided</b></h1><p>This form was not filled in on the page that it belongs to, or the browser keeps no \
                cookies.</p><p>Go back and try again.</p>";
    page(StatusCode::FORBIDDEN, "Nothing was decided", body, None)
}

fn page(status: StatusCode, title: &str, body: &str, redirect: Option<&str>) -> Response<Bytes> {
    let page = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <meta name=robots content=noindex><title>{title}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>"
    );
    let mut response = Response::new(Bytes::from(page));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    // Browsers hold a form to this rule also where its answer redirects to, and on from there; so all that the client may use is in it. It is
    // a scheme and not an address: a client may send the browser on, and an address of IPv6 can't be written in a rule.
    let target = redirect.and_then(|redirect| Url::parse(redirect).ok());
    let target = target.map(|url| format!(" {}:", url.scheme())).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'{target}"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With none at all the browser would say `null` for the origin of the form.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
