//! Requests to all routes of one sandbox, in a row.
//!
//! Each request is `METHOD PATH`, headers, an empty line, and a body up to a line `%%%`. In paths and bodies, `{id}` stands for the ID in the
//! last response that had one.

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use super::service::{KEY, Sandbox};
use crate::text;

/// The maximum number of requests per input.
const MAX_REQUESTS: usize = 12;

pub(crate) fn run(data: &[u8]) {
    let sandbox = Sandbox::new();
    let mut id = String::from("78261eea-8f8b-4381-83c6-79fa7120f1cf");
    let text = String::from_utf8_lossy(data);
    for one in text.split("\n%%%\n").take(MAX_REQUESTS) {
        let one = one.replace("{id}", &id);
        let (line, rest) = text::first_line(one.as_bytes());
        let (fields, body) = text::head(rest);
        let line = String::from_utf8_lossy(line);
        let (method, path) = line.split_once(' ').unwrap_or(("GET", &line));
        // The clock may be moved by years, which runs all jobs in between.
        if path.contains("clock") {
            continue;
        }
        let request =
            Request::builder().method(method).uri(path).header("authorization", format!("Bearer {KEY}"));
        let Ok(mut request) = request.body(Bytes::copy_from_slice(body)) else { continue };
        request.headers_mut().extend(text::headers(&fields));
        // A scripted fault has its own response.
        if path.starts_with("/_/faults") {
            sandbox.service.handle(request);
            continue;
        }
        let has_faults = sandbox.service.faults().pending() > 0;
        let response = if has_faults { sandbox.service.handle(request) } else { sandbox.send(request) };
        let is_json = response
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if is_json && !has_faults && !response.body().is_empty() {
            let json: Value = serde_json::from_slice(response.body()).expect("the response is JSON");
            if let Some(found) = json["id"].as_str().or_else(|| json["data"][0]["id"].as_str()) {
                found.clone_into(&mut id);
            }
            if response.status().is_client_error()
                && !path.starts_with("/oauth")
                && !path.trim_start_matches('/').starts_with("api/")
            {
                assert!(json["message"].is_string(), "{method} {path}: an error without a message: {json}");
            }
        }
    }
}
