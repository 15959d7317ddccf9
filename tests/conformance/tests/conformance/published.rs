//! The published contract: `openapi.yaml` without `x-source`, which states the origin of a rule. A sandbox serves it, and a release contains it.

use std::{fmt::Write as _, fs};

use http::Method;
use idempost_conformance::contract::openapi;
use idempost_sandbox::Settings;
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sandbox/src/inbox/openapi/openapi.json");

/// The document without `x-source`.
fn published() -> Value {
    fn without(value: Value) -> Value {
        match value {
            Value::Object(members) => {
                let members = members.into_iter().filter(|(name, _)| name != "x-source");
                members.map(|(name, value)| (name, without(value))).collect()
            }
            Value::Array(items) => items.into_iter().map(without).collect(),
            other => other,
        }
    }
    without(openapi().clone())
}

/// JSON with a line for each member of the document, each path and each component, so that diffs are readable.
fn lines(document: &Value) -> String {
    fn write(text: &mut String, value: &Value, depth: usize) {
        match value {
            Value::Object(members) if depth > 0 && !members.is_empty() => {
                for (number, (name, value)) in members.iter().enumerate() {
                    let before = if number == 0 { "{\n" } else { ",\n" };
                    let _ = write!(text, "{before}{}:", json!(name));
                    let depth = match name.as_str() {
                        "info" | "servers" if depth == 3 => 0,
                        "paths" | "webhooks" if depth == 3 => 1,
                        _ => depth - 1,
                    };
                    write(text, value, depth);
                }
                text.push_str("\n}");
            }
            value => {
                let _ = write!(text, "{value}");
            }
        }
    }
    let mut text = String::new();
    write(&mut text, document, 3);
    text.push('\n');
    text
}

#[test]
fn the_server_contains_the_published_contract() {
    let expected = lines(&published());
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(FILE, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(FILE).unwrap() == expected,
        "{FILE} isn't openapi.yaml as published: SNAPSHOTS=overwrite cargo test -p idempost-conformance --test conformance published"
    );
}

#[cfg(unix)]
#[test]
fn a_release_contains_the_published_contract_as_yaml_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/release");
    let done = std::process::Command::new(script).arg("contract").arg(folder.path()).status().unwrap();
    assert!(done.success());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (yaml, json) = (read("openapi.yaml"), read("openapi.json"));
    assert!(yaml_serde::from_str::<Value>(&yaml).unwrap() == published());
    assert!(serde_json::from_str::<Value>(&json).unwrap() == published());
}

#[tokio::test]
async fn a_sandbox_serves_the_contract_with_its_own_address() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let text = published().to_string().replace("http://127.0.0.1:4010", server.base_url().as_str());
    let mut expected: Value = serde_json::from_str(&text).unwrap();
    expected["servers"] = json!([{"url": server.base_url(), "description": "This sandbox."}]);
    for (path, kind) in [("/openapi.json", "application/json"), ("/openapi.yaml", "application/yaml")] {
        let ask = |method: Method| {
            server
                .service()
                .handle(http::Request::builder().method(method).uri(path).body("".into()).unwrap())
        };
        let response = ask(Method::GET);
        assert_eq!((response.status().as_u16(), ask(Method::HEAD).status().as_u16()), (200, 200));
        assert_eq!(response.headers()["content-type"], format!("{kind}; charset=utf-8"));
        assert!(!response.headers().contains_key("access-control-allow-origin"));
        // JSON is YAML.
        let text = std::str::from_utf8(response.body()).unwrap();
        assert!(yaml_serde::from_str::<Value>(text).unwrap() == expected);
        assert!(serde_json::from_str::<Value>(text).unwrap() == expected);
        let rejected = ask(Method::DELETE);
        assert_eq!(
            (rejected.status().as_u16(), &rejected.headers()["allow"]),
            (405, &"GET, HEAD".parse().unwrap())
        );
    }
    assert_eq!(server.service().requests().len(), 0, "these are no API requests");
}

#[test]
fn the_contract_needs_no_credential_and_is_exempt_from_faults_and_limits() {
    use idempost_sandbox::faults::Action;
    let password = Some("correct-horse".to_owned().into());
    let service =
        idempost_sandbox::service(Settings { rate_limit: Some(1), password, ..Settings::default() });
    service.faults().add_once(Action::http_response(500, "{}"));
    for _ in 0..3 {
        let request = http::Request::get("/openapi.json").body("".into()).unwrap();
        assert_eq!(service.handle(request).status(), 200);
    }
}
