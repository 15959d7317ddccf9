//! `GET /emails/metrics`: what is counted, in which range, and by which dimensions.

use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{KEY, Sandbox, UNKNOWN_ID, email_of, email_with, expect_fields_of};

fn metrics(sandbox: &Sandbox, query: &str) -> Value {
    let answer = sandbox.get(format!("/emails/metrics?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

/// The total of one metric.
fn total(sandbox: &Sandbox, metric: &str, query: &str) -> Value {
    metrics(sandbox, &format!("metrics={metric}&{query}"))["totals"][metric].clone()
}

fn rows(sandbox: &Sandbox, query: &str) -> Value {
    metrics(sandbox, query)["data"].clone()
}

/// Sends an email to this recipient and lets its simulated outcome pass.
fn sent(sandbox: &Sandbox, to: &str) -> String {
    let id = sandbox.sent(&email_with("to", to));
    sandbox.advance(100);
    id
}

fn refused(sandbox: &Sandbox, query: &str, part: &str) {
    sandbox.get(format!("/emails/metrics?{query}")).invalid(part);
}

#[test]
fn every_event_is_counted_once() {
    let sandbox = Sandbox::new();
    for to in ["ada", "opened", "clicked", "bounced", "complained", "delayed", "failed", "suppressed"] {
        sent(&sandbox, &format!("{to}@x.test"));
    }
    let shown = metrics(&sandbox, "");
    let totals = json!({
        "received": 8, "sent": 6, "delivered": 5, "delivery_delayed": 1, "failed": 1, "suppressed": 1,
        "bounced": 1, "bounced_transient": 0, "bounced_permanent": 1, "bounced_undetermined": 0,
        "opened": 2, "unique_opened": 2, "clicked": 1, "unique_clicked": 1, "complained": 1, "unsubscribed": 0,
        "delivery_rate": 83.3, "bounce_rate": 16.7, "open_rate": 40.0, "click_rate": 20.0, "complaint_rate": 20.0,
        "unsubscribe_rate": 0.0,
    });
    assert_eq!(shown["totals"], totals);
    let metrics = "received sent delivered delivery_delayed failed suppressed bounced bounced_transient bounced_permanent \
        bounced_undetermined opened unique_opened clicked unique_clicked complained unsubscribed delivery_rate \
        bounce_rate open_rate click_rate complaint_rate unsubscribe_rate";
    let metrics: Vec<_> = metrics.split_whitespace().collect();
    let described = json!({
        "object": "metrics", "metrics": metrics, "dimensions": [], "granularity": "daily", "start_date": "2026-02-24T00:00:00.000Z",
    });
    expect_fields_of(&described, &shown);
    assert_eq!(shown.get("data"), None);
    // All emails have one domain, so its row has the totals.
    let by_domain = rows(&sandbox, "dimensions=domain");
    assert_eq!(by_domain.as_array().unwrap().len(), 1);
    expect_fields_of(&totals, &by_domain[0]);
}

#[test]
fn a_scheduled_email_is_received_first_and_sent_when_due() {
    let sandbox = Sandbox::new();
    let scheduled = |when: &str| {
        let email = email_of(&json!({"to": "ada@example.com", "scheduled_at": when}));
        sandbox.sent(&email)
    };
    scheduled("in 2 days");
    let canceled = scheduled("in 1 day");
    sandbox.post(&format!("/emails/{canceled}/cancel"), &json!({}));
    let counts = || metrics(&sandbox, "metrics=received,sent,failed&start_date=2026-03-01")["totals"].clone();
    assert_eq!(counts(), json!({ "received": 2, "sent": 0, "failed": 0 }));
    sandbox.advance(3 * 86_400);
    assert_eq!(counts(), json!({ "received": 2, "sent": 1, "failed": 0 }));
    let days =
        rows(&sandbox, "metrics=received,sent&dimensions=period&start_date=2026-03-02&end_date=2026-03-04");
    let expected = json!([
        { "period": "2026-03-02", "received": 2, "sent": 0 },
        { "period": "2026-03-03", "received": 0, "sent": 0 },
        { "period": "2026-03-04", "received": 0, "sent": 1 },
    ]);
    assert_eq!(days, expected);
}

#[test]
fn repeated_opens_and_clicks_are_unique_once() {
    let sandbox = Sandbox::new();
    let id = sent(&sandbox, "ada@example.com");
    for kind in ["opened", "opened", "clicked", "opened", "clicked"] {
        sandbox.trigger(&id, kind, &json!({}));
        sandbox.advance(86_400);
    }
    let query = "metrics=opened,unique_opened,clicked,unique_clicked";
    assert_eq!(
        metrics(&sandbox, query)["totals"],
        json!({ "opened": 3, "unique_opened": 1, "clicked": 2, "unique_clicked": 1 })
    );
    // The first ones are those that are unique.
    let later = format!("{query}&start_date=2026-03-03");
    assert_eq!(
        metrics(&sandbox, &later)["totals"],
        json!({ "opened": 2, "unique_opened": 0, "clicked": 2, "unique_clicked": 1 })
    );
}

#[test]
fn bounces_are_counted_by_type() {
    let sandbox = Sandbox::new();
    let id = sent(&sandbox, "ada@example.com");
    for kind in ["Permanent", "Transient", "Transient", "Undetermined", "Other"] {
        sandbox.advance(1);
        sandbox.trigger(&id, "bounced", &json!({ "type": kind }));
    }
    let query = "metrics=bounced,bounced_permanent,bounced_transient,bounced_undetermined";
    let counts =
        json!({ "bounced": 5, "bounced_permanent": 2, "bounced_transient": 2, "bounced_undetermined": 1 });
    assert_eq!(metrics(&sandbox, query)["totals"], counts);
}

#[test]
fn the_unsubscribe_link_counts_for_its_email_and_broadcast() {
    let sandbox = Sandbox::new();
    let news = sandbox.broadcast("News", &["ada@x.test", "bob@x.test"]);
    let more = sandbox.broadcast("More", &["eve@x.test"]);
    let mails = sandbox.mails();
    let mail = mails.iter().find(|mail| mail.to == ["ada@x.test"]).unwrap();
    let html = mail.html.as_deref().unwrap();
    let link = html.split("href='").nth(2).unwrap().split('\'').next().unwrap();
    let path = &link[link.find("/_/").unwrap()..];
    for _ in 0..2 {
        sandbox.ask(http::Method::POST, path).no_key().send("List-Unsubscribe=One-Click").expect_status(200);
    }
    let shown = rows(&sandbox, "metrics=unsubscribed,unsubscribe_rate&dimensions=broadcast");
    let expected = json!([
        { "broadcast_id": more, "broadcast_name": "More", "unsubscribed": 0, "unsubscribe_rate": 0.0 },
        { "broadcast_id": news, "broadcast_name": "News", "unsubscribed": 1, "unsubscribe_rate": 50.0 },
    ]);
    assert_eq!(shown, expected);
    assert_eq!(
        rows(&sandbox, &format!("metrics=unsubscribed&dimensions=email&email_id={}", mail.email_id))[0]["unsubscribed"],
        1
    );
}

#[test]
fn every_email_of_a_large_broadcast_counts() {
    let sandbox = Sandbox::new();
    let addresses: Vec<_> = (0..1_001).map(|n| format!("n{n}@x.test")).collect();
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    let id = sandbox.broadcast("Large", &addresses);
    assert_eq!(total(&sandbox, "sent", &format!("broadcast_id={id}")), 1_001);
    assert_eq!(total(&sandbox, "sent", ""), 1_001);
}

#[test]
fn rows_are_divided_by_every_combination_of_dimensions() {
    let sandbox = Sandbox::new();
    let domain = sandbox.created("/domains", &json!({ "name": "acme.test" }));
    let news = sandbox.broadcast("News", &["opened@x.test", "bob@x.test"]);
    let single = sent(&sandbox, "ada@x.test");
    let other = email_of(&json!({"to": "ada@x.test", "from": "Other <a@Other.test>"}));
    let other = sandbox.sent(&other);
    sandbox.advance(86_400);
    let acme = json!({ "domain_id": domain, "domain_name": "acme.test" });
    let unregistered = json!({ "domain_id": null, "domain_name": "other.test" });
    let row = |parts: &[&Value]| {
        let fields = parts.iter().flat_map(|part| part.as_object().unwrap().clone());
        Value::Object(fields.collect())
    };
    let all = |query: &str| rows(&sandbox, &format!("metrics=sent&{query}"));
    assert_eq!(
        all("dimensions=domain"),
        json!([row(&[&acme, &json!({"sent": 3})]), row(&[&unregistered, &json!({"sent": 1})])])
    );
    let (in_news, outside) = (
        json!({ "broadcast_id": news, "broadcast_name": "News" }),
        json!({ "broadcast_id": null, "broadcast_name": null }),
    );
    let expected = json!([
        row(&[&in_news, &acme, &json!({"sent": 2})]),
        row(&[&outside, &acme, &json!({"sent": 1})]),
        row(&[&outside, &unregistered, &json!({"sent": 1})]),
    ]);
    assert_eq!(all("dimensions=broadcast,domain"), expected);
    // Repeated parameters are joined, too.
    let expected = json!([
        row(&[&json!({"period": "2026-03-02"}), &in_news, &json!({"sent": 2})]),
        row(&[&json!({"period": "2026-03-02"}), &outside, &json!({"sent": 2})]),
    ]);
    assert_eq!(all("dimensions=period&dimensions=broadcast"), expected);
    let by_email = all("dimensions=email,period");
    assert_eq!(by_email.as_array().unwrap().len(), 4);
    assert_eq!((&by_email[0]["email_id"], &by_email[1]["email_id"]), (&json!(other), &json!(single)));
    assert_eq!(total(&sandbox, "sent", &format!("domain_id={domain}")), 3);
    assert_eq!(total(&sandbox, "sent", &format!("domain_id={domain}&broadcast_id={news}")), 2);
    assert_eq!(total(&sandbox, "sent", &format!("email_id={single},{other}&email_id={single}")), 2);
    for unknown in ["domain_id", "email_id", "broadcast_id"] {
        assert_eq!(total(&sandbox, "sent", &format!("{unknown}={UNKNOWN_ID}")), 0);
    }
}

#[test]
fn periods_follow_granularity_and_time_zone() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        // At 12:00, 18:00 and 24:00 in UTC.
        sandbox.sent(&email_with("to", "ada@x.test"));
        sandbox.advance(6 * 3_600);
    }
    let of = |query: &str| {
        let rows =
            rows(&sandbox, &format!("metrics=received&dimensions=period&start_date=2026-03-02&{query}"));
        let rows = rows.as_array().unwrap().iter().filter(|row| row["received"] != 0);
        rows.map(|row| format!("{} {}", row["period"].as_str().unwrap(), row["received"])).collect::<Vec<_>>()
    };
    assert_eq!(of(""), ["2026-03-02 2", "2026-03-03 1"]);
    assert_eq!(of("timezone=Asia/Tokyo"), ["2026-03-02 1", "2026-03-03 2"]);
    assert_eq!(of("granularity=weekly"), ["2026-03-02 3"]);
    assert_eq!(of("granularity=monthly"), ["2026-03-01 3"]);
    assert_eq!(
        of("granularity=hourly&timezone=Asia/Kathmandu"),
        ["2026-03-02T17:00:00+05:45 1", "2026-03-02T23:00:00+05:45 1", "2026-03-03T05:00:00+05:45 1",]
    );
    // Without the dimension, neither has an effect.
    assert_eq!(total(&sandbox, "received", "granularity=hourly&start_date=1990-01-01"), 3);
}

#[test]
fn the_range_includes_both_ends() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("to", "ada@x.test"));
    let received =
        |start: &str, end: &str| total(&sandbox, "received", &format!("start_date={start}&end_date={end}"));
    assert_eq!(received("2026-03-02", "2026-03-02"), 1);
    assert_eq!(received("2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z"), 1);
    assert_eq!(received("2026-03-02T13:00:00%2B01:00", "2026-03-02"), 1);
    assert_eq!(received("2026-03-01", "2026-03-01"), 0);
    assert_eq!(received("2026-03-01", "2026-03-02T11:59:59.999Z"), 0);
    sandbox.advance(1);
    assert_eq!(received("2026-03-02T12:00:00.001Z", "2026-03-02T12:00:01Z"), 0);
    let ends = |query: &str| {
        let shown = metrics(&sandbox, query);
        [&shown["start_date"], &shown["end_date"]].map(|date| date.as_str().unwrap().to_owned())
    };
    // A future end is the current time.
    assert_eq!(ends("end_date=2030-01-01"), ["2026-02-24T00:00:00.000Z", "2026-03-02T12:00:01.000Z"]);
    assert_eq!(ends("end_date=2026-01-10"), ["2026-01-04T00:00:00.000Z", "2026-01-10T23:59:59.999Z"]);
}

