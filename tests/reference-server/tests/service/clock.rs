//! The clock over HTTP: `/_/clock`.

use idempost_reference_server::{Service, Settings};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{KEY, Sandbox, email_of, expect_fields_of};

fn change(sandbox: &Sandbox, body: &Value) -> Value {
    let answer = sandbox.post("/_/clock", body);
    assert_eq!(answer.status, 200, "{body} {}", answer.text());
    answer.json()
}

#[test]
fn a_frozen_clock_is_read_and_moved() {
    let sandbox = Sandbox::new();
    let shown = sandbox.get("/_/clock").json();
    expect_fields_of(&json!({ "object": "clock", "now": "2026-03-02T12:00:00.000Z" }), &shown);
    expect_fields_of(&json!({ "frozen": true, "scale": 1.0 }), &shown);
    assert_eq!(shown["all_accounts"], true);
    for (body, now) in [
        (json!({"advance": "1h"}), "2026-03-02T13:00:00.000Z"),
        (json!({"advance": "1 hour 30 minutes"}), "2026-03-02T14:30:00.000Z"),
        (json!({"advance": "2 days"}), "2026-03-04T14:30:00.000Z"),
        (json!({"advance": "90s"}), "2026-03-04T14:31:30.000Z"),
        (json!({"set": "2027-01-31"}), "2027-01-31T00:00:00.000Z"),
        (json!({"advance": "1 month"}), "2027-02-28T00:00:00.000Z"),
        (json!({"set": "2020-05-05T05:05:05+02:00"}), "2020-05-05T03:05:05.000Z"),
        (json!({"set": "2026-03-02T12:00:00"}), "2026-03-02T12:00:00.000Z"),
        (json!({"set": "2026-03-02T12:00:00Z", "freeze": true, "scale": 60}), "2026-03-02T12:00:00.000Z"),
    ] {
        assert_eq!(change(&sandbox, &body)["now"], now, "{body}");
        assert_eq!(sandbox.service.account_clock(KEY).now(), now.parse::<Timestamp>().unwrap());
    }
    assert_eq!(sandbox.get("/_/clock").json()["scale"], 60.0);
    sandbox.service.clock().advance(std::time::Duration::MAX);
    assert_eq!(sandbox.service.clock().now(), Timestamp::MAX);
}

#[test]
fn the_clock_runs_freezes_and_resets_to_system_time() {
    let sandbox = Sandbox::new();
    let running = change(&sandbox, &json!({"run": true}));
    assert_eq!(running["frozen"], false);
    assert!(running["ahead_seconds"].is_number());
    let stopped = change(&sandbox, &json!({"freeze": true}));
    assert_eq!(stopped["frozen"], true);
    assert_eq!(sandbox.get("/_/clock").json()["now"], stopped["now"]);
    let real = change(&sandbox, &json!({"set": "now", "run": true}));
    assert!(real["ahead_seconds"].as_f64().unwrap().abs() < 1.0, "{real}");
    let ahead = change(&sandbox, &json!({"advance": "1h"}));
    assert!((3_599.0..3_601.0).contains(&ahead["ahead_seconds"].as_f64().unwrap()), "{ahead}");
}

#[test]
fn a_scaled_clock_runs_faster_and_stays_monotonic() {
    let service = Service::new(Settings::default());
    let before = service.clock().now();
    service.clock().run_at(10_000.0);
    let began = std::time::Instant::now();
    while began.elapsed() < std::time::Duration::from_millis(20) {
        std::thread::yield_now();
    }
    let first = service.clock().now();
    assert!(first.duration_since(before).as_secs() >= 200, "{before} {first}");
    service.clock().freeze();
    let stopped = service.clock().now();
    assert!(stopped >= first);
    assert_eq!(service.clock().now(), stopped);
    assert!((service.clock().scale() - 10_000.0).abs() < f64::EPSILON, "freezing preserves the scale");
    service.clock().run_at(1.0);
    service.clock().resume();
    assert!(service.clock().now().duration_since(stopped).as_secs() < 60);
}

