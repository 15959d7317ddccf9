//! `GET /usage`, and the quotas of emails per day and month.

use http::Method;
use idempost_reference_server::{ClockStart, Settings};
use serde_json::{Value, json};

use crate::support::{Answer, KEY, Sandbox, email, email_with};

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
    assert_eq!((answer.status.as_u16(), answer.name()), (429, name.to_owned()), "{}", answer.text());
}

fn to(count: usize) -> Value {
    (0..count).map(|n| json!(format!("user{n}@example.com"))).collect()
}

#[test]
fn a_fresh_account_has_used_nothing() {
    let sandbox = Sandbox::with(&Settings { rate_limit: Some(10), keep_records: 50, ..Settings::default() });
    let period = |limit: Value, resets_at: &str| json!({ "used": 0, "limit": limit, "sent": 0, "received": 0, "resets_at": resets_at });
    assert_eq!(
        usage(&sandbox),
        json!({
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
        })
    );
    // Any key may ask.
    assert_eq!(sandbox.ask(Method::GET, "/usage").key("sb_test_sending").send("").status, 200);
    assert_eq!(sandbox.ask(Method::GET, "/usage").no_key().send("").status, 401);
}

#[test]
fn every_recipient_and_every_received_email_counts() {
    let sandbox = with_quotas(Some(100), Some(1_000));
    let mut all = email_with("to", to(3));
    all["cc"] = json!(["c@example.com"]);
    all["bcc"] = json!("b@example.com");
    let answer = sandbox.post("/emails", &all);
    assert_eq!(announced(&answer), (Some("5"), Some("5")));
    let answer = sandbox.post("/emails/batch", &json!([email(), email_with("to", to(2))]));
    assert_eq!(announced(&answer), (Some("8"), Some("8")));
    // A scheduled email counts at once, and a canceled one stays counted.
    let id = sandbox.sent(&email_with("scheduled_at", "2026-03-02T13:00:00Z"));
    assert_eq!(sandbox.post(&format!("/emails/{id}/cancel"), &json!({})).status, 200);
    // So does one that is suppressed.
    sandbox.post("/suppressions", &json!({ "email": "no@example.com" }));
    sandbox.sent(&email_with("to", "no@example.com"));
    sandbox.service.receive(KEY, &["support@acme.test"], "From: a@b.test\r\nSubject: s\r\n\r\nx").unwrap();
    let emails = &usage(&sandbox)["emails"];
    assert_eq!(
        emails["daily"],
        json!({ "used": 11, "limit": 100, "sent": 10, "received": 1, "resets_at": "2026-03-03T00:00:00.000Z" })
    );
    assert_eq!((&emails["monthly"]["used"], &emails["monthly"]["limit"]), (&json!(11), &json!(1_000)));
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
    assert_eq!((sandbox.mails().len(), used(&sandbox)), (before, (3, 3)));
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
    assert_eq!(sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email()).status, 200);
}

#[test]
fn a_replayed_send_counts_once_and_a_rejected_one_can_be_repeated() {
    let sandbox = with_quotas(Some(2), None);
    let send = |key: &str| sandbox.ask(Method::POST, "/emails").header("idempotency-key", key).json(&email());
    assert_eq!(announced(&send("a")), (Some("1"), Some("1")));
    assert_eq!((send("a").status.as_u16(), used(&sandbox)), (200, (1, 1)));
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
    let post = |path: &str, body: Value| {
        let answer = sandbox.post(path, &body);
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
        answer.json()["id"].clone()
    };
    let segment = post("/segments", json!({ "name": "All" }));
    let contact = post("/contacts", json!({ "email": "ada@example.com", "segments": [{ "id": segment }] }));
    post(
        "/broadcasts",
        json!({ "segment_id": segment, "from": "hi@acme.test", "subject": "s", "text": "x", "send": true }),
    );
    assert_eq!((sandbox.mails().len(), used(&sandbox)), (1, (0, 0)));
    let template = post(
        "/templates",
        json!({ "name": "t", "alias": "welcome", "from": "hi@acme.test", "subject": "s", "html": "<p>x</p>" }),
    );
    post(&format!("/templates/{}/publish", template.as_str().unwrap()), json!({}));
    let steps = json!([
        { "key": "start", "type": "trigger", "config": { "event_name": "user.created" } },
        { "key": "greet", "type": "send_email", "config": { "template": { "id": "welcome", "variables": {} } } },
    ]);
    let automation = post(
        "/automations",
        json!({ "name": "a", "status": "enabled", "steps": steps,
        "connections": [{ "from": "start", "to": "greet" }] }),
    );
    let event = json!({ "event": "user.created", "contact_id": contact });
    for _ in 0..2 {
        assert_eq!(sandbox.post("/events/send", &event).status, 202);
    }
    let runs = sandbox.get(format!("/automations/{}/runs", automation.as_str().unwrap())).json();
    let statuses: Vec<_> = runs["data"].as_array().unwrap().iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses, ["failed", "completed"]);
    let shown = usage(&sandbox);
    assert_eq!((used(&sandbox), &shown["automation_runs"]["used"]), ((1, 1), &json!(2)));
    for (kind, count) in [("contacts", 1), ("segments", 1), ("broadcasts", 1), ("domains", 0)] {
        assert_eq!(shown[kind]["used"], count, "{kind}");
    }
}

#[test]
fn usage_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let noon = "2026-03-02T12:00:00Z".parse().unwrap();
    let settings =
        || Settings { daily_quota: Some(3), clock: ClockStart::Frozen(noon), ..Settings::default() };
    let open = || {
        let (service, persistence) =
            idempost_sandbox::persistence::open(folder.path(), settings(), |_| {}).unwrap();
        (Sandbox::over(service), persistence)
    };
    let (sandbox, persistence) = open();
    sandbox.sent(&email_with("to", to(2)));
    crate::restarts::close(sandbox, persistence);
    let (sandbox, persistence) = open();
    assert_eq!(used(&sandbox), (2, 2));
    sandbox.sent(&email());
    exceeded(&sandbox.post("/emails", &email()), "daily_quota_exceeded");
    crate::restarts::close(sandbox, persistence);
}
