//! Authentication and permissions of API keys.

use http::Method;
use idempost_reference_server::{Service, Settings};
use serde_json::json;

use crate::support::{Answer, KEY, Sandbox, email};

#[test]
fn auth_02_a_request_without_a_key_is_rejected() {
    // AUTH-02
    let sandbox = Sandbox::new();
    for ask in [
        sandbox.ask(Method::GET, "/emails").no_key(),
        sandbox.ask(Method::GET, "/emails").no_key().header("authorization", "Bearer"),
        sandbox.ask(Method::GET, "/emails").no_key().header("authorization", "Basic c2JfdGVzdDo="),
        sandbox.ask(Method::GET, "/emails").no_key().header("authorization", "sb_test"),
    ] {
        let answer = ask.send("");
        answer.rejected(401, "missing_api_key", "Missing API key");
    }
}

#[test]
fn auth_03_a_request_with_an_unknown_key_is_rejected() {
    // AUTH-03
    let sandbox = Sandbox::new();
    let long = format!("sb_{}", "x".repeat(300));
    for key in ["x", "SB_test", "key_123", &long] {
        let answer = sandbox.ask(Method::GET, "/emails").key(key).send("");
        answer.rejected(403, "invalid_api_key", "The API key is invalid");
        assert!(!answer.text().contains(key), "a key is not echoed");
    }
}

#[test]
fn keys_of_both_formats_identify_separate_tenants() {
    // SENT-13
    let sandbox = Sandbox::new();
    for key in ["sb_one", "re_two"] {
        assert_eq!(sandbox.ask(Method::POST, "/emails").key(key).json(&email()).status, 200);
        assert_eq!(sandbox.service.mails(key).len(), 1);
        let list = sandbox.ask(Method::GET, "/emails").key(key).send("").json();
        assert_eq!(list["data"].as_array().unwrap().len(), 1);
    }
    assert!(sandbox.mails().is_empty());
}

#[test]
fn scope_01_a_sending_only_key_can_send() {
    // SCOPE-01, SCOPE-02, SCOPE-03, SCOPE-04 for API keys; `oauth/scopes.rs` has access tokens
    let sandbox = Sandbox::new();
    for path in ["/emails", "/email", "/emails/sending", "/email/sending"] {
        let answer = sandbox.ask(Method::POST, path).key("sb_test_sending").json(&email());
        assert_eq!(answer.status, 200, "{path}");
    }
    assert_eq!(sandbox.mails().len(), 4, "the tenant is named without the suffix");
}

/// Asks for every operation with an ID that names nothing, and returns how many there are.
fn ask_every_operation(sandbox: &Sandbox, key: &str, expect: impl Fn(&Method, &str, &Answer)) -> usize {
    let open: Vec<_> = Service::open_routes().collect();
    let operations: Vec<_> = Service::routes().filter(|route| !open.contains(route)).collect();
    for (method, route) in &operations {
        let id = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
        let path = route.split('/').map(|segment| if segment.starts_with('{') { id } else { segment });
        let path = path.collect::<Vec<_>>().join("/");
        expect(method, route, &sandbox.ask(method.clone(), path).key(key).send("{}"));
    }
    operations.len()
}

#[test]
fn scope_06_a_sending_only_key_can_do_nothing_else() {
    // SCOPE-06, SCOPE-07
    let sandbox = Sandbox::with(&Settings { beta: true, ..Settings::default() });
    let count = ask_every_operation(&sandbox, "sb_test_sending", |method, route, answer| {
        let allowed = match route {
            "/emails" | "/email" | "/emails/sending" | "/email/sending" => method == Method::POST,
            "/broadcasts/{broadcast_id}/send" | "/usage" => true,
            _ => false,
        };
        if allowed {
            assert_ne!(answer.status, 401, "{method} {route}");
        } else {
            answer.rejected(401, "restricted_api_key", "needs full access");
        }
    });
    assert!(count > 140, "{count} operations");
}

#[test]
fn scope_09_full_access_grants_every_operation() {
    // SCOPE-09
    let sandbox = Sandbox::with(&Settings { beta: true, ..Settings::default() });
    for path in ["/emails", "/email", "/emails/sending", "/email/sending"] {
        assert_eq!(sandbox.post(path, &email()).status, 200);
    }
    assert_eq!(sandbox.post("/emails/batch", &json!([email()])).status, 200);

    let granted = ask_every_operation(&sandbox, KEY, |method, route, answer| {
        let status = answer.status.as_u16();
        // The operation may fail for other reasons: most of these records don't exist.
        assert!(![401, 403, 405].contains(&status) && status < 500, "{method} {route}: {}", answer.text());
    });
    assert!(granted > 140, "{granted} operations");
}
