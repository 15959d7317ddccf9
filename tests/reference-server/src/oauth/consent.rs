//! The page on which a person decides: `GET` and `POST /_/consent/{request}`.
//!
//! It works without scripts and loads nothing. Its form carries a token that only this page knows, and a cookie that other sites' forms
//! don't bring along, so that nobody can decide in a person's place. A request is decided once.
//!
//! The sandbox has no people, only tenants by API key; so the page asks which of them the access is for. The one that it suggests is the key
//! that the sandbox suggests everywhere.

use bytes::Bytes;
use http::{HeaderValue, Method, Request as HttpRequest, Response, StatusCode, header};
use subtle::ConstantTimeEq as _;
use url::Url;

use super::authorize::back;
use super::book::Request;
use super::clients::OAuthClient;
use super::form::Parameters;
use crate::inbox::page::{USUAL_KEY, escaped};
use crate::keys;
use crate::routes::wrong_method;
use crate::service::Service;

const STYLE: &str = include_str!("consent.css");
const COOKIE: &str = "sandbox_consent";

/// Shows the page, or carries out what was decided on it.
pub(crate) fn answer(service: &Service, request: &HttpRequest<Bytes>, name: &str) -> Response<Bytes> {
    let now = service.clock().now();
    let waiting = service.oauth().request(name, now);
    let client = waiting.as_ref().and_then(|waiting| service.oauth().client(&waiting.client_id));
    let (Some(waiting), Some(client)) = (waiting, client) else {
        return gone();
    };
    match *request.method() {
        Method::GET => ask(&waiting, &client, name, USUAL_KEY, None),
        Method::POST => decide(service, request, &waiting, &client, name),
        _ => wrong_method(request.method(), request.uri().path(), &["GET", "POST"]),
    }
}

fn decide(
    service: &Service,
    request: &HttpRequest<Bytes>,
    waiting: &Request,
    client: &OAuthClient,
    name: &str,
) -> Response<Bytes> {
    let Ok(form) = Parameters::of_body(request) else { return forged() };
    let proves = |token: &str| bool::from(token.as_bytes().ct_eq(waiting.token.as_bytes()));
    if !form.get("token").is_some_and(proves) || !cookie(request).is_some_and(|token| proves(&token)) {
        return forged();
    }
    let now = service.clock().now();
    let state = waiting.state.as_deref();
    match form.get("decision") {
        Some("allow") => {
            let key = form.get("account").unwrap_or_default().trim();
            let tenant = keys::credential(key, &service.state().key_book)
                .map(|credential| credential.tenant.into_owned());
            let Some(tenant) = tenant else {
                let rule = "An account of the sandbox is an API key: it starts with sb_ or re_.";
                return ask(waiting, client, name, key, Some(rule));
            };
            let Some(decided) = service.oauth().decide(name, now) else { return gone() };
            let code = format!("sb_code_{}", service.next_secret().simple());
            service.oauth().keep_code(&code, decided, tenant, now);
            after_form(back(&waiting.redirect_uri, &[("code", &code)], state))
        }
        Some("deny") => {
            if service.oauth().decide(name, now).is_none() {
                return gone();
            }
            let answer = [("error", "access_denied"), ("error_description", "The person said no.")];
            after_form(back(&waiting.redirect_uri, &answer, state))
        }
        _ => ask(waiting, client, name, form.get("account").unwrap_or(USUAL_KEY), Some("Allow or deny?")),
    }
}

/// A redirect after a form: 303, so that no browser sends the form on.
fn after_form(mut response: Response<Bytes>) -> Response<Bytes> {
    if response.status() == StatusCode::FOUND {
        *response.status_mut() = StatusCode::SEE_OTHER;
    }
    response
}

fn cookie(request: &HttpRequest<Bytes>) -> Option<String> {
    let lines = request.headers().get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE).then(|| value.to_owned()))
}

fn ask(
    waiting: &Request,
    client: &OAuthClient,
    name: &str,
    key: &str,
    wrong: Option<&str>,
) -> Response<Bytes> {
    let who = escaped(&client.name);
    let scopes: Vec<_> = waiting.scopes.iter().map(|scope| in_words(scope)).collect();
    let scopes = scopes.join("</li><li>");
    let wrong =
        wrong.map(|text| format!("<p class=wrong role=alert>{}</p>", escaped(text))).unwrap_or_default();
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let body = format!(
        "<h1><b>{who}</b> asks for access</h1>\
         <p>If you allow it, it can:</p><ul><li>{scopes}</li></ul>{wrong}\
         <form method=post>\
         <input type=hidden name=token value=\"{}\">\
         <label for=account>Account</label>\
         <input id=account name=account value=\"{}\" autocomplete=off autocapitalize=off spellcheck=false required maxlength=256>\
         <p class=note>A sandbox has an account for each API key. Access is given to this one only.</p>\
         <div class=choice><button name=decision value=allow class=allow>Allow</button>\
         <button name=decision value=deny formnovalidate>Deny</button></div></form>\
         <p class=note>Either way you go back to <b>{}</b>. You can take the access back at any time.</p>",
        waiting.token,
        escaped(key),
        escaped(&whereto(&waiting.redirect_uri)),
    );
    let mut response = page(status, "Allow access?", &body, Some(&waiting.redirect_uri));
    let cookie =
        format!("{COOKIE}={}; Path=/_/consent/{name}; HttpOnly; SameSite=Strict; Max-Age=600", waiting.token);
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// What a scope allows, in words.
fn in_words(scope: &str) -> &'static str {
    match scope {
        "emails:send" => "<b>send emails</b> and broadcasts in your name, and read nothing",
        _ => {
            "<b>do everything</b>: send and read emails, and change contacts, domains, templates, webhooks and keys"
        }
    }
}

/// Where the browser goes back to, as a person reads it.
fn whereto(redirect: &str) -> String {
    match Url::parse(redirect) {
        Ok(url) if super::clients::is_loopback(&url) => "a program on this computer".to_owned(),
        Ok(url) => {
            url.host_str().map_or_else(|| format!("the program behind {}:", url.scheme()), str::to_owned)
        }
        Err(_) => redirect.to_owned(),
    }
}

fn gone() -> Response<Bytes> {
    let body = "<h1>This request is over</h1><p>It was decided already, it is older than ten minutes, or there never was one. \
                Go back to the program and begin again.</p>";
    page(StatusCode::NOT_FOUND, "Request is over", body, None)
}

fn forged() -> Response<Bytes> {
    let body = "<h1>Nothing was decided</h1><p>This form was not filled in on the page that it belongs to, or the browser keeps no \
                cookies. Go back and try again.</p>";
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
    // Browsers hold a form to this rule also where its answer redirects to, so the client's address is in it.
    let target = redirect.and_then(|redirect| Url::parse(redirect).ok()).map(|url| match url.scheme() {
        "http" | "https" => url.origin().ascii_serialization(),
        scheme => format!("{scheme}:"),
    });
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' {}",
        target.unwrap_or_default()
    );
    if let Ok(policy) = HeaderValue::try_from(policy.trim_end()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
