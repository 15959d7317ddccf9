//! Contact imports: a CSV file in a form.

use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use super::service::{KEY, Sandbox};

const BOUNDARY: &str = "a-boundary-that-no-file-contains";

pub(crate) fn run(data: &[u8]) {
    let sandbox = Sandbox::new();
    for property in [json!({"key": "city", "type": "string"}), json!({"key": "orders", "type": "number"})] {
        assert!(
            sandbox.call("POST", "/contact-properties", property.to_string().into()).status().is_success()
        );
    }
    // As a complete form, and as the file of one.
    let _ = import(&sandbox, data, BOUNDARY);
    let part = |name: &str, content: &[u8]| {
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"f.csv\"\r\n\r\n"
        );
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let end = format!("--{BOUNDARY}--\r\n");
    let Some(import) = import(&sandbox, &[part("file", data), end.into_bytes()].concat(), BOUNDARY) else {
        return;
    };
    assert_eq!(import["object"], "contact_import");
    let counts = &import["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap_or_default();
    let parts = ["created", "updated", "skipped", "failed"].map(count);
    assert_eq!(count("total"), parts.iter().sum::<u64>(), "{import}");
    let contacts = sandbox.json("/contacts?limit=100");
    let contacts = contacts["data"].as_array().map_or(0, Vec::len) as u64;
    assert!(contacts == count("created") || count("created") > 100, "{contacts} contacts: {import}");

    // The crate that applications use agrees about the number of rows.
    let complete = import["status"] == "completed";
    let text = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let rows = reader.byte_records().flatten().count();
    if complete && std::str::from_utf8(data).is_ok() {
        assert!(count("total") <= rows as u64, "{rows} rows: {import}");
    }
}

/// Imports a form, and returns the finished import.
fn import(sandbox: &Sandbox, form: &[u8], boundary: &str) -> Option<Value> {
    let request = Request::post("/contacts/imports")
        .header("authorization", format!("Bearer {KEY}"))
        .header("content-type", format!("multipart/form-data; boundary={boundary}"));
    let response = sandbox.send(request.body(Bytes::copy_from_slice(form)).expect("the request is valid"));
    if !matches!(response.status(), StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED) {
        return None;
    }
    let created: Value = serde_json::from_slice(response.body()).expect("the response is JSON");
    sandbox.call("POST", "/_/clock", json!({"advance": "1 hour"}).to_string().into());
    let id = created["id"].as_str().expect("an import has an ID");
    let import = sandbox.json(&format!("/contacts/imports/{id}"));
    assert!(import["status"] == "completed" || import["status"] == "failed", "{import}");
    Some(import)
}
