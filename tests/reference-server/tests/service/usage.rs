//! `GET /usage`, and the quotas of emails per day and month.

use http::Method;
use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::support::{Answer, KEY, Sandbox, email, email_of, email_with, expect_fields_of};

const DAY: u64 = 24 * 3_600;

fn with_quotas(daily: Option<u64>, monthly: Option<u64>) -> Sandbox {
    Sandbox::with(&Settings { daily_quota: daily, monthly_quota: monthly, ..Settings::default() })
}

fn usage(sandbox: &Sandbox) -> Value {
    sandbox.get("/usage").expect_status(200).json()
}

/// The used emails of the day and of the month.
fn used(sandbox: &Sandbox) -> (u64, u64) {
    let emails = &usage(sandbox)["emails"];
    (emails["daily"]["used"].as_u64().unwrap(), emails["monthly"]["used"].as_u64().unwrap())
}

fn announced(answer: &Answer) -> (Option<&str>, Option<&str>) {
    (answer.header("x-resend-daily-quota"), answer.header("x-resend-monthly-quota"))
}

fn exceeded(answer: &Answer, name: &str) {
    answer.rejected(429, name, "");
}

fn to(count: usize) -> Value {
    (0..count).map(|n| json!(format!("user{n}@example.com"))).collect()
}

#[test]
fn a_fresh_account_has_used_nothing() {
    let sandbox = Sandbox::with(&Settings { rate_limit: Some(10), keep_records: 50, ..Settings::default() });
    let period = |limit: Value, resets_at: &str| json!({ "used": 0, "limit": limit, "sent": 0, "received": 0, "resets_at": resets_at });
    let expected = json!({
        "object": "usage",
        "emails": {
            "daily": period(Value::Null, "2026-03-03T00:00:00.000Z"),
            "monthly": period(json!(1_000_000_000), "2026-04-01T00:00:00.000Z"),
        },
        "contacts": { "used": 0, "limit": 50 },
        "segments": { "used": 0, "limit": 50 },
        "broadcasts": { "used": 0, "limit": null },
        "ai_credits": { "used": 0, "limit": 0, "next_increase_at": null },
        "automation_runs": { "used": 0, "limit": 1_000_000_000, "resets_at": "2026-04-01T00:00:00.000Z" },
        "domains": { "used": 0, "limit": 50 },
        "rate_limit": { "limit": 10, "duration": "1000ms" },
    });
    assert_eq!(usage(&sandbox), expected);
    // Any key may ask.
    sandbox.account("sb_test_sending").get("/usage").expect_status(200);
    assert_eq!(sandbox.visit("/usage").status, 401);
}

#[test]
fn every_recipient_and_every_received_email_counts() {
    let sandbox = with_quotas(Some(100), Some(1_000));
    let all = email_of(&json!({"to": to(3), "cc": ["c@example.com"], "bcc": "b@example.com"}));
    let answer = sandbox.post("/emails", &all);
    assert_eq!(announced(&answer), (Some("5"), Some("5")));
    let answer = sandbox.post("/emails/batch", &json!([email(), email_with("to", to(2))]));
    assert_eq!(announced(&answer), (Some("8"), Some("8")));
    // A scheduled email counts at once, and a canceled one stays counted.
    let id = sandbox.sent(&email_with("scheduled_at", "2026-03-02T13:00:00Z"));
    sandbox.act(format!("/emails/{id}/cancel")).expect_status(200);
    // So does one that is suppressed.
    sandbox.post("/suppressions", &json!({ "email": "no@example.com" }));
    sandbox.sent(&email_with("to", "no@example.com"));
    sandbox.service.receive(KEY, &["support@acme.test"], "From: a@b.test\r\nSubject: s\r\n\r\nx").unwrap();
    let emails = &usage(&sandbox)["emails"];
    let daily = json!({
        "used": 11, "limit": 100, "sent": 10, "received": 1, "resets_at": "2026-03-03T00:00:00.000Z",
    });
    assert_eq!(emails["daily"], daily);
    expect_fields_of(&json!({ "used": 11, "limit": 1_000 }), &emails["monthly"]);
    // Rejected requests and other operations neither count nor announce.
    let answer = sandbox.refused(&email_with("to", "nobody"));
    assert_eq!(announced(&answer), (None, None));
    assert_eq!(announced(&sandbox.get("/emails")), (None, None));
    assert_eq!(used(&sandbox), (11, 11));
}

