//! Answers that most resources give in the same form: what was made, changed or deleted, by its id.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde::Serialize;
use uuid::Uuid;

use crate::wire::paging::quoted;
use crate::wire::problem::{Problem, json};

/// A thing by its id.
#[derive(Serialize)]
pub(crate) struct Reference {
    object: &'static str,
    id: Uuid,
}

impl Reference {
    pub(crate) fn to(object: &'static str, id: Uuid) -> Self {
        Self { object, id }
    }
}

/// 201: this was made.
pub(crate) fn made(object: &'static str, id: Uuid) -> Response<Bytes> {
    json(StatusCode::CREATED, &Reference::to(object, id))
}

/// 200: this was meant.
pub(crate) fn reference(object: &'static str, id: Uuid) -> Response<Bytes> {
    json(StatusCode::OK, &Reference::to(object, id))
}

/// 200: this is gone.
pub(crate) fn deleted(object: &'static str, id: Uuid) -> Response<Bytes> {
    #[derive(Serialize)]
    struct Deletion {
        #[serde(flatten)]
        what: Reference,
        deleted: bool,
    }
    json(StatusCode::OK, &Deletion { what: Reference::to(object, id), deleted: true })
}

pub(crate) fn no_such_route(path: &str) -> Problem {
    Problem::not_found(format!("There is no route {}.", quoted(path)))
}

/// The answer to a known path with another method.
pub(crate) fn wrong_method(method: &Method, path: &str, allowed: &[&str]) -> Response<Bytes> {
    let message = format!("{} does not take {method}; it takes {}.", quoted(path), allowed.join(", "));
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
    let mut response = problem.into_response();
    if let Ok(allowed) = HeaderValue::try_from(allowed.join(", ")) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}
