//! The client, the contract and the service must agree on whether an input is valid.

mod automations;
mod domains;
mod topics;

use http::{HeaderMap, HeaderValue, Method};
use idempost::{Attachment, Client, Email, body::BodyPart};
use idempost_conformance::contract::{Contract, Request};
use idempost_reference_server::{Service, Settings};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde::Serialize;

const TEXTS: [&str; 16] = [
    "", " ", "x", "a b", "a_1", "A-b", "é", "🦀", "a\tb", "a\r\nb", "a\u{7f}", "a\0", "a\u{85}b", "a:b",
    "EMAIL", "<a>",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(&TEXTS[..]).prop_map(str::to_owned),
        1 => select(&[50, 51, 256, 257, 2_000, 2_001][..]).prop_map(|length| "x".repeat(length)),
        1 => any::<String>(),
    ]
}

fn address() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just("ada@example.com".to_owned()),
        4 => Just("Ada Lovelace <ada@example.com>".to_owned()),
        1 => text(),
        1 => text().prop_map(|name| format!("{name} <ada@example.com>")),
        1 => text().prop_map(|local| format!("{local}@example.com")),
    ]
}

fn attachment() -> impl Strategy<Value = Attachment> {
    let source = prop_oneof![
        2 => text().prop_map(|name| Attachment::from_bytes(name, "bytes")),
        1 => select(&["https://x.test/a.pdf", "ftp://x.test", "file:///x", "a b"][..]).prop_map(Attachment::from_url),
    ];
    (source, option::weighted(0.3, text()), option::weighted(0.3, text())).prop_map(
        |(attachment, id, kind)| {
            let attachment = id.into_iter().fold(attachment, Attachment::content_id);
            if kind.is_some() { attachment.content_type("application/x-own") } else { attachment }
        },
    )
}

prop_compose! {
    fn email()(
        from in address(),
        to in vec(address(), 0..3),
        many in any::<prop::sample::Index>(),
        subject in text(),
        html in option::of(text()),
        plain in option::of(text()),
        cc in vec(address(), 0..2),
        tags in vec((text(), text()), 0..2),
        headers in vec((text(), text()), 0..2),
        attachments in vec(attachment(), 0..2),
    ) -> Email {
        let to = if many.index(8) == 0 { vec!["ada@example.com".to_owned(); 49 + many.index(3)] } else { to };
        let email = Email::new(from, to, subject);
        let email = html.into_iter().fold(email, Email::html);
        let email = plain.into_iter().fold(email, Email::text);
        let email = cc.into_iter().fold(email, Email::cc);
        let email = tags.into_iter().fold(email, |email, (name, value)| email.tag(name, value));
        let email = headers.into_iter().fold(email, |email, (name, value)| email.header(name, value));
        attachments.into_iter().fold(email, Email::attach)
    }
}

/// Returns the request that a client would send, valid or not.
fn request(client: &Client, email: &Email) -> Request {
    let preview = client.emails().send(email).skip_validation().preview().unwrap();
    let mut headers: HeaderMap = preview.headers().clone();
    headers.insert("authorization", HeaderValue::from_static("Bearer sb_test"));
    let mut body = Vec::new();
    for part in preview.body_parts() {
        match part {
            BodyPart::Text(text) => body.extend_from_slice(&text),
            // All attachments with content contain "bytes".
            _ => body.extend_from_slice(b"Ynl0ZXM="),
        }
    }
    Request { method: Method::POST, path: "/emails".into(), query: String::new(), headers, body: body.into() }
}

/// The response of a fresh service.
fn answer(request: &Request) -> http::Response<bytes::Bytes> {
    let mut asked = http::Request::post(request.path.as_str()).body(request.body.clone()).unwrap();
    asked.headers_mut().clone_from(&request.headers);
    Service::new(Settings::default()).handle(asked)
}

/// Whether this input satisfies the contract, whether the service accepts it, and why not.
fn judged(path: &str, input: &impl Serialize) -> (bool, bool, String) {
    let headers = [("authorization", "Bearer sb_test"), ("content-type", "application/json")];
    let headers = headers.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
    let request = Request {
        method: Method::POST,
        path: path.to_owned(),
        query: String::new(),
        headers: HeaderMap::from_iter(headers),
        body: serde_json::to_vec(input).unwrap().into(),
    };
    let breaches = Contract::get().breaches_of_request(&request);
    let answer = answer(&request);
    let details = format!("{breaches:?}; {}", String::from_utf8_lossy(answer.body()));
    (breaches.is_empty(), answer.status().is_success(), details)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn validation_contract_and_service_agree(email in email()) {
        let client = Client::new("http://127.0.0.1:1", "sb_test").unwrap();
        let request = request(&client, &email);
        let checked = email.check();
        let breaches = Contract::get().breaches_of_request(&request);
        let answer = answer(&request);
        let accepted = answer.status().is_success();
        prop_assert!(checked.is_err() || breaches.is_empty(), "the client accepts: {breaches:?}");
        // Only the service decides whether the text before an address is another address or a name.
        let several = checked.as_ref().err().is_some_and(|problems| problems.to_string().contains("a single address"));
        prop_assert!(!accepted || checked.is_ok() || several, "the service accepts what the client rejects: {checked:?}");
        prop_assert!(!accepted || breaches.is_empty(), "the service accepts what violates the contract: {breaches:?}");
        // Only the service decides whether an address or a media type is valid.
        let message = String::from_utf8_lossy(answer.body());
        let grammar = message.contains("is neither `email` nor") || message.contains("has a name") || message.contains("more than one");
        // The same applies to the syntax of a mail header.
        let length = message.contains("header names of at most") || message.contains("content_id` must have at most");
        prop_assert!(accepted || checked.is_err() || grammar || length, "the service rejects what the client accepts: {message}");
    }
}
