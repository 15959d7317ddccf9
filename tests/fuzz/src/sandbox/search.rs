//! Searches: the query language of the sandbox's lists, over a fixed set of mails.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::service::Sandbox;

pub(crate) fn run(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else { return };
    let sandbox = Sandbox::new();
    for (subject, text, html) in [
        ("Hello Ada", "It works: 4711", "<p>It <b>works</b></p>"),
        ("Müller's invoice", "\u{212a}elvin ß ſ İ", "<a href=https://acme.test>Pay</a>"),
        ("-subject: \"quoted\" \\", "to:ada has:attachment", "<!-- hidden -->"),
    ] {
        let email = json!({"from": "Acme <hi@acme.test>", "to": ["ada@example.com", "bob@b.test"], "subject": subject, "text": text,
            "html": html, "tags": [{"name": "kind", "value": "a"}], "attachments": [{"filename": "a.txt", "content": "YQ=="}]});
        let response = sandbox.call("POST", "/emails", email.to_string().into());
        assert_eq!(response.status(), StatusCode::OK);
    }
    let Some(found) = matching(&sandbox, query) else { return };
    let all = matching(&sandbox, "").expect("an empty query is valid");
    assert!(found.is_subset(&all));
    // Further terms restrict, and their order doesn't matter.
    if let Some(fewer) = matching(&sandbox, &format!("{query} ada")) {
        assert!(fewer.is_subset(&found), "{query:?}");
        if !query.trim_start().starts_with("ada") {
            assert_eq!(matching(&sandbox, &format!("ada {query}")), Some(fewer), "{query:?}");
        }
    }
    // A single term and its negation divide the mails.
    let is_term =
        !query.is_empty() && !query.contains(|char: char| char.is_whitespace() || char == '"' || char == '-');
    if is_term && let Some(others) = matching(&sandbox, &format!("-{query}")) {
        assert!(found.is_disjoint(&others), "{query:?}");
        assert_eq!(found.union(&others).count(), all.len(), "{query:?}");
    }
    // Mailpit's API reads its own language.
    let response =
        sandbox.call("GET", &format!("/api/v1/search?query={}", escaped(query)), bytes::Bytes::new());
    assert!(response.status() != StatusCode::NOT_FOUND, "Mailpit's API isn't served");
}

/// The IDs of the mails that match; `None` if the query is invalid, with the place of the fault.
fn matching(sandbox: &Sandbox, query: &str) -> Option<BTreeSet<String>> {
    let response = sandbox.call("GET", &format!("/_/messages?query={}", escaped(query)), bytes::Bytes::new());
    let json: Value = serde_json::from_slice(response.body()).expect("the response is JSON");
    if response.status() != StatusCode::OK {
        let message = json["message"].as_str().expect("an error has a message");
        if let Some((_, rest)) = message.split_once("`query`, character ") {
            let place =
                rest.split(':').next().and_then(|place| place.parse::<usize>().ok()).unwrap_or_default();
            assert!((1..=query.chars().count()).contains(&place), "{message} isn't in {query:?}");
        }
        return None;
    }
    let mails = json["data"].as_array().expect("the response is a list");
    Some(mails.iter().filter_map(|mail| mail["id"].as_str().map(str::to_owned)).collect())
}

fn escaped(query: &str) -> String {
    form_urlencoded::byte_serialize(query.as_bytes()).collect()
}
