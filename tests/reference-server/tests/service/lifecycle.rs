//! The lifecycle of an accepted email, on the test's clock.

use serde_json::json;

use crate::support::{Sandbox, email_with};

#[test]
fn sent_08_last_event_advances_with_the_clock() {
    // SENT-08, SENT-09
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("to", "opened@example.com"));
    assert_eq!(sandbox.last_event(&id), "sent");
    sandbox.advance(1);
    assert_eq!(sandbox.last_event(&id), "delivered");
    sandbox.advance(1);
    assert_eq!(sandbox.last_event(&id), "opened");
}

#[test]
fn the_recipient_s_local_part_selects_the_simulated_outcome() {
    for (to, seconds, last, leaves) in [
        ("ada@example.com", 100, "delivered", true),
        ("delivered@example.com", 100, "delivered", true),
        ("opened@a.test", 100, "opened", true),
        ("clicked+label@b.test", 100, "clicked", true),
        ("Bounced <bounced@c.test>", 100, "bounced", true),
        ("complained@d.test", 100, "complained", true),
        ("delayed@e.test", 1, "delivery_delayed", true),
        ("delayed@e.test", 100, "delivered", true),
        ("no-tls@e.test", 100, "delivered", true),
        ("suppressed@f.test", 0, "suppressed", false),
        ("failed+x+y@g.test", 0, "failed", false),
        ("undelivered@g.test", 1, "delivered", true),
    ] {
        let sandbox = Sandbox::new();
        let id = sandbox.sent(&email_with("to", to));
        sandbox.advance(seconds);
        assert_eq!(sandbox.last_event(&id), last, "{to} after {seconds} s");
        assert_eq!(sandbox.mails().len(), usize::from(leaves), "{to}");
    }
}

#[test]
fn a_bounce_recorded_before_the_simulated_delivery_replaces_it() {
    let sandbox = Sandbox::new();
    let bounced = sandbox.sent(&email_with("to", "ada@example.com"));
    sandbox.trigger(&bounced, "bounced", &json!({}));
    // A simulated bounce concerns only its own recipient.
    let mixed = sandbox.sent(&email_with("to", json!(["bounced@example.com", "delayed@example.com"])));
    sandbox.advance(100);
    assert_eq!(sandbox.last_event(&bounced), "bounced");
    assert_eq!(sandbox.last_event(&mixed), "delivered");
}

#[test]
fn an_event_recorded_before_the_simulated_delivery_includes_it() {
    for event in ["delivered", "opened", "clicked", "complained"] {
        let sandbox = Sandbox::new();
        let id = sandbox.sent(&email_with("to", "ada@example.com"));
        sandbox.trigger(&id, event, &json!({}));
        sandbox.advance(100);
        assert_eq!(sandbox.last_event(&id), event);
        assert_eq!(
            sandbox.get("/emails/metrics?metrics=delivered").json()["totals"]["delivered"],
            1,
            "{event}"
        );
    }
}

#[test]
fn an_email_is_delivered_to_its_reachable_recipients() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("to", json!(["failed@a.test", "ada@a.test", "suppressed@a.test"])));
    assert_eq!(sandbox.last_event(&id), "sent");
    assert_eq!(sandbox.mail().to, ["ada@a.test"]);
    assert_eq!(sandbox.record(&id)["to"].as_array().unwrap().len(), 3);
}

#[test]
fn email_14_an_email_scheduled_in_iso_8601_is_sent_when_due() {
    // EMAIL-14, SENT-10
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "2026-03-02T13:00:00.000Z"));
    let record = sandbox.record(&id);
    assert_eq!(record["scheduled_at"], "2026-03-02 13:00:00.000000+00");
    assert_eq!(record["last_event"], "scheduled");
    sandbox.advance(3_599);
    assert!(sandbox.mails().is_empty());
    sandbox.advance(1);
    assert_eq!(sandbox.mail().captured_at.to_string(), "2026-03-02T13:00:00Z");
    assert_eq!(sandbox.last_event(&id), "sent");
    sandbox.advance(1);
    assert_eq!(sandbox.last_event(&id), "delivered");
}

#[test]
fn email_15_an_email_scheduled_in_natural_language_is_sent_when_due() {
    // EMAIL-15
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("scheduled_at", "in 1 min"));
    sandbox.advance(59);
    assert!(sandbox.mails().is_empty());
    sandbox.advance(1);
    assert_eq!(sandbox.mail().email_id, id);
}

#[test]
fn due_work_skipped_by_one_advance_runs_in_order_at_its_own_time() {
    let sandbox = Sandbox::new();
    let late = sandbox.sent(&email_with("scheduled_at", "in 2 hours"));
    let early = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    sandbox.advance(86_400);
    let mails = sandbox.mails();
    assert_eq!([&mails[0].email_id, &mails[1].email_id], [&late, &early], "newest first");
    assert_eq!(mails[0].captured_at.to_string(), "2026-03-02T14:00:00Z");
    assert_eq!(sandbox.last_event(&late), "delivered");
    let mime = String::from_utf8_lossy(&mails[1].mime);
    assert!(mime.contains("Date: Mon, 2 Mar 2026 13:00:00 +0000\r\n"), "{mime}");
}

#[test]
fn invalid_and_past_schedules_are_rejected() {
    let sandbox = Sandbox::new();
    for (text, words) in [
        ("", "`scheduled_at` must be an ISO 8601"),
        ("whenever", "`scheduled_at` must be an ISO 8601"),
        ("2026-03-02T11:59:00Z", "`scheduled_at` must not be in the past"),
        ("2026-04-01T12:00:01Z", "`scheduled_at` must be at most 30 days ahead"),
        ("in 2 months", "`scheduled_at` must be at most 30 days ahead"),
    ] {
        sandbox.refused(&email_with("scheduled_at", text)).invalid(words);
    }
    for (text, status) in
        [("2026-03-31T12:00:00Z", 200), ("2026-04-01T12:00:00Z", 200), ("2026-04-02T12:00:00Z", 422)]
    {
        let answer = sandbox.post("/emails", &email_with("scheduled_at", text));
        assert_eq!(answer.status, status, "29, 30 or 31 days ahead: {text}");
    }
    let id = sandbox.sent(&email_with("scheduled_at", "in 30 days"));
    sandbox.patch(format!("/emails/{id}"), &json!({"scheduled_at": "in 31 days"})).invalid("");
    assert!(sandbox.refused(&email_with("scheduled_at", 5)).message().contains("must be a string"));
}

#[test]
fn a_listener_can_query_the_service_during_due_work() {
    let sandbox = Sandbox::new();
    let counts = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = std::sync::Arc::clone(&counts);
    let service = std::sync::Arc::downgrade(&sandbox.service);
    sandbox.service.on_captured(move |_| {
        noted.lock().unwrap().push(service.upgrade().unwrap().mails("sb_test").len());
    });
    sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    sandbox.sent(&email_with("subject", "at once"));
    sandbox.advance(3_600);
    assert_eq!(*counts.lock().unwrap(), [1, 2]);
}
