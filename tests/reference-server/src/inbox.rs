//! The sandbox's inbox: local control routes under `/_/`.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::problem;
use crate::routes::no_such_route;
use crate::service::Service;

/// Whether a path belongs to the sandbox itself, not to the service.
pub(crate) fn is_control(path: &str) -> bool {
    path == "/_" || path.starts_with("/_/")
}

pub(crate) fn answer(_service: &Service, request: &Request<Bytes>) -> Response<Bytes> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/_/ready") => problem::json(StatusCode::OK, &json!({"ready": true})),
        (_, path) => no_such_route(path).into_response(),
    }
}
