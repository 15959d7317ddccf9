//! The HTML of a mail: the isolated document, the text derived from it, its check, and its one-time codes and links.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::inert;
use super::service::{KEY, Sandbox};

pub(crate) fn run(data: &[u8]) {
    let html = String::from_utf8_lossy(data);
    let sandbox = Sandbox::new();
    let Some(document) = check(&sandbox, &html) else { return };
    // A document from which the sandbox has removed what it removes has nothing left to remove.
    let own = beginning(&sandbox);
    let once = document.replacen(&own, "", 1);
    if let Some(again) = check(&sandbox, &once) {
        let twice = again.replacen(&own, "", 1);
        assert_eq!(twice, once, "sanitizing isn't idempotent");
    }
}

/// What the document of every mail begins with.
pub(crate) fn beginning(sandbox: &Sandbox) -> String {
    let id = sent(sandbox, "x").expect("the email is valid");
    let document = sandbox.get(&format!("/_/messages/{id}/html"));
    let document = String::from_utf8_lossy(&document);
    document.strip_suffix('x').expect("the document ends with the HTML").to_owned()
}

/// Sends an email with this HTML, and returns the ID of its mail.
fn sent(sandbox: &Sandbox, html: &str) -> Option<String> {
    let email =
        json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Your code", "html": html});
    let response = sandbox.call("POST", "/emails", email.to_string().into());
    if response.status() != StatusCode::OK {
        return None;
    }
    sandbox.service.mails(KEY).first().map(|mail| mail.id.clone())
}

fn check(sandbox: &Sandbox, html: &str) -> Option<String> {
    let id = sent(sandbox, html)?;
    let path = format!("/_/messages/{id}");
    let document =
        String::from_utf8(sandbox.get(&format!("{path}/html")).to_vec()).expect("a document is text");
    inert::check(&document, &beginning(sandbox));
    let inverted = sandbox.get(&format!("{path}/html?colors=inverted"));
    assert!(inverted.len() > document.len());
    let shown = sandbox.json(&format!("{path}/about"));
    check_extracted(&shown);
    check_report(&sandbox.json(&format!("{path}/check")), html);
    let text = sandbox.get(&format!("{path}/text"));
    assert!(std::str::from_utf8(&text).is_ok());
    Some(document)
}

/// At most 10 codes of 4 to 8 characters and 1,000 links to web pages.
pub(crate) fn check_extracted(shown: &Value) {
    let list = |name: &str| shown[name].as_array().cloned().unwrap_or_default();
    let codes = list("codes");
    assert!(codes.len() <= 10);
    for code in &codes {
        let code = code.as_str().unwrap_or_default();
        assert!((4..=12).contains(&code.len()), "{code:?} is no code");
        assert!(code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{code:?} is no code");
    }
    let links = list("links");
    assert!(links.len() <= 1_000);
    for link in &links {
        let target = link["url"].as_str().unwrap_or_default();
        let lower = target.to_ascii_lowercase();
        assert!(lower.starts_with("http://") || lower.starts_with("https://"), "{target:?} is no link");
    }
}

/// Every place of a finding exists in the HTML.
pub(crate) fn check_report(report: &Value, html: &str) {
    // A carriage return ends a line in HTML, too.
    let html = html.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<_> = html.split('\n').collect();
    for finding in report["findings"].as_array().into_iter().flatten() {
        let places = finding["places"].as_array().cloned().unwrap_or_default();
        assert!(places.len() <= 10 && finding["count"].as_u64() >= Some(places.len() as u64), "{finding}");
        for place in places.iter().filter(|place| place["part"] == "html") {
            let (Some(line), Some(column)) = (place["line"].as_u64(), place["column"].as_u64()) else {
                continue;
            };
            let line = usize::try_from(line).ok().and_then(|line| lines.get(line.checked_sub(1)?));
            let width = line.map(|line| line.chars().count() as u64);
            assert!(
                width.is_some_and(|width| (1..=width + 1).contains(&column)),
                "{place} isn't in {html:?}"
            );
        }
    }
}

/// The same for the HTML of a received mail, if it has any.
pub(crate) fn check_received(sandbox: &Sandbox, path: &str) {
    let response = sandbox.call("GET", &format!("{path}/html"), Bytes::new());
    if response.status() == StatusCode::OK {
        let document = String::from_utf8(response.body().to_vec()).expect("a document is text");
        inert::check(&document, &beginning(sandbox));
    }
}
