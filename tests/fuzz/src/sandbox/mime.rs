//! Received mails: their parts, and everything the sandbox shows of them.

use bytes::Bytes;
use http::StatusCode;
use idempost_sandbox::check;
use serde_json::Value;

use super::html;
use super::service::{KEY, Sandbox};

pub(crate) fn run(data: &[u8]) {
    let report = check::message(data);
    assert!(report.findings.iter().all(|finding| check::RULES.iter().any(|rule| rule.code == finding.code)));

    let sandbox = Sandbox::new();
    let raw = Bytes::copy_from_slice(data);
    let Ok(id) = sandbox.service.receive(KEY, &["ada@example.com"], raw.clone()) else { return };
    sandbox.json(&format!("/emails/receiving/{id}"));
    let path = format!("/_/received/{id}");
    let shown = sandbox.json(&format!("{path}/about"));
    html::check_extracted(&shown);
    sandbox.json(&format!("{path}/check"));
    sandbox.json(&format!("{path}/timeline"));
    assert_eq!(sandbox.get(&format!("{path}/download")), raw, "the message was changed");
    html::check_received(&sandbox, &path);
    sandbox.call("GET", &format!("{path}/text"), Bytes::new());

    // Every file that is listed can be loaded, with the size that is stated.
    let files = shown["files"].as_array().cloned().unwrap_or_default();
    for (index, file) in files.iter().enumerate().take(20) {
        let response = sandbox.call("GET", &format!("{path}/files/{index}"), Bytes::new());
        assert_eq!(response.status(), StatusCode::OK, "file {index} of {files:?}");
        assert_eq!(file["size"].as_u64(), Some(response.body().len() as u64), "file {index} of {files:?}");
    }
    let attachments = sandbox.json(&format!("/emails/receiving/{id}/attachments?limit=100"));
    assert!(attachments["data"].as_array().is_some());
    let listed = sandbox.json("/emails/receiving");
    assert_eq!(listed["data"][0]["id"], Value::from(id));
    for query in ["e", "-e", "has:attachment", "subject:a"] {
        sandbox.json(&format!("/_/received?query={query}"));
    }
}
