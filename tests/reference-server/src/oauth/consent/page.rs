//! The HTML of the consent page: the client, the scopes, the account, and the destination of the redirect.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use url::Url;

use crate::model::oauth::clients::{OAuthClient, is_loopback};
use crate::model::oauth::grant::Request;
use crate::wire::{escape_html, response_with};

const STYLE: &str = include_str!("page.css");
/// An envelope icon; inline, since the page loads nothing.
const ENVELOPE: &str = "<svg viewBox=\"0 0 24 24\" fill=none stroke=currentColor stroke-width=1.75 stroke-linejoin=round>\
    <rect x=3 y=5 width=18 height=14 rx=2.5 /><path d=\"m3.5 7 8.5 6.5L20.5 7\" stroke-linecap=round /></svg>";

/// The content of the consent page.
pub(super) struct ConsentPage<'a> {
    /// The service's base URL.
    pub(super) address: &'a str,
    pub(super) waiting: &'a Request,
    pub(super) client: &'a OAuthClient,
    /// The suggested or entered account.
    pub(super) key: &'a str,
    /// The error of the last submission.
    pub(super) wrong: Option<&'a str>,
}

impl ConsentPage<'_> {
    /// Renders the page with its form.
    pub(super) fn page(&self) -> Response<Bytes> {
        let who = escape_html(&self.client.name);
        let status = if self.wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let (invalid, wrong) = match self.wrong {
            None => ("", String::new()),
            Some(text) => (
                " aria-invalid=true aria-describedby=wrong",
                format!("<p id=wrong class=wrong role=alert>{}</p>", escape_html(text)),
            ),
        };
        let initial = self.client.name.trim().chars().next().map(|first| first.to_uppercase().to_string());
        let body = format!(
            "<div class=pair aria-hidden=true><span>{initial}</span><i></i><span class=own>{ENVELOPE}</span></div>\
             <h1><b>{who}</b> asks for access</h1>{home_page}\
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
            initial = escape_html(initial.as_deref().unwrap_or_default()),
            home_page = home_page(self.client),
            here = escape_html(self.address.split_once("://").map_or(self.address, |(_, host)| host)),
            scopes = describe_scopes(&self.waiting.scopes),
            token = self.waiting.token,
            key = escape_html(self.key),
            back = escape_html(&describe_destination(&self.waiting.redirect_uri)),
        );
        page(status, "Allow access?", &body, Some(&self.waiting.redirect_uri))
    }
}

/// The host of the client's home page, as the client declares it.
fn home_page(client: &OAuthClient) -> String {
    let home = client.client_uri.as_deref().and_then(|address| Url::parse(address).ok());
    let host = home.as_ref().and_then(Url::host_str);
    host.map(|host| format!("<p class=note>It declares its home page as {}.</p>", escape_html(host)))
        .unwrap_or_default()
}

/// Describes the scopes. Full access includes sending.
fn describe_scopes(scopes: &[String]) -> &'static str {
    if scopes.iter().any(|scope| scope == "full_access") {
        return "<ul class=all><li><b>do everything</b> that the account can: send and read emails, and change contacts, domains, templates, \
                webhooks and API keys</ul>";
    }
    "<ul><li><b>send emails</b> and broadcasts in your name, and nothing else</ul>"
}

/// Describes the destination of the redirect.
fn describe_destination(redirect: &str) -> String {
    match Url::parse(redirect) {
        Ok(url) if is_loopback(&url) => "a program on this computer".to_owned(),
        Ok(url) => {
            url.host_str().map_or_else(|| format!("the program behind {}:", url.scheme()), str::to_owned)
        }
        Err(_) => redirect.to_owned(),
    }
}

/// Responds when the request is no longer pending.
pub(super) fn expired_response() -> Response<Bytes> {
    let body = "<h1><b>This request has ended</b></h1><p>It was already allowed or denied, it is more than ten minutes old, \
                or it never existed.</p><p>Return to the program and start again.</p>";
    page(StatusCode::NOT_FOUND, "Request ended", body, None)
}

/// Responds when the form's token or cookie is invalid.
pub(super) fn invalid_form_response() -> Response<Bytes> {
    let body = "<h1><b>Access was neither allowed nor denied</b></h1><p>The form was submitted from another page, or the \
                browser doesn't accept cookies.</p><p>Go back and try again.</p>";
    page(StatusCode::FORBIDDEN, "Access neither allowed nor denied", body, None)
}

fn page(status: StatusCode, title: &str, body: &str, redirect: Option<&str>) -> Response<Bytes> {
    let page = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <meta name=robots content=noindex><title>{title}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Without any referrer, browsers would send `null` as the form's origin.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let mut response = response_with(page, headers);
    *response.status_mut() = status;
    // Browsers also apply this directive to the redirects after a form, so it contains every destination that the client may use. It lists
    // schemes, not hosts: a client may redirect further, and the directive can't express IPv6 addresses.
    let target = redirect.and_then(|redirect| Url::parse(redirect).ok());
    let target = target.map(|url| format!(" {}:", url.scheme())).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'{target}"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
