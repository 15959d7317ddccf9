//! A sandbox that runs for days does not grow without end.

use http::Method;
use posthaste_reference_server::Settings;
use serde_json::{Value, json};

use crate::support::{Sandbox, email, email_with};

#[test]
fn the_oldest_emails_go_first_over_all_tenants() {
    let sandbox = Sandbox::with(&Settings { keep_mails: 3, ..Settings::default() });
    let first = sandbox.sent(&email());
    let second = sandbox.sent(&email());
    for _ in 0..2 {
        sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email());
    }
    assert_eq!(sandbox.get(format!("/emails/{first}")).status, 404);
    assert_eq!(sandbox.get(format!("/emails/{second}")).status, 200);
    assert_eq!(sandbox.mails().len(), 1, "its mail went with it");
    assert_eq!(sandbox.service.mails("sb_other").len(), 2);
}

#[test]
fn large_emails_go_when_they_are_too_large_together() {
    let sandbox = Sandbox::with(&Settings { keep_mail_bytes: 3_000_000, ..Settings::default() });
    let large = email_with("attachments", json!([{"content": "A".repeat(1_000_000)}]));
    for _ in 0..5 {
        sandbox.sent(&large);
    }
    assert_eq!(sandbox.mails().len(), 2);
    assert_eq!(sandbox.get("/emails").json()["data"].as_array().unwrap().len(), 2);
}

#[test]
fn a_scheduled_email_that_was_forgotten_never_leaves() {
    let sandbox = Sandbox::with(&Settings { keep_mails: 1, ..Settings::default() });
    sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let kept = sandbox.sent(&email());
    sandbox.advance(7_200);
    assert_eq!(sandbox.mail().email_id, kept);
}

#[test]
fn the_request_log_is_bounded_in_number_and_bytes() {
    let sandbox =
        Sandbox::with(&Settings { keep_requests: 5, keep_request_bytes: 1_000, ..Settings::default() });
    for _ in 0..8 {
        sandbox.get("/emails");
    }
    assert_eq!(sandbox.service.requests().len(), 5);
    assert_eq!(sandbox.get("/logs").json()["data"].as_array().unwrap().len(), 5);

    sandbox.post("/emails", &email_with("text", "x".repeat(2_000)));
    let requests = sandbox.service.requests();
    let last = requests.last().unwrap();
    assert!(last.bodies_dropped && last.body.is_empty(), "larger than all that is kept");
    let bytes: usize = requests.iter().map(|one| one.body.len() + one.answer_body.len()).sum();
    assert!(bytes <= 1_000);
}

#[test]
fn the_tenant_that_was_silent_longest_goes_first() {
    let sandbox = Sandbox::with(&Settings { keep_tenants: 2, ..Settings::default() });
    let send = |key: &str| sandbox.ask(Method::POST, "/emails").key(key).json(&email()).status;
    send("sb_a");
    send("sb_b");
    send("sb_a");
    send("sb_c");
    assert_eq!(sandbox.service.mails("sb_a").len(), 2);
    assert_eq!(sandbox.service.mails("sb_b").len(), 0);
    assert_eq!(sandbox.service.mails("sb_c").len(), 1);
}

#[test]
fn a_reset_forgets_everything() {
    let sandbox = Sandbox::new();
    let email: Value = email_with("scheduled_at", "in 1 hour");
    sandbox.sent(&email);
    sandbox.service.reset();
    sandbox.advance(7_200);
    assert!(sandbox.mails().is_empty());
    assert_eq!(sandbox.get("/emails").json()["data"], json!([]));
}