#[test]
fn invalid_parameters_are_rejected_by_name() {
    let sandbox = Sandbox::new();
    let id = UNKNOWN_ID;
    let ids = |count: u32| {
        (0..count).map(|n| format!("00000000-0000-4000-8000-{n:012}")).collect::<Vec<_>>().join(",")
    };
    let wrong = [
        "",
        "yesterday",
        "2026-02-30",
        "2026-3-1",
        "20260301",
        "2026-03-01T25:00:00Z",
        "2026-W10-1",
        "1772366400",
    ];
    for wrong in wrong {
        for name in ["start_date", "end_date"] {
            refused(&sandbox, &format!("{name}={wrong}"), &format!("`{name}`"));
        }
    }
    refused(&sandbox, "start_date=2026-02-02&end_date=2026-02-01", "`start_date`");
    refused(&sandbox, "start_date=2026-03-03", "`start_date`");
    for wrong in ["", "Mars/Olympus", "../../etc/passwd", "+02:00"] {
        refused(&sandbox, &format!("timezone={wrong}"), "`timezone`");
    }
    refused(
        &sandbox,
        "granularity=yearly",
        "`granularity` must be one of `hourly`, `daily`, `weekly`, `monthly`",
    );
    for wrong in ["sent,", "Sent", "all", ""] {
        refused(&sandbox, &format!("metrics={wrong}"), "`metrics`");
        refused(&sandbox, &format!("dimensions={wrong}"), "`dimensions`");
    }
    for name in ["domain_id", "email_id", "broadcast_id"] {
        refused(&sandbox, &format!("{name}=x"), &format!("`{name}` must be one or more UUIDs"));
        refused(
            &sandbox,
            &format!("{name}={}", ids(101)),
            &format!("`{name}` must have at most 100 ids; found 101"),
        );
        assert_eq!(total(&sandbox, "sent", &format!("{name}={}", ids(100))), 0);
    }
    for (query, part) in [
        ("dimensions=email,broadcast".to_owned(), "`email` and `broadcast`"),
        (format!("email_id={id}&broadcast_id={id}"), "`email_id` and `broadcast_id`"),
        (format!("email_id={id}&dimensions=broadcast"), "`email_id`"),
        (format!("broadcast_id={id}&dimensions=email"), "`broadcast_id`"),
    ] {
        refused(&sandbox, &query, part);
    }
    refused(&sandbox, "dimensions=period&granularity=hourly&start_date=2024-01-01", "at most 10000 periods");
}

