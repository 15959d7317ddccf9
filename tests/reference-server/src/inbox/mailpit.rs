//! Mailpit's API under `/api/v1`, so that test helpers written for it work with the sandbox unchanged. Its messages are an account's captured
//! and received mails together, newest first.
//!
//! Mailpit knows no accounts: a request without an API key is for the account that the inbox page shows by default. A key names another one: as
//! a bearer token, as `?key=`, or as the user or password of HTTP Basic authentication, which its clients support. Responses have Mailpit's
//! shapes, and errors are plain text, as there.
//!
//! | file | contents |
//! |---|---|
//! | `routes`, `call` | the route table; a request as handlers receive it |
//! | `summary` | what lists, details and events show of a message |
//! | `messages` | lists, searches, marks, deletions, and statistics |
//! | `message` | one message: its details, headers, source and parts |
//! | `send` | `POST /api/v1/send` |
//! | `events` | the events of `/api/events`, a websocket |

mod call;
pub(crate) mod events;
mod message;
mod messages;
mod routes;
mod send;
mod summary;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::Value;

use crate::inbox::access::{self, Access};
use crate::inbox::account;
use crate::state::State;
use crate::state::keys;
use crate::wire::problem::{self, Problem};

/// The path of the websocket, without its leading slashes.
const EVENTS: &str = "api/events";

/// Whether a path is one of Mailpit's. Like there, it may begin with several slashes, as those of `cypress-mailpit` do.
pub(super) fn is_at(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    ["api/v1/", "view/"].iter().any(|start| path.starts_with(start))
        || [EVENTS, "livez", "readyz"].contains(&path)
}

/// The access that a request requires.
pub(super) fn access(method: &Method, path: &str) -> Access {
    routes::find(method, path).map_or(Access::Account, |route| route.access)
}

/// Handles a request.
pub(super) fn answer(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let (method, path) = (request.method(), request.uri().path());
    match routes::find(method, path) {
        Ok(route) => route.answer(state, request).unwrap_or_else(|problem| refused(&problem)),
        Err(allowed) if allowed.is_empty() => text(StatusCode::NOT_FOUND, "404 page not found"),
        Err(allowed) => {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
            if let Ok(allowed) = HeaderValue::try_from(allowed.join(", ")) {
                response.headers_mut().insert(header::ALLOW, allowed);
            }
            response
        }
    }
}

/// The name of the account that a request is for.
fn account(state: &State, request: &Request<Bytes>) -> Result<String, Problem> {
    named(state, request).unwrap_or_else(|| Ok(state.default_account()))
}

/// The name of the account that a request names, if it names one.
pub(super) fn named(state: &State, request: &Request<Bytes>) -> Option<Result<String, Problem>> {
    if access::query_key(request).is_some() || account::bearer(request.headers()).is_some() {
        return Some(access::name_or_query(state, request));
    }
    let (user, password) = basic(request.headers())?;
    let find = |key: &str| {
        let credential = keys::credential(key, &state.tenants.api_key_index)?;
        Some(access::full(state, credential))
    };
    find(&user).or_else(|| find(&password))
}

/// The user and password of Basic authentication.
fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let (scheme, encoded) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let decoded = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()))?.ok()?;
    let (user, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

fn text(status: StatusCode, message: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::copy_from_slice(message.as_bytes()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn ok() -> Response<Bytes> {
    text(StatusCode::OK, "ok")
}

fn json(value: &Value) -> Response<Bytes> {
    problem::json(StatusCode::OK, value)
}

/// Mailpit has 400 for all invalid requests.
fn refused(problem: &Problem) -> Response<Bytes> {
    match problem.status {
        StatusCode::UNPROCESSABLE_ENTITY => text(StatusCode::BAD_REQUEST, &problem.message),
        status => text(status, &problem.message),
    }
}

/// Whether a request is the handshake of a websocket.
pub(crate) fn is_handshake(request: &Request<Bytes>) -> bool {
    request.method() == Method::GET && request.uri().path().trim_start_matches('/') == EVENTS
}