#[test]
fn a_request_beyond_the_daily_quota_is_refused_as_a_whole() {
    let sandbox = with_quotas(Some(5), None);
    sandbox.sent(&email_with("to", to(3)));
    let before = sandbox.mails().len();
    let answer = sandbox.post("/emails", &email_with("to", to(3)));
    exceeded(&answer, "daily_quota_exceeded");
    assert_eq!(announced(&answer), (Some("3"), Some("3")));
    // Half a day is left.
    assert_eq!(answer.header("retry-after"), Some("43200"));
    assert!(answer.message().contains("quota of 5 emails"), "{}", answer.message());
    let answer = sandbox.post("/emails/batch", &json!([email(), email(), email()]));
    exceeded(&answer, "daily_quota_exceeded");
    assert_eq!(answer.header("retry-after"), Some("43200"));
    let permissive = sandbox.ask(Method::POST, "/emails/batch").header("x-batch-validation", "permissive");
    exceeded(&permissive.json(&json!([email(), email(), email()])), "daily_quota_exceeded");
    assert_eq!(sandbox.mails().len(), before);
    assert_eq!(used(&sandbox), (3, 3));
    // What fits is still accepted, to the last email.
    sandbox.sent(&email_with("to", to(2)));
    exceeded(&sandbox.post("/emails", &email()), "daily_quota_exceeded");
    // Received emails are never rejected.
    sandbox.service.receive(KEY, &["support@acme.test"], "From: a@b.test\r\nSubject: s\r\n\r\nx").unwrap();
    assert_eq!(used(&sandbox), (6, 6));
}

#[test]
fn quotas_reset_on_the_clock_of_the_sandbox() {
    let sandbox = with_quotas(Some(1), Some(2));
    sandbox.sent(&email());
    exceeded(&sandbox.post("/emails", &email()), "daily_quota_exceeded");
    sandbox.advance(DAY / 2 - 1);
    exceeded(&sandbox.post("/emails", &email()), "daily_quota_exceeded");
    sandbox.advance(1);
    assert_eq!(used(&sandbox), (0, 1));
    sandbox.sent(&email());
    sandbox.advance(DAY);
    let answer = sandbox.post("/emails", &email());
    exceeded(&answer, "monthly_quota_exceeded");
    // From the 4th of March to the 1st of April.
    assert_eq!(answer.header("retry-after"), Some((28 * DAY).to_string().as_str()));
    sandbox.advance(28 * DAY);
    assert_eq!(used(&sandbox), (0, 0));
    sandbox.sent(&email());
}

#[test]
fn each_account_has_quotas_of_its_own() {
    let sandbox = with_quotas(Some(1), None);
    sandbox.sent(&email());
    exceeded(&sandbox.post("/emails", &email()), "daily_quota_exceeded");
    sandbox.account("sb_other").sent(&email());
}

#[test]
fn a_replayed_send_counts_once_and_a_rejected_one_can_be_repeated() {
    let sandbox = with_quotas(Some(2), None);
    let send = |key: &str| sandbox.ask(Method::POST, "/emails").header("idempotency-key", key).json(&email());
    assert_eq!(announced(&send("a")), (Some("1"), Some("1")));
    send("a").expect_status(200);
    assert_eq!(used(&sandbox), (1, 1));
    sandbox.sent(&email());
    exceeded(&send("b"), "daily_quota_exceeded");
    sandbox.advance(DAY / 2);
    assert_eq!(send("b").status, 200);
}

#[test]
fn without_a_daily_quota_only_the_month_is_announced() {
    let sandbox = Sandbox::new();
    assert_eq!(announced(&sandbox.post("/emails", &email())), (None, Some("1")));
}

#[test]
fn broadcasts_do_not_count_and_automations_do() {
    let sandbox = with_quotas(Some(1), None);
    sandbox.broadcast("All", &["ada@example.com"]);
    assert_eq!(sandbox.mails().len(), 1);
    assert_eq!(used(&sandbox), (0, 0));
    sandbox.published(
        &json!({ "name": "t", "alias": "welcome", "from": "hi@acme.test", "subject": "s", "html": "<p>x</p>" }),
    );
    let steps = json!([
        { "key": "start", "type": "trigger", "config": { "event_name": "user.created" } },
        { "key": "greet", "type": "send_email", "config": { "template": { "id": "welcome", "variables": {} } } },
    ]);
    let connections = json!([{ "from": "start", "to": "greet" }]);
    let automation = json!({ "name": "a", "status": "enabled", "steps": steps, "connections": connections });
    let automation = sandbox.created("/automations", &automation);
    let event = json!({ "event": "user.created", "email": "ada@example.com" });
    for _ in 0..2 {
        sandbox.post("/events/send", &event).expect_status(202);
    }
    assert_eq!(sandbox.column(format!("/automations/{automation}/runs"), "status"), ["failed", "completed"]);
    assert_eq!(used(&sandbox), (1, 1));
    let shown = usage(&sandbox);
    for (kind, count) in
        [("automation_runs", 2), ("contacts", 1), ("segments", 1), ("broadcasts", 1), ("domains", 0)]
    {
        assert_eq!(shown[kind]["used"], count, "{kind}");
    }
}
