//! Webhooks: create, list, update, delete.

use serde_json::{Value, json};

use crate::support::{Sandbox, expect_fields_of, merged};

fn valid() -> Value {
    json!({"endpoint": "https://acme.test/hook", "events": ["email.sent"]})
}

fn create(sandbox: &Sandbox) -> Value {
    let events = ["email.sent", "email.sent", "email.bounced"];
    let webhook = json!({"endpoint": "https://acme.test/hook", "events": events});
    sandbox.post("/webhooks", &webhook).expect_status(201).json()
}

#[test]
fn a_new_webhook_is_enabled_and_lists_omit_its_secret() {
    // HOOK-01, HOOK-02, HOOK-03, HOOK-06, HOOK-13, HOOK-14
    let sandbox = Sandbox::new();
    let webhook = create(&sandbox);
    let id = webhook["id"].as_str().unwrap();
    assert_eq!(webhook["object"], "webhook");
    let secret = webhook["signing_secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
    let expected = json!({
        "id": id, "created_at": "2026-03-02 12:00:00.000000+00", "status": "enabled",
        "endpoint": "https://acme.test/hook", "events": ["email.sent", "email.bounced"],
    });
    assert_eq!(sandbox.items("/webhooks"), [expected]);
    let shown = sandbox.get(format!("/webhooks/{id}")).json();
    expect_fields_of(&json!({"object": "webhook", "signing_secret": secret}), &shown);
    assert_ne!(create(&sandbox)["signing_secret"], secret);
}

#[test]
fn an_update_changes_only_the_given_fields() {
    // HOOK-07, HOOK-08, HOOK-09, HOOK-10, HOOK-11
    let sandbox = Sandbox::new();
    let path = format!("/webhooks/{}", create(&sandbox)["id"].as_str().unwrap());
    let before = sandbox.get(&path).json();
    for (field, value) in [
        ("endpoint", json!("http://localhost:8080/x")),
        ("events", json!(["topic.created"])),
        ("status", json!("disabled")),
        ("status", json!("disabled")),
        ("status", json!("enabled")),
        ("status", json!("enabled")),
    ] {
        let change = json!({field: value});
        let expected = merged(sandbox.get(&path).json(), &change);
        let answer = sandbox.patch(&path, &change).expect_status(200);
        assert_eq!(answer.json(), json!({"object": "webhook", "id": before["id"]}));
        assert_eq!(sandbox.get(&path).json(), expected);
    }
    let now = sandbox.get(&path).json();
    assert_eq!(sandbox.patch(&path, &json!({})).status, 200);
    assert_eq!(sandbox.get(&path).json(), now);
}

#[test]
fn invalid_input_is_rejected() {
    // HOOK-04, HOOK-05
    let sandbox = Sandbox::new();
    let path = format!("/webhooks/{}", create(&sandbox)["id"].as_str().unwrap());
    for (field, value) in [
        ("endpoint", json!("not a url")),
        ("endpoint", json!("/hook")),
        ("endpoint", json!("ftp://acme.test/")),
        ("endpoint", json!("mailto:ada@acme.test")),
        ("endpoint", json!("https://ada:secret@acme.test/hook")),
        ("endpoint", json!("https://ada@acme.test/hook")),
        ("endpoint", json!("")),
        ("endpoint", json!(7)),
        ("events", json!([])),
        ("events", json!("email.sent")),
        ("events", json!([7])),
        ("events", json!(["email.sent", "email.snet"])),
    ] {
        let change = json!({field: value});
        for answer in [sandbox.post("/webhooks", &merged(valid(), &change)), sandbox.patch(&path, &change)] {
            answer.invalid(field);
        }
    }
    for control in ["\r", "\n", "\t", "\0", "\u{1b}", "\u{7f}", "\u{85}", "\r\nMAIL FROM:<a@b.test>\r\n"] {
        for endpoint in [
            format!("{control}http://127.0.0.1:2525/"),
            format!("http://127.0.0.1:2525/{control}"),
            format!("ht{control}tp://127.0.0.1:2525/"),
            format!("http://127.0.{control}0.1:2525/x"),
            format!("http://127.0.0.1:2525/?a={control}b"),
        ] {
            let body = json!({"endpoint": endpoint, "events": ["email.sent"]});
            for answer in [sandbox.post("/webhooks", &body), sandbox.patch(&path, &body)] {
                answer.invalid("`endpoint`");
                assert!(answer.message().contains("control characters"), "{}", answer.message());
            }
        }
    }
    assert_eq!(sandbox.get(&path).json()["endpoint"], "https://acme.test/hook");
    sandbox.patch(&path, &json!({"status": "paused"})).invalid("");
    for missing in ["endpoint", "events"] {
        sandbox.post("/webhooks", &merged(valid(), &json!({missing: null}))).invalid("Missing");
    }
    assert_eq!(sandbox.items("/webhooks").len(), 1);
}

#[test]
fn a_deleted_webhook_is_not_found() {
    let sandbox = Sandbox::new();
    let id = create(&sandbox)["id"].clone();
    let path = format!("/webhooks/{}", id.as_str().unwrap());
    let answer = sandbox.delete(&path);
    assert_eq!(answer.json(), json!({"object": "webhook", "id": id, "deleted": true}));
    for answer in [sandbox.get(&path), sandbox.delete(&path), sandbox.patch(&path, &json!({}))] {
        answer.rejected(404, "not_found", "");
    }
}

#[test]
fn inbox_events_can_be_subscribed_to() {
    let sandbox = Sandbox::new();
    let events: Vec<_> = "inbox.created inbox.updated inbox.deleted \
        inbox.thread.created inbox.thread.folder.updated inbox.thread.assigned inbox.thread.unassigned \
        inbox.thread.labels.updated inbox.email.received inbox.email.sent \
        inbox.draft.created inbox.draft.updated inbox.draft.sent inbox.draft.deleted"
        .split(' ')
        .collect();
    let path = format!("/webhooks/{}", sandbox.subscribe(&events).id());
    assert_eq!(sandbox.get(&path).json()["events"], json!(events));
    sandbox.patch(&path, &json!({"events": ["email.sent", "inbox.email.sent"]})).expect_status(200);
    let misspelt = json!({"endpoint": "https://acme.test/hook", "events": ["inbox.email.snet"]});
    assert_eq!(sandbox.post("/webhooks", &misspelt).status, 422);
    assert_eq!(sandbox.post("/_/events", &json!({"type": "inbox.created"})).status, 422, "it is never fired");
}