#[tokio::test]
async fn a_scaled_clock_sends_scheduled_emails_in_order() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let service = server.service();
    let now = service.clock().now();
    let (left, mut leaving) = tokio::sync::mpsc::unbounded_channel();
    service.on_captured(move |mail| left.send((mail.subject.clone(), mail.captured_at)).unwrap());
    for (subject, hours) in [("third", 3), ("first", 1), ("second", 2)] {
        let at = now + jiff::SignedDuration::from_hours(hours);
        let email = email_of(&json!({"subject": subject, "scheduled_at": at.to_string()}));
        let request = http::Request::post("/emails").header("authorization", "Bearer sb_test");
        assert_eq!(service.handle(request.body(email.to_string().into()).unwrap()).status(), 200);
    }
    service.clock().run_at(50_000.0);
    // No requests arrive meanwhile.
    for (subject, hours) in [("first", 1), ("second", 2), ("third", 3)] {
        let timeout = std::time::Duration::from_mins(1);
        let mail = tokio::time::timeout(timeout, leaving.recv()).await.unwrap().unwrap();
        let due = now + jiff::SignedDuration::from_hours(hours);
        assert_eq!((mail.0.as_str(), mail.1.as_second()), (subject, due.as_second()));
    }
}

#[test]
fn an_invalid_change_reports_every_problem_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let before = sandbox.service.clock().now();
    for (body, said) in [
        (json!({}), &["at least one of `set`, `advance`"][..]),
        (
            json!({"advance": "soon", "scale": 0, "tick": 1}),
            &["found \"soon\"", "`scale` must be", "found 0", "\"tick\" is not a field"],
        ),
        (json!({"advance": "-1h"}), &["`advance` must be a duration"]),
        (json!({"advance": "1h ago"}), &["`advance`"]),
        (json!({"advance": "0s"}), &["`advance`"]),
        (json!({"advance": "PT5M"}), &["`advance`"]),
        (json!({"advance": 5}), &["`advance` must be a string; found 5"]),
        (json!({"advance": "3000 years"}), &["a time from 1970 to 2999"]),
        (json!({"advance": "99999999999999999 hours"}), &["`advance`"]),
        (json!({"set": "yesterday"}), &["`set` must be a time such as"]),
        (json!({"set": "1969-12-31T23:59:59Z"}), &["a time from 1970 to 2999"]),
        (json!({"set": "3000-01-01"}), &["a time from 1970 to 2999"]),
        (json!({"set": "9999-12-31T23:59:59Z"}), &["`set` must result in a time from 1970 to 2999"]),
        (json!({"set": "9999-12-31"}), &["`set` must result in a time from 1970 to 2999"]),
        (json!({"set": "2026-01-01", "advance": "1h"}), &["Only one of `set` and `advance`"]),
        (json!({"freeze": true, "run": true}), &["Only one of `freeze` and `run`"]),
        (json!({"freeze": "yes"}), &["`freeze` must be a boolean"]),
        (json!({"scale": 100_001}), &["`scale`"]),
        (json!({"scale": "60"}), &["`scale` must be a number from 0.001 to 100000; found \"60\""]),
    ] {
        let answer = sandbox.post("/_/clock", &body);
        assert_eq!(answer.status, 422, "{body} {}", answer.text());
        for part in said {
            assert!(answer.text().replace("\\\"", "\"").contains(part), "{body}: {}", answer.text());
        }
    }
    assert_eq!(sandbox.service.account_clock(KEY).now(), before);
    assert_eq!(sandbox.delete("/_/clock").status, 405);
    assert_eq!(sandbox.visit("/_/clock").status, 401);
}

#[test]
fn responses_carry_the_date_of_a_moved_clock() {
    let sandbox = Sandbox::new();
    for path in ["/emails", "/_/clock"] {
        assert_eq!(sandbox.get(path).header("date"), Some("Mon, 02 Mar 2026 12:00:00 GMT"), "{path}");
    }
    sandbox.service.clock().set(jiff::Timestamp::now());
    sandbox.service.clock().resume();
    assert_eq!(sandbox.get("/emails").header("date"), None, "the mount adds it");
}

#[test]
fn an_unmoved_clock_is_zero_seconds_ahead_without_a_sign() {
    let service = Service::new(Settings::default());
    for _ in 0..20 {
        let request = http::Request::get("/_/clock").header("authorization", "Bearer sb_test");
        let shown = service.handle(request.body(bytes::Bytes::new()).unwrap());
        let text = String::from_utf8_lossy(shown.body()).into_owned();
        assert!(!text.contains("-0.0,"), "{text}");
    }
}
