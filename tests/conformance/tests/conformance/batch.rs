use idempost::BatchEmail;
use idempost_conformance::bench::{Bench, EXPECT, Expect};
use serde_json::{Value, json};

use super::{letters, with};

fn emails(n: usize) -> Vec<BatchEmail> {
    (0..n)
        .map(|i| BatchEmail::new("hi@acme.test", "ada@example.com", format!("Number {i}")).text("x"))
        .collect()
}

fn wire(n: usize) -> Value {
    (0..n).map(|i| with(json!({ "subject": format!("Number {i}") }))).collect()
}

#[tokio::test]
async fn a_batch_is_a_bare_array_and_its_ids_are_in_order() {
    // BATCH-01, BATCH-08, BATCH-09, BATCH-10
    let bench = Bench::start().await;
    let answer = bench.client().emails().send_batch(&emails(5)).await.unwrap();
    let request = &bench.requests()[0];
    assert_eq!((&*request.path, request.body[0]), ("/emails/batch", b'['));
    assert_eq!(answer.data.len(), 5);
    for (i, accepted) in answer.data.iter().enumerate() {
        let record = bench.client().emails().get(&accepted.id).await.unwrap();
        assert_eq!(record.subject, format!("Number {i}"));
    }
    assert!(answer.errors.is_empty());
}

#[tokio::test]
async fn a_batch_has_one_to_a_hundred_emails() {
    // BATCH-02, BATCH-14, LIM-01
    let bench = Bench::start().await;
    assert_eq!(bench.post_wrong("/emails/batch", &wire(0)).name(), "validation_error");
    assert_eq!(bench.post_wrong("/emails/batch", &wire(101)).name(), "validation_error");
    assert!(bench.mails().is_empty());
    assert_eq!(bench.post("/emails/batch", &wire(1)).status, 200);
    assert_eq!(bench.post("/emails/batch", &wire(100)).json["data"].as_array().unwrap().len(), 100);
    assert_eq!(bench.mails().len(), 101);
    for body in [json!({}), json!("x"), json!([7])] {
        assert_eq!(bench.post_wrong("/emails/batch", &body).status, 422, "{body}");
    }
}

#[tokio::test]
async fn one_invalid_email_refuses_the_whole_batch_with_its_index() {
    // BATCH-04, BATCH-05, BATCH-06, BATCH-11, BATCH-12
    let bench = Bench::start().await;
    for (field, wrong) in [
        ("attachments", json!({ "attachments": [{ "filename": "a", "content": "YQ==" }] })),
        ("attachments", json!({ "attachments": [] })),
        ("scheduled_at", json!({ "scheduled_at": "in 1 min" })),
        ("to", json!({ "to": vec!["ada@example.com"; 51] })),
        ("to", json!({ "to": null })),
        ("from", json!({ "from": "nobody" })),
        ("tags", json!({ "tags": [{ "name": letters(257), "value": "v" }] })),
        ("tags", json!({ "tags": [{ "name": "n", "value": letters(257) }] })),
        ("text", json!({ "template": { "id": "x" } })),
        ("variables", json!({ "text": null, "template": { "id": "x", "variables": { "EMAIL": "v" } } })),
        ("variables", json!({ "text": null, "template": { "id": "x", "variables": { letters(51): "v" } } })),
        (
            "variables",
            json!({ "text": null, "template": { "id": "x", "variables": { "A": letters(2_001) } } }),
        ),
    ] {
        let mut batch = wire(3);
        batch[2] = with(wrong);
        let reply = bench.post_wrong("/emails/batch", &batch);
        assert_eq!(reply.status, 422, "{field}");
        assert!(reply.message().contains("[2]") && reply.message().contains(field), "{}", reply.message());
        assert!(bench.mails().is_empty());
    }
    let mut batch = wire(2);
    batch[1] = with(
        json!({ "to": vec!["ada@example.com"; 50], "tags": [{ "name": letters(256), "value": letters(256) }] }),
    );
    assert_eq!(bench.post("/emails/batch", &batch).status, 200);
}

#[tokio::test]
async fn a_permissive_batch_sends_valid_emails_and_lists_the_others() {
    // BATCH-13
    let bench = Bench::start().await;
    let mut batch = emails(3);
    batch.insert(1, BatchEmail::new("nobody", "ada@example.com", "x").text("x"));
    let call = bench.client().emails().send_batch(&batch).permissive();
    let answer = call.header(EXPECT, Expect::Tolerance.as_str()).await.unwrap();
    assert_eq!((answer.data.len(), answer.errors.len(), answer.errors[0].index), (3, 1, 1));
    assert!(answer.errors[0].message.contains("from"), "{}", answer.errors[0].message);
    assert_eq!(bench.mails().len(), 3);
    assert_eq!(bench.requests()[0].headers["x-batch-validation"], "permissive");
    // The accepted entries are in the order of the request.
    for (accepted, subject) in answer.data.iter().zip(["Number 0", "Number 1", "Number 2"]) {
        let record = bench.client().emails().get(&accepted.id).await.unwrap();
        assert_eq!(record.subject, subject);
    }
}

#[tokio::test]
async fn strict_validation_is_the_default_and_can_be_requested() {
    // BATCH-12, BATCH-13
    let bench = Bench::start().await;
    let mut batch = wire(2);
    batch[0] = with(json!({ "from": "nobody" }));
    let ask = |mode: Option<&str>| {
        let mut request =
            bench.request(http::Method::POST, "/emails/batch").header("content-type", "application/json");
        request = request.header(EXPECT, Expect::Refusal.as_str());
        if let Some(mode) = mode {
            request = request.header("x-batch-validation", mode);
        }
        bench.ask(request, batch.to_string())
    };
    assert_eq!(
        (ask(None).status, ask(Some("strict")).status, ask(Some("loose")).status),
        (422.try_into().unwrap(), 422.try_into().unwrap(), 422.try_into().unwrap())
    );
    assert!(bench.mails().is_empty());
}

#[tokio::test]
async fn the_client_sends_no_validation_header_by_default() {
    let bench = Bench::start().await;
    bench.client().emails().send_batch(&emails(1)).await.unwrap();
    assert!(!bench.requests()[0].headers.contains_key("x-batch-validation"));
}
