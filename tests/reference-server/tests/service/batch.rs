//! `POST /emails/batch`.

use http::Method;
use idempost_reference_server::{Compat, Settings};
use serde_json::{Value, json};

use crate::support::{Sandbox, email, email_with};

fn batch(count: usize) -> Value {
    (0..count).map(|n| email_with("subject", format!("number {n}"))).collect()
}

#[test]
fn batch_09_results_are_in_request_order() {
    // BATCH-08, BATCH-09, BATCH-04
    let sandbox = Sandbox::new();
    let body = sandbox.post("/emails/batch", &batch(3)).expect_status(200).json();
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["data"]);
    for (index, entry) in body["data"].as_array().unwrap().iter().enumerate() {
        let record = sandbox.record(entry["id"].as_str().unwrap());
        assert_eq!(record["subject"], format!("number {index}"));
    }
    assert_eq!(sandbox.mails().len(), 3);
}

#[test]
fn batch_02_a_batch_has_one_to_a_hundred_emails() {
    // BATCH-02, BATCH-14, LIM-01
    let sandbox = Sandbox::new();
    for count in [0, 101] {
        let answer = sandbox.post("/emails/batch", &batch(count));
        answer.invalid(&format!("found {count}"));
    }
    assert!(sandbox.mails().is_empty());
    for count in [1, 100] {
        assert_eq!(sandbox.post("/emails/batch", &batch(count)).status, 200);
    }
    assert_eq!(sandbox.mails().len(), 101);
}

#[test]
fn batch_01_the_body_is_a_bare_array_of_objects() {
    // BATCH-01
    let sandbox = Sandbox::new();
    for (body, words) in [
        (json!({"emails": []}), "must be a JSON array of emails; found an object"),
        (json!("x"), "found a string"),
        (json!([1]), "`[0]` must be an object; found a number"),
    ] {
        sandbox.post("/emails/batch", &body).invalid(words);
    }
}

#[test]
fn batch_12_one_invalid_email_rejects_the_batch_and_is_identified() {
    // BATCH-12, BATCH-04, BATCH-05, BATCH-06, BATCH-11
    let many = |count: usize| (0..count).map(|n| format!("r{n}@example.com")).collect::<Vec<_>>();
    let cases = [
        (email_with("to", many(51)), "`[1].to`"),
        (email_with("from", Value::Null), "Missing `[1].from`"),
        (email_with("tags", json!([{"name": "n".repeat(257), "value": "v"}])), "`[1].tags[0].name`"),
        (email_with("template", json!({"id": "x", "variables": {"A-B": 1}})), "`[1].template"),
        (email_with("scheduled_at", "in 1 min"), "`[1].scheduled_at` is not supported in a batch"),
        (email_with("attachments", json!([])), "`[1].attachments` is not supported in a batch"),
        (
            email_with("attachments", json!([{"content": ""}])),
            "`[1].attachments` is not supported in a batch",
        ),
    ];
    for mode in [None, Some("strict")] {
        for (wrong, words) in &cases {
            let sandbox = Sandbox::new();
            let mut ask = sandbox.ask(Method::POST, "/emails/batch");
            if let Some(mode) = mode {
                ask = ask.header("x-batch-validation", mode);
            }
            ask.json(&json!([email(), wrong, email()])).invalid(words);
            assert!(sandbox.mails().is_empty(), "nothing is sent");
        }
    }
}

#[test]
fn batch_13_a_permissive_batch_sends_the_valid_ones() {
    // BATCH-13
    let sandbox = Sandbox::new();
    let body = json!([
        email_with("subject", "first"),
        email_with("to", "nobody"),
        email_with("subject", "third"),
        7
    ]);
    let send = |mode: &str, batch: &Value| {
        sandbox.ask(Method::POST, "/emails/batch").header("x-batch-validation", mode).json(batch)
    };
    let answer = send("permissive", &body).json();
    assert_eq!(answer["data"].as_array().unwrap().len(), 2);
    assert_eq!(answer["errors"][0]["index"], 1);
    assert!(answer["errors"][0]["message"].as_str().unwrap().contains("`[1].to`"));
    assert_eq!(answer["errors"][1]["index"], 3);
    let subjects: Vec<_> = sandbox.mails().into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects, ["third", "first"]);

    assert_eq!(send("permissive", &batch(1)).json()["errors"], json!([]));
    assert_eq!(send("lenient", &batch(1)).status, 422);
}

#[test]
fn warnings_name_ignored_fields_by_index() {
    let sandbox = Sandbox::new();
    let answer = sandbox.post("/emails/batch", &json!([email(), email_with("colour", "red")]));
    assert_eq!(answer.header("x-sandbox-ignored-fields"), Some("/1/colour"));
}

fn live() -> Sandbox {
    Sandbox::with(&Settings { compat: Compat::Live, ..Settings::default() })
}

#[test]
fn with_live_compatibility_the_emails_of_a_batch_have_their_own_schedules() {
    let sandbox = live();
    let batch =
        json!([email_with("scheduled_at", "in 2 hours"), email(), email_with("scheduled_at", "in 1 hour")]);
    let send = || sandbox.ask(Method::POST, "/emails/batch").header("idempotency-key", "k").json(&batch);
    let first = send().expect_status(200);
    let ids = first.ids();
    assert_eq!(sandbox.record(&ids[0])["scheduled_at"], "2026-03-02 14:00:00.000000+00");
    let events: Vec<_> = ids.iter().map(|id| sandbox.last_event(id)).collect();
    assert_eq!(events, ["scheduled", "sent", "scheduled"]);
    let again = send();
    assert_eq!((again.header("idempotent-replayed"), again.json()), (Some("true"), first.json()));
    sandbox.advance(3_600);
    assert_eq!(sandbox.mails().len(), 2);
    sandbox.advance(3_600);
    assert_eq!(sandbox.mails().len(), 3, "the replay scheduled nothing");
    let canceled = sandbox.post("/emails/batch", &json!([email_with("scheduled_at", "in 1 hour")])).json();
    let id = canceled["data"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.act(format!("/emails/{id}/cancel")).status, 200);
    sandbox.advance(3_600);
    assert_eq!(sandbox.mails().len(), 3);
}

#[test]
fn with_live_compatibility_an_invalid_schedule_and_attachments_are_still_rejected() {
    let sandbox = live();
    for (email, words) in [
        (email_with("scheduled_at", "whenever"), "`[0].scheduled_at` must be an ISO 8601"),
        (email_with("scheduled_at", "in 31 days"), "`[0].scheduled_at` must be at most 30 days ahead"),
        (email_with("attachments", json!([])), "`[0].attachments` is not supported in a batch"),
    ] {
        let answer = sandbox.post("/emails/batch", &json!([email]));
        answer.invalid(words);
    }
}

#[test]
fn a_permissive_batch_rejects_only_the_scheduled_emails_unless_compatibility_is_live() {
    let batch =
        json!([email(), email_with("scheduled_at", "in 1 hour"), email_with("scheduled_at", "whenever")]);
    for (sandbox, refused) in [(Sandbox::new(), vec![1, 2]), (live(), vec![2])] {
        let ask = sandbox.ask(Method::POST, "/emails/batch").header("x-batch-validation", "permissive");
        let answer = ask.json(&batch).json();
        let indexes: Vec<_> =
            answer["errors"].as_array().unwrap().iter().map(|one| one["index"].as_u64().unwrap()).collect();
        assert_eq!(indexes, refused);
        assert_eq!(answer["data"].as_array().unwrap().len(), 3 - refused.len());
        assert_eq!(sandbox.mails().len(), 1);
    }
}
