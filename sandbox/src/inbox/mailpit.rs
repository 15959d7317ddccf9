//! Mailpit's API under `/api/v1`, so that test helpers written for Mailpit work with the sandbox unchanged. Its messages are an account's captured
//! and received mails together, newest first.
//!
//! Mailpit has no accounts: a request without an API key is for the account that the inbox page shows by default. A key selects another account. It
//! can be a bearer token, `?key=`, or the user or password of HTTP Basic authentication, which Mailpit's clients support. As in Mailpit, responses
//! have its format, and errors are plain text.
//!
//! | file | contents |
//! |---|---|
//! | `routes` | the route table |
//! | `summary` | a message in lists, details and events |
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
use http::{Response, StatusCode, header};
use serde_json::Value;

use idempost_reference_server::wire::problem::{self, Problem, response_with};

fn text(status: StatusCode, message: &str) -> Response<Bytes> {
    let content_type = (header::CONTENT_TYPE, "text/plain; charset=utf-8");
    let mut response = response_with(message.to_owned(), [content_type]);
    *response.status_mut() = status;
    response
}

fn ok() -> Response<Bytes> {
    text(StatusCode::OK, "ok")
}

fn json(value: &Value) -> Response<Bytes> {
    problem::json(StatusCode::OK, value)
}

/// Converts an error. Mailpit returns 400 for all invalid requests.
fn error_response(Problem { status, message, .. }: Problem) -> Response<Bytes> {
    match status {
        StatusCode::UNPROCESSABLE_ENTITY => text(StatusCode::BAD_REQUEST, &message),
        status => text(status, &message),
    }
}
