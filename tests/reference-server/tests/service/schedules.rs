//! Rescheduling and canceling scheduled emails.

use serde_json::json;

use crate::support::{Answer, Sandbox, email, email_with};

fn reschedule(sandbox: &Sandbox, id: &str, to: &str) -> Answer {
    sandbox.patch(format!("/emails/{id}"), &json!({ "scheduled_at": to }))
}

fn cancel(sandbox: &Sandbox, id: &str) -> Answer {
    sandbox.act(format!("/emails/{id}/cancel"))
}

fn refused(answer: &Answer, event: &str) {
    answer.rejected(403, "validation_error", &format!("`{event}`"));
}

#[test]
fn a_postponed_email_is_sent_at_the_new_time_only() {
    // EMAIL-14, SENT-10
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let answer = reschedule(&sandbox, &id, "2026-03-02T15:00:00Z");
    assert_eq!(answer.expect_status(200).json(), json!({ "object": "email", "id": id }));
    sandbox.advance(3_600);
    assert!(sandbox.mails().is_empty());
    let record = sandbox.record(&id);
    assert_eq!(record["scheduled_at"], "2026-03-02 15:00:00.000000+00");
    assert_eq!(record["last_event"], "scheduled");
    sandbox.advance(7_199);
    assert!(sandbox.mails().is_empty());
    sandbox.advance(1);
    assert_eq!(sandbox.mail().captured_at.to_string(), "2026-03-02T15:00:00Z");
    sandbox.advance(86_400);
    sandbox.mail();
}

#[test]
fn an_email_moved_earlier_is_sent_once() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "in 2 hours"));
    assert_eq!(reschedule(&sandbox, &id, "in 1 min").status, 200);
    sandbox.advance(60);
    assert_eq!(sandbox.mail().email_id, id);
    sandbox.advance(86_400);
    assert_eq!(sandbox.mail().captured_at.to_string(), "2026-03-02T12:01:00Z");
    assert_eq!(sandbox.last_event(&id), "delivered");
}

#[test]
fn sent_08_an_email_that_is_sent_after_the_clock_was_set_back_is_no_longer_scheduled() {
    // SENT-08
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    sandbox.post("/_/clock", &json!({"set": "2026-03-01"})).expect_status(200);
    reschedule(&sandbox, &id, "in 1 min").expect_status(200);
    sandbox.advance(60);
    assert_eq!(sandbox.last_event(&id), "sent");
    sandbox.advance(1);
    assert_eq!(sandbox.last_event(&id), "delivered");
}

#[test]
fn a_canceled_email_is_never_sent() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let answer = cancel(&sandbox, &id);
    assert_eq!(answer.expect_status(200).json(), json!({ "object": "email", "id": id }));
    assert_eq!(sandbox.last_event(&id), "canceled");
    sandbox.advance(86_400);
    assert!(sandbox.mails().is_empty());
    assert_eq!(
        cancel(&sandbox, &id).json(),
        json!({ "object": "email", "id": id }),
        "canceling again succeeds"
    );
    refused(&reschedule(&sandbox, &id, "in 1 hour"), "canceled");
    assert_eq!(sandbox.last_event(&id), "canceled");
}

#[test]
fn a_sent_or_unscheduled_email_cannot_be_rescheduled() {
    let sandbox = Sandbox::new();
    let scheduled = sandbox.sent(&email_with("scheduled_at", "in 1 min"));
    sandbox.advance(60);
    let at_once = sandbox.sent(&email());
    for id in [&scheduled, &at_once] {
        refused(&cancel(&sandbox, id), "sent");
        refused(&reschedule(&sandbox, id, "in 1 hour"), "sent");
    }
    sandbox.advance(1);
    refused(&cancel(&sandbox, &at_once), "delivered");
    assert_eq!(sandbox.mails().len(), 2);
}

#[test]
fn an_invalid_time_changes_nothing() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let before = sandbox.record(&id);
    for (body, words) in [
        (json!({}), "Missing"),
        (json!({ "scheduled_at": null }), "Missing"),
        (json!({ "scheduled_at": 5 }), ""),
        (json!({ "scheduled_at": "" }), ""),
        (json!({ "scheduled_at": "someday" }), ""),
        (json!({ "scheduled_at": "2026-03-02T11:59:59Z" }), ""),
        (json!([]), ""),
    ] {
        sandbox.patch(format!("/emails/{id}"), &body).invalid(words);
    }
    assert_eq!(sandbox.record(&id), before);
    let change = json!({ "scheduled_at": "in 1 hour", "subject": "Other" });
    let ignored = sandbox.patch(format!("/emails/{id}"), &change);
    assert_eq!(ignored.header("x-sandbox-ignored-fields"), Some("/subject"));
    assert_eq!(sandbox.record(&id)["subject"], "Hello");
}

#[test]
fn other_tenants_emails_are_not_found() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let other = sandbox.account("sb_other");
    reschedule(&other, &id, "in 2 hours").expect_status(404);
    cancel(&other, &id).expect_status(404);
    assert_eq!(sandbox.last_event(&id), "scheduled");
}
