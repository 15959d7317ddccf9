//! Mailpit's API under `/api/v1`, so that test helpers written for it work with the sandbox unchanged. Its messages are an account's captured
//! and received mails together, newest first.
//!
//! Mailpit knows no accounts: a request without an API key is for the account that the inbox page shows by default. A key names another one: as
//! a bearer token, as `?key=`, or as the user or password of HTTP Basic authentication, which its clients support. Responses have Mailpit's
//! shapes, and errors are plain text, as there.
//!
//! | file | contents |
//! |---|---|
//! | `routes` | the route table |
//! | `summary` | what lists, details and events show of a message |
//! | `messages` | lists, searches, marks, deletions, and statistics |
//! | `message` | one message: its details, headers, source and parts |
//! | `send` | `POST /api/v1/send` |
//! | `events`, `websocket` | the events of `/api/events`, a websocket |

mod events;
mod message;
mod messages;
pub(crate) mod routes;
mod send;
mod summary;
mod websocket;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use idempost_reference_server::wire::problem::{self, Problem};

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

/// Mailpit returns 400 for all invalid requests.
fn refused(Problem { status, message, .. }: Problem) -> Response<Bytes> {
    match status {
        StatusCode::UNPROCESSABLE_ENTITY => text(StatusCode::BAD_REQUEST, &message),
        status => text(status, &message),
    }
}
