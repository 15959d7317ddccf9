//! Common responses: the ID of a created, changed or deleted resource.

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use crate::wire::described;
use crate::wire::paging::quote;
use crate::wire::problem::{Problem, json};

/// The response of a handler, or its error.
pub type HandlerResult = Result<Response<Bytes>, Problem>;

described! {
    /// A resource's type and ID.
    pub struct Reference {
        object: &'static str,
        id: Uuid,
    }
}

impl Reference {
    pub fn new(object: &'static str, id: Uuid) -> Self {
        Self { object, id }
    }
}

described! {
    /// The number of deleted records.
    pub struct DeletedCount {
        pub deleted: usize,
    }
}

/// 201: created.
pub fn created_response(object: &'static str, id: Uuid) -> Response<Bytes> {
    json(StatusCode::CREATED, &Reference::new(object, id))
}

/// 200: the resource that was changed.
pub fn reference(object: &'static str, id: Uuid) -> Response<Bytes> {
    json(StatusCode::OK, &Reference::new(object, id))
}

/// A deleted resource's type and ID.
#[derive(Serialize)]
pub struct Deletion {
    #[serde(flatten)]
    what: Reference,
    deleted: bool,
}

impl Deletion {
    pub fn new(object: &'static str, id: Uuid) -> Self {
        Self { what: Reference::new(object, id), deleted: true }
    }

    /// The response of a repeated deletion.
    pub(crate) fn already_deleted(self) -> Self {
        Self { deleted: false, ..self }
    }
}

/// 200: deleted.
pub fn deleted_response(object: &'static str, id: Uuid) -> Response<Bytes> {
    json(StatusCode::OK, &Deletion::new(object, id))
}

pub fn route_not_found(method: &Method, path: &str) -> Problem {
    Problem::not_found(format!("There is no route {method} {}.", quote(path)))
}
