//! Access control against web pages: the sandbox serves programs and its own page, never pages from other origins.
//!
//! Every browser of the user can reach a sandbox, and a tenant's key can be guessed. So the sandbox rejects two kinds of requests that only another
//! site's page sends:
//!
//! - requests under a **unknown host name** (`Host`). With DNS rebinding, a page's own name resolves to 127.0.0.1, so its browser treats
//!   the sandbox as the same origin, but the page can't hide the name. This applies to every route.
//! - requests **from another origin** under `/_/`, and a `POST` to a route that needs no key (`Sec-Fetch-Site`, or `Origin` from browsers
//!   that send only that; programs send neither). Other routes don't need this: they take the key in a header, for which a browser first
//!   sends a CORS preflight, and no response here ever allows it.
//!
//! Where JSON is required, forms and text are rejected too: browsers send those without a preflight. Compressed bodies are rejected everywhere. All
//! rules apply before any part of a body is read or counted.
//!
//! A sandbox that other machines can reach may also have a password ([`password`]).
//!
//! The service checks this, not a mount: all mounts share it, and the service knows its own addresses. A request without `Host` is
//! accepted: no browser sends one, but a test that calls the service without a socket does. (The HTTP mount rejects it in HTTP/1.1.)

pub mod password;

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};

use crate::route::{Access, Area, Body, RouteMatch};
use crate::state::State;
use crate::wire::{OAuthRejection, Problem, quote};

/// Rejects a request that only another origin's page would send, or that lacks the password.
pub fn reject(state: &State, request: &Request<Bytes>, found: &RouteMatch) -> Option<Response<Bytes>> {
    if found.access() == Access::Health {
        return None;
    }
    if let Some(host) = unknown_host(state, request) {
        return Some(unknown_name(&host).into_response());
    }
    reject_cross_origin(state, request, found)
        .or_else(|| password::reject_unauthenticated(state, request, found))
        .or_else(|| reject_compressed(request, found))
}

/// Rejects a request that a page of another origin sends.
fn reject_cross_origin(
    state: &State,
    request: &Request<Bytes>,
    found: &RouteMatch,
) -> Option<Response<Bytes>> {
    let is_post = request.method() == Method::POST;
    let is_guarded = match found.table.area {
        Area::Service => false,
        Area::OAuth => is_post,
        Area::Own => found.access() != Access::Link,
    };
    if !is_guarded {
        return None;
    }
    let takes_json =
        || found.route.as_ref().map_or(found.table.area == Area::Own, |route| route.body == Body::Json);
    let (status, name, message) = if is_foreign(state, request) {
        let rule = "This request came from a page of another origin; this route serves only the sandbox's own page and programs.";
        (StatusCode::FORBIDDEN, "forbidden_origin", rule.to_owned())
    } else {
        let other =
            if is_post && takes_json() { non_json_media_type(request.headers())? } else { return None };
        let rule = format!(
            "The header `content-type` must be `application/json`, or absent; found {}.",
            quote(&other)
        );
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", rule)
    };
    Some(rejection(found, status, name, message))
}

/// Rejects a compressed body.
fn reject_compressed(request: &Request<Bytes>, found: &RouteMatch) -> Option<Response<Bytes>> {
    let encoding = String::from_utf8_lossy(request.headers().get(header::CONTENT_ENCODING)?.as_bytes());
    if encoding.trim().is_empty() || encoding.trim().eq_ignore_ascii_case("identity") {
        return None;
    }
    let rule = format!("Bodies must not be compressed; found `content-encoding` {}.", quote(&encoding));
    Some(rejection(found, StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", rule))
}

fn rejection(found: &RouteMatch, status: StatusCode, name: &'static str, message: String) -> Response<Bytes> {
    if found.table.area == Area::OAuth {
        OAuthRejection { status, ..OAuthRejection::invalid_request(message) }.into_response()
    } else {
        Problem::new(status, name, message).into_response()
    }
}

/// The request's host name, if the service doesn't accept it.
fn unknown_host(state: &State, request: &Request<Bytes>) -> Option<String> {
    let names = state.links.names();
    let hosts = request.headers().get_all(header::HOST).iter();
    let other = hosts.map(|host| String::from_utf8_lossy(host.as_bytes())).find(|host| !names.accepts(host));
    let other = other.map(Cow::into_owned);
    let authority = || request.uri().authority().map(|authority| authority.as_str().to_owned());
    other.or_else(|| authority().filter(|authority| !names.accepts(authority)))
}

/// The media type of the body, if it isn't JSON.
fn non_json_media_type(headers: &HeaderMap) -> Option<String> {
    let found = String::from_utf8_lossy(headers.get(header::CONTENT_TYPE)?.as_bytes()).into_owned();
    let essence = found.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json =
        essence == "application/json" || essence.starts_with("application/") && essence.ends_with("+json");
    (!is_json).then_some(found)
}

fn unknown_name(host: &str) -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "forbidden_host",
        format!(
            "The header `host` must name this machine (localhost, a loopback address), the sandbox's public address, or a host that it allows (`--allow-host`); found {}.",
            quote(host)
        ),
    )
}

/// Whether the request comes from a page of another origin, and isn't a user's navigation to a page of the sandbox.
fn is_foreign(state: &State, request: &Request<Bytes>) -> bool {
    let headers = request.headers();
    let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
    match site {
        Some(b"same-origin" | b"none") => false,
        Some(_) => {
            let goes_there = headers.get(SEC_FETCH_MODE).is_some_and(|mode| mode == "navigate")
                && headers.get(SEC_FETCH_DEST).is_some_and(|dest| dest == "document");
            !(goes_there && request.method() == Method::GET)
        }
        None => headers.get(header::ORIGIN).is_some_and(|origin| !is_own(state, origin, headers)),
    }
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Whether an origin matches the request's host or the service's public address. (`null`, the origin of a sandboxed frame, matches neither.)
fn is_own(state: &State, origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let Some((origin, authority)) =
        origin.to_str().ok().and_then(|origin| Some((origin, origin.split_once("://")?.1)))
    else {
        return false;
    };
    headers.get(header::HOST).is_some_and(|host| host == authority)
        || state
            .links
            .address()
            .strip_prefix(origin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