#[test]
fn evicted_emails_leave_the_metrics() {
    let sandbox = Sandbox::with(&Settings { keep_mails: 3, ..Settings::default() });
    for _ in 0..5 {
        let id = sent(&sandbox, "clicked@x.test");
        sandbox.trigger(&id, "opened", &json!({}));
    }
    let counts =
        |query: &str| metrics(&sandbox, &format!("metrics=received,opened,unique_opened,clicked{query}"));
    let left = json!({ "received": 3, "opened": 6, "unique_opened": 3, "clicked": 3 });
    assert_eq!(counts("")["totals"], left);
    assert_eq!(counts("&dimensions=email")["data"].as_array().unwrap().len(), 3);
    assert_eq!(sandbox.service.mails(KEY).len(), 3);
}

#[test]
fn metrics_survive_a_restart() {
    let mut sandbox = Restartable::new();
    let news = sandbox.broadcast("News", &["clicked@x.test", "bounced@x.test"]);
    let id = sent(&sandbox, "ada@x.test");
    sandbox.trigger(&id, "bounced", &json!({ "type": "Transient" }));
    let query = format!("dimensions=period,broadcast&broadcast_id={news}");
    let before = [metrics(&sandbox, ""), metrics(&sandbox, &query)];
    assert_eq!(before[0]["totals"]["bounced_transient"], 1);
    sandbox.restart();
    assert_eq!([metrics(&sandbox, ""), metrics(&sandbox, &query)], before);
    // Later events continue the counts.
    sandbox.trigger(&id, "opened", &json!({}));
    assert_eq!(total(&sandbox, "opened", ""), before[0]["totals"]["opened"].as_u64().unwrap() + 1);
}

#[test]
fn tenants_have_metrics_of_their_own() {
    let sandbox = Sandbox::new();
    sent(&sandbox, "ada@x.test");
    let other = sandbox.account("sb_other").get("/emails/metrics?metrics=received,delivery_rate");
    assert_eq!(other.json()["totals"], json!({ "received": 0, "delivery_rate": 0.0 }));
}
