//! `GET /openapi.json` and `GET /openapi.yaml`: the contract, with this sandbox as its server.
//!
//! The file in `openapi/` is `openapi.yaml` as published, without `x-source`. A test in `tests/conformance` compares them,
//! and writes the file with `SNAPSHOTS=overwrite`. JSON is YAML too (YAML 1.2, 1.3), so both paths respond with the same text.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use serde_json::json;

use crate::state::State;
use crate::wire::answers::wrong_method;

/// One member of the document per line.
const DOCUMENT: &str = include_str!("openapi/openapi.json");
/// The address of a sandbox that chooses none.
const DEFAULT_ADDRESS: &str = "http://127.0.0.1:4010";
/// The beginning of the line with the servers.
const SERVERS: &str = "\n\"servers\":";

/// Whether a path is that of the contract.
pub(super) fn is_at(path: &str) -> bool {
    media_type(path).is_some()
}

fn media_type(path: &str) -> Option<&'static str> {
    match path.strip_prefix("/openapi.")? {
        "json" => Some("application/json; charset=utf-8"),
        "yaml" => Some("application/yaml; charset=utf-8"),
        _ => None,
    }
}

pub(super) fn answer(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let (method, path) = (request.method(), request.uri().path());
    if ![Method::GET, Method::HEAD].contains(method) {
        return wrong_method(method, path, &["GET", "HEAD"]);
    }
    let mut response = Response::new(served_at(&state.links.address()).into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(path).unwrap_or_default()));
    // Another version of the program may serve the same URL later.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The document with one server, whose address replaces the default one in links and examples.
fn served_at(address: &str) -> String {
    let servers = json!([{ "url": address, "description": "This sandbox." }]);
    let (before, after) = DOCUMENT.split_once(SERVERS).unwrap_or((DOCUMENT, ""));
    let (_, after) = after.split_once('\n').unwrap_or_default();
    let [before, after] = [before, after].map(|text| text.replace(DEFAULT_ADDRESS, address));
    format!("{before}{SERVERS}{servers},\n{after}")
}
