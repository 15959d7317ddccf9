//! Emails as JSON: what the client reads, writes and validates, compared with what the sandbox accepts.

use bytes::Bytes;
use http::StatusCode;
use idempost::{BatchEmail, Email, problem::Problems};
use serde_json::Value;

use crate::sandbox::service::Sandbox;

pub(crate) fn run(data: &[u8]) {
    let Ok(json) = serde_json::from_slice::<Value>(data) else { return };
    let (email, read) = Email::read(&json);
    if let Err(problems) = &read {
        check_pointers(problems, &json);
    }
    let checked = email.check();
    if read.is_ok() && checked.is_ok() {
        let written = serde_json::to_value(&email).expect("no attachment is a file");
        let (again, read_again) = Email::read(&written);
        assert!(read_again.is_ok(), "{written} can't be read: {read_again:?}");
        assert_eq!(serde_json::to_value(&again).ok(), Some(written));
    }
    if let Value::Array(items) = &json {
        let (emails, _) = BatchEmail::read_all(items);
        assert_eq!(emails.len(), items.len());
        let _ = idempost::emails::check_batch(&emails);
    }
    // Rejecting what the service accepts is worse than the opposite.
    let sandbox = Sandbox::new();
    let response = sandbox.call("POST", "/emails", Bytes::copy_from_slice(data));
    let is_complete = response.headers().get("x-sandbox-ignored-fields").is_none();
    if response.status() == StatusCode::OK && is_complete {
        assert!(read.is_ok(), "accepted by the service, unreadable for the client: {read:?}");
        assert!(checked.is_ok(), "accepted by the service, rejected by the client: {checked:?}");
    }
}

/// Every problem names a place in the JSON, or one that is missing in a value that exists.
fn check_pointers(problems: &Problems, json: &Value) {
    for problem in problems.iter() {
        let pointer = problem.path.as_str();
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        assert!(json.pointer(parent).is_some(), "{pointer} is no place in {json}");
    }
}
