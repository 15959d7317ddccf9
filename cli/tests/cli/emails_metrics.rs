//! `emails metrics`.

use serde_json::{Value, json};

use crate::service::Service;
use crate::support::SEND;

#[test]
fn totals_are_one_line_per_metric() {
    let service = Service::start();
    service.done(&SEND);
    service.done(&SEND);
    assert_eq!(service.done("emails metrics --metrics sent,open_rate"), "sent\t2\nopen_rate\t0.0");
    assert_eq!(service.done(&["emails", "metrics"]).lines().count(), 22);
    assert_eq!(service.done(&["emails", "metrics", "--jq", ".totals.received"]), "2");
    let document = service.run(&["emails", "metrics", "--metrics", "sent", "--json"]).json();
    assert_eq!((&document["object"], &document["totals"]), (&json!("metrics"), &json!({ "sent": 2 })));
}

#[test]
fn dimensions_are_rows() {
    let service = Service::start();
    // No new day begins.
    service.core().clock().freeze();
    service.done(&SEND);
    let today = service.run("emails metrics --json").json()["end_date"].as_str().unwrap()[..10].to_owned();
    let metrics = |arguments: &[&str]| service.done(&("emails metrics", arguments));
    assert_eq!(metrics(&["--dimensions", "domain", "--metrics", "received,sent"]), "acme.test\t1\t1");
    let by_day = metrics(&["--dimensions", "period", "--metrics", "sent", "-o", "tsv"]);
    let days: Vec<_> = by_day.lines().collect();
    assert_eq!((days.len(), *days.last().unwrap()), (7, format!("{today}\t1").as_str()));
    let columns = ["--dimensions", "period,domain", "--columns", "domain_id,domain_name,received"];
    assert_eq!(metrics(&columns), "\tacme.test\t1");
    let lines = metrics(&["--dimensions", "email", "--metrics", "sent", "-o", "ndjson"]);
    let row: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!((&row["sent"], row["email_id"].is_string()), (&json!(1), true));
    // Common metrics are the default columns.
    assert_eq!(metrics(&["--dimensions", "domain"]).split('\t').count(), 8);
}

#[test]
fn every_flag_is_a_parameter() {
    let service = Service::start();
    let id = "78261eea-8f8b-4381-83c6-79fa7120f1cf";
    let metrics = "emails metrics --start-date 2026-01-01 --end-date 2026-01-02T12:00:00Z --timezone Europe/Berlin \
         --granularity hourly --metrics sent --metrics opened --dimensions period,domain";
    service.done(&(&metrics, format!("--domain-id {id} --broadcast-id {id}")));
    let requests = service.requests();
    let query = requests.last().unwrap().query.clone().unwrap();
    for part in [
        "start_date=2026-01-01",
        "end_date=2026-01-02T12%3A00%3A00Z",
        "timezone=Europe%2FBerlin",
        "granularity=hourly",
        "metrics=sent%2Copened",
        "dimensions=period%2Cdomain",
        &format!("domain_id={id}"),
        &format!("broadcast_id={id}"),
    ] {
        assert!(query.split('&').any(|found| found == part), "{part}: {query}");
    }
    service.run(&["emails", "metrics", "--timezone", "Mars/Olympus"]).fails_with(3, &["timezone"]);
}

#[test]
fn an_empty_range_is_not_an_error() {
    let service = Service::start();
    let ran = service.run(&["emails", "metrics", "--dimensions", "domain"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.contains("no emails in this range"), "{ran:?}");
}
