//! `Idempotency-Key` on `POST /emails` and `POST /emails/batch`.

use std::sync::mpsc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, email, email_with};

const PATHS: [&str; 2] = ["/emails", "/emails/batch"];

fn body(path: &str, subject: &str) -> Value {
    let email = email_with("subject", subject);
    if path == "/emails/batch" { json!([email]) } else { email }
}

fn post(sandbox: &Sandbox, path: &str, key: &str, subject: &str) -> Answer {
    sandbox.ask(Method::POST, path).header("idempotency-key", key).json(&body(path, subject))
}

#[test]
fn idem_07_a_repeated_request_returns_the_first_response_and_sends_nothing() {
    // IDEM-01, IDEM-07, IDEM-10
    for path in PATHS {
        let sandbox = Sandbox::new();
        let first = post(&sandbox, path, "k", "same");
        let again = post(&sandbox, path, "k", "same");
        assert_eq!(first.status, 200);
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        for name in ["idempotent-replayed", "x-sandbox-idempotent-replay"] {
            assert_eq!((first.header(name), again.header(name)), (None, Some("true")), "{name}");
        }
        assert_eq!(sandbox.mails().len(), 1);
    }
}

#[test]
fn email_02_without_a_key_every_request_sends() {
    // EMAIL-02
    let sandbox = Sandbox::new();
    assert_ne!(sandbox.sent(&email()), sandbox.sent(&email()));
    assert_eq!(sandbox.mails().len(), 2);
}

#[test]
fn idem_08_reusing_a_key_with_a_different_body_is_rejected() {
    // IDEM-08, IDEM-10
    for path in PATHS {
        let sandbox = Sandbox::new();
        post(&sandbox, path, "k", "one");
        post(&sandbox, path, "k", "two").rejected(409, "invalid_idempotent_request", "");
        assert_eq!(sandbox.mails().len(), 1);
    }
}

#[test]
fn keys_are_scoped_to_tenant_method_and_path() {
    let sandbox = Sandbox::new();
    assert_eq!(post(&sandbox, "/emails", "k", "x").status, 200);
    assert_eq!(post(&sandbox, "/emails/batch", "k", "x").status, 200);
    assert_eq!(post(&sandbox, "/email", "k", "y").status, 200, "an alias is another path");
    assert_eq!(post(&sandbox.account("sb_other"), "/emails", "k", "y").status, 200);
    let same = post(&sandbox.account("sb_test_sending"), "/emails", "k", "x");
    assert_eq!(same.header("x-sandbox-idempotent-replay"), Some("true"), "the same tenant");
}

#[test]
fn idem_04_a_key_expires_after_24_hours() {
    // IDEM-04, IDEM-10, LIM-05
    for path in PATHS {
        let sandbox = Sandbox::new();
        post(&sandbox, path, "k", "one");
        sandbox.advance(24 * 3600 - 1);
        assert_eq!(post(&sandbox, path, "k", "two").status, 409);
        sandbox.advance(1);
        assert_eq!(post(&sandbox, path, "k", "two").status, 200);
        assert_eq!(sandbox.mails().len(), 2);
        sandbox.advance(3600);
        assert_eq!(post(&sandbox, path, "k", "one").status, 409, "the key's second use starts a new day");
    }
}

#[test]
fn idem_02_a_key_has_1_to_256_characters() {
    // IDEM-02, IDEM-10, LIM-04
    for path in PATHS {
        for (key, status) in [
            (String::new(), 400),
            ("k".into(), 200),
            ("k".repeat(256), 200),
            ("ü".repeat(256), 200),
            ("k".repeat(257), 400),
        ] {
            let sandbox = Sandbox::new();
            let answer = post(&sandbox, path, &key, "x");
            assert_eq!(answer.status, status, "{}", answer.text());
            if status == 400 {
                assert_eq!(answer.name(), "invalid_idempotency_key");
                assert!(sandbox.mails().is_empty());
            }
        }
    }
}

#[test]
fn error_responses_are_not_cached() {
    let sandbox = Sandbox::new();
    let ask = || sandbox.ask(Method::POST, "/emails").header("idempotency-key", "k");
    assert_eq!(ask().json(&email_with("from", "nonsense")).status, 422);
    assert_eq!(ask().json(&email()).status, 200, "the key is unused");
}

#[test]
fn idem_09_a_concurrent_request_with_the_same_key_is_rejected() {
    // IDEM-09
    let sandbox = Sandbox::new();
    let (arrived, arrival) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    sandbox.service.on_captured(move |_| {
        arrived.send(()).unwrap();
        released.lock().unwrap().recv_timeout(Duration::from_mins(1)).unwrap();
    });
    std::thread::scope(|scope| {
        let first = scope.spawn(|| post(&sandbox, "/emails", "k", "x"));
        arrival.recv_timeout(Duration::from_mins(1)).unwrap();
        let second = post(&sandbox, "/emails", "k", "x");
        release.send(()).unwrap();
        second.rejected(409, "concurrent_idempotent_requests", "");
        assert_eq!(first.join().unwrap().status, 200);
    });
    assert_eq!(sandbox.mails().len(), 1);
}

#[test]
fn a_panic_releases_the_key() {
    let sandbox = Sandbox::new();
    let panics = std::sync::atomic::AtomicBool::new(true);
    sandbox.service.on_captured(move |_| {
        assert!(!panics.swap(false, std::sync::atomic::Ordering::Relaxed), "the listener panicked");
    });
    let first = post(&sandbox, "/emails", "k", "x");
    first.rejected(500, "application_error", "the listener panicked");
    assert_eq!(post(&sandbox, "/emails", "k", "x").status, 200);
}
