//! Answers that most resources give in the same form: what was made, changed or deleted, by its id.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use crate::problem::json;

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
