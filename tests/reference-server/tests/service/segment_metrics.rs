//! `GET /segments/metrics`.

use http::Method;
use serde_json::{Value, json};

use crate::support::Sandbox;

fn contact(sandbox: &Sandbox, email: &str, unsubscribed: bool, segments: &[&String]) -> String {
    let segments: Vec<_> = segments.iter().map(|id| json!({ "id": id })).collect();
    sandbox
        .created("/contacts", &json!({ "email": email, "unsubscribed": unsubscribed, "segments": segments }))
}

fn metrics(sandbox: &Sandbox, query: &str) -> Value {
    let answer = sandbox.get(format!("/segments/metrics?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

/// The totals as all, subscribed and unsubscribed.
fn totals(sandbox: &Sandbox, query: &str) -> [u64; 3] {
    let totals = metrics(sandbox, query)["totals"].clone();
    ["all_contacts", "subscribers", "unsubscribers"].map(|name| totals[name].as_u64().unwrap())
}

#[test]
fn contacts_are_counted_in_total_and_by_segment() {
    let sandbox = Sandbox::new();
    let [old, new] = ["Old", "New"].map(|name| sandbox.created("/segments", &json!({ "name": name })));
    contact(&sandbox, "a@x.test", false, &[&old, &new]);
    contact(&sandbox, "b@x.test", true, &[&old, &new]);
    contact(&sandbox, "c@x.test", true, &[&old]);
    contact(&sandbox, "d@x.test", false, &[]);
    let expected = json!({
        "object": "metrics",
        "metrics": ["all_contacts", "subscribers", "unsubscribers"],
        "dimensions": ["segment"],
        "totals": { "all_contacts": 4, "subscribers": 2, "unsubscribers": 2 },
        "data": [
            { "id": new, "name": "New", "all_contacts": 2, "subscribers": 1, "unsubscribers": 1 },
            { "id": old, "name": "Old", "all_contacts": 3, "subscribers": 1, "unsubscribers": 2 },
        ],
    });
    assert_eq!(metrics(&sandbox, "dimensions=segment"), expected);
    let expected = json!({
        "object": "metrics", "metrics": ["subscribers"], "dimensions": [], "totals": { "subscribers": 2 },
    });
    assert_eq!(metrics(&sandbox, "metrics=subscribers"), expected);
    // A member of both counts once.
    assert_eq!(totals(&sandbox, &format!("segment_id={old},{new}")), [3, 1, 2]);
    assert_eq!(totals(&sandbox, &format!("segment_id={new}")), [2, 1, 1]);
    let filtered = metrics(&sandbox, &format!("segment_id={old}&dimensions=segment"));
    assert_eq!(filtered["data"].as_array().unwrap().len(), 1);
    assert_eq!(filtered["data"][0]["name"], "Old");
}

#[test]
fn counts_follow_every_change_of_a_contact() {
    let sandbox = Sandbox::new();
    let segment = sandbox.created("/segments", &json!({ "name": "s" }));
    let id = contact(&sandbox, "a@x.test", false, &[]);
    let of_segment = format!("segment_id={segment}");
    let both = || (totals(&sandbox, ""), totals(&sandbox, &of_segment));
    let member = format!("/contacts/{id}/segments/{segment}");
    let send = |method: Method, path: &str, body: &str| {
        let answer = sandbox.ask(method, path).send(body.to_owned());
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
    };
    let unsubscribed = |yes: bool| {
        send(Method::PATCH, &format!("/contacts/{id}"), &json!({ "unsubscribed": yes }).to_string());
    };
    assert_eq!(both(), ([1, 1, 0], [0, 0, 0]));
    send(Method::POST, &member, "");
    send(Method::POST, &member, "");
    assert_eq!(both(), ([1, 1, 0], [1, 1, 0]));
    unsubscribed(true);
    unsubscribed(true);
    assert_eq!(both(), ([1, 0, 1], [1, 0, 1]));
    send(Method::DELETE, &member, "");
    assert_eq!(both(), ([1, 0, 1], [0, 0, 0]));
    send(Method::POST, &member, "");
    unsubscribed(false);
    assert_eq!(both(), ([1, 1, 0], [1, 1, 0]));
    send(Method::DELETE, &format!("/contacts/{id}"), "");
    assert_eq!(both(), ([0, 0, 0], [0, 0, 0]));
    contact(&sandbox, "b@x.test", true, &[&segment]);
    send(Method::DELETE, &format!("/segments/{segment}"), "");
    assert_eq!(totals(&sandbox, ""), [1, 0, 1]);
    assert_eq!(metrics(&sandbox, "dimensions=segment")["data"], json!([]));
}

#[test]
fn invalid_parameters_are_rejected_by_name() {
    let sandbox = Sandbox::new();
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (query, part) in [
        ("metrics=contacts".to_owned(), "`metrics` must be one of `all_contacts`"),
        ("metrics=".to_owned(), "`metrics`"),
        ("dimensions=period".to_owned(), "`dimensions` must be one of `segment`"),
        ("segment_id=x".to_owned(), "`segment_id`"),
        (format!("segment_id={unknown}"), "there is no segment"),
    ] {
        let answer = sandbox.get(format!("/segments/metrics?{query}"));
        assert_eq!((answer.status.as_u16(), answer.name()), (422, "validation_error".to_owned()), "{query}");
        assert!(answer.message().contains(part), "{query}: {}", answer.message());
    }
}
