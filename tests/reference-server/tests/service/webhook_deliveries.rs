//! Webhook deliveries: payloads, signatures, and retries on the service's clock.

mod attempts;
mod model;
mod payloads;
mod sequences;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hmac::{Hmac, Mac as _};
use http::HeaderMap;
use idempost_reference_server::Posted;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::support::{KEY, Sandbox, UNKNOWN_ID, email, email_with, expect_fields_of};

/// The types of all events that the sandbox fires.
fn everything() -> Vec<&'static str> {
    let types = "email.sent email.scheduled email.delivered email.delivery_delayed email.bounced email.complained \
        email.opened email.clicked email.failed email.suppressed email.received contact.created \
        contact.updated contact.deleted contact.topics.updated domain.created domain.updated domain.deleted \
        suppression.added suppression.removed topic.created topic.updated topic.deleted";
    types.split(' ').collect()
}

/// Creates a webhook for these events; returns its path and secret.
fn webhook(sandbox: &Sandbox, events: &[&str]) -> (String, String) {
    let made = sandbox.subscribe(events).json();
    (format!("/webhooks/{}", text(&made["id"])), text(&made["signing_secret"]))
}

/// A sandbox that has to notify a webhook, which has this path, of a sent email.
fn sent() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let (path, _) = webhook(&sandbox, &["email.sent"]);
    sandbox.sent(&email());
    (sandbox, path)
}

/// Makes the pending attempts. Returns the first one, and the path of its event.
fn attempted(sandbox: &Sandbox, webhook: &str, status: Option<u16>) -> (Attempt, String) {
    let first = deliver(sandbox, status).remove(0);
    let event = format!("{webhook}/events/{}", first.header("svix-id"));
    (first, event)
}

#[track_caller]
fn replay(sandbox: &Sandbox, event: &str) {
    sandbox.act(format!("{event}/replay")).expect_status(200);
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// One attempt as the endpoint sees it.
#[derive(Debug)]
struct Attempt {
    url: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Attempt {
    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Makes every pending attempt; the endpoint responds with this status, or not at all.
fn deliver(sandbox: &Sandbox, status: Option<u16>) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    while let Some(post) = sandbox.service.next_post() {
        attempts.push(Attempt {
            url: post.url.clone(),
            headers: post.headers.clone(),
            body: post.body.clone(),
        });
        sandbox.service.finish_post(post, Posted { status, response: "seen".into() });
    }
    attempts
}

/// The types of the events delivered, in order.
fn event_types(sandbox: &Sandbox) -> Vec<String> {
    deliver(sandbox, Some(200)).iter().map(|attempt| text(&attempt.json()["type"])).collect()
}

fn signature(secret: &str, attempt: &Attempt) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{}.", attempt.header("svix-id"), attempt.header("svix-timestamp")).as_bytes());
    mac.update(&attempt.body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[test]
fn evt_01_a_send_delivers_signed_events() {
    // GEN-09, EVT-01, EVT-05, EVT-06, EVT-11
    let sandbox = Sandbox::new();
    let (_, secret) = webhook(&sandbox, &["email.sent", "email.delivered"]);
    let id = sandbox.sent(&email_with("tags", json!([{"name": "category", "value": "welcome"}])));
    let attempts = deliver(&sandbox, Some(204));
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    let sent = &attempts[0];
    assert_eq!(sent.url, "http://127.0.0.1:9/hook");
    assert_eq!(sent.header("content-type"), "application/json");
    assert_eq!(sent.header("svix-signature"), signature(&secret, sent));
    assert!(sent.header("svix-id").starts_with("msg_"));
    let signed_at: i64 = sent.header("svix-timestamp").parse().unwrap();
    assert!(
        (Timestamp::now().as_second() - signed_at).abs() < 60,
        "the receiver compares it with its own clock"
    );
    let record = sandbox.record(&id);
    let expected = json!({
        "type": "email.sent",
        "created_at": "2026-03-02T12:00:00.000Z",
        "data": {
            "email_id": id,
            "created_at": "2026-03-02T12:00:00.000Z",
            "from": "Acme <hi@acme.test>",
            "to": ["ada@example.com"],
            "subject": "Hello",
            "message_id": record["message_id"],
            "tags": {"category": "welcome"},
        },
    });
    assert_eq!(sent.json(), expected);
    sandbox.advance(1);
    let delivered = deliver(&sandbox, Some(200)).remove(0);
    assert_eq!(delivered.json()["type"], "email.delivered");
    assert_eq!(delivered.json()["created_at"], "2026-03-02T12:00:01.000Z");
    assert_ne!(delivered.header("svix-id"), sent.header("svix-id"));
}

#[test]
fn evt_02_only_enabled_webhooks_get_events_and_only_subscribed_types() {
    // EVT-02, EVT-03, EVT-04, HOOK-07, HOOK-08, HOOK-09
    let sandbox = Sandbox::new();
    let (path, _) = webhook(&sandbox, &["email.delivered"]);
    let change = |change: Value| {
        sandbox.patch(&*path, &change).expect_status(200);
    };
    let send = || {
        sandbox.sent(&email());
        sandbox.advance(1);
        event_types(&sandbox)
    };
    assert_eq!(send(), ["email.delivered"]);
    change(json!({ "status": "disabled" }));
    assert!(send().is_empty());
    change(json!({ "status": "enabled" }));
    assert!(event_types(&sandbox).is_empty(), "events during the pause aren't delivered later");
    assert_eq!(send(), ["email.delivered"]);
    change(json!({ "events": ["email.sent"] }));
    assert_eq!(send(), ["email.sent"]);
    change(json!({ "endpoint": "http://127.0.0.1:9/moved" }));
    sandbox.sent(&email());
    assert_eq!(deliver(&sandbox, Some(200))[0].url, "http://127.0.0.1:9/moved");
    // Another tenant's webhooks receive nothing.
    sandbox.account("sb_other").post("/emails", &email()).expect_status(200);
    assert!(event_types(&sandbox).is_empty());
}

#[test]
fn evt_02_an_event_is_not_retried_after_its_webhook_unsubscribed_from_its_type() {
    // EVT-02, HOOK-08
    let (sandbox, path) = sent();
    let (_, event) = attempted(&sandbox, &path, Some(500));
    sandbox.patch(&*path, &json!({ "events": ["email.delivered"] })).expect_status(200);
    sandbox.advance(5);
    assert_eq!(event_types(&sandbox), ["email.delivered"]);
    assert_eq!(sandbox.get(&*event).json()["status"], "failed");
    replay(&sandbox, &event);
    assert_eq!(event_types(&sandbox), ["email.sent"], "a replay is on request");
}

#[test]
fn evt_12_a_failed_attempt_is_retried_on_schedule_and_then_abandoned() {
    // EVT-12: immediately, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, each from the previous failure.
    let sandbox = Sandbox::new();
    let (path, secret) = webhook(&sandbox, &["email.sent"]);
    sandbox.sent(&email());
    let (first, event) = attempted(&sandbox, &path, Some(500));
    for pause in [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000] {
        let state = sandbox.get(&*event).json();
        assert_eq!(state["status"], "pending");
        let due: Timestamp = text(&state["next_attempt_at"]).parse().unwrap();
        assert_eq!(due.duration_since(sandbox.service.clock().now()).as_secs(), pause);
        sandbox.advance(u64::try_from(pause).unwrap() - 1);
        assert!(deliver(&sandbox, Some(200)).is_empty(), "a second before {pause} s");
        sandbox.advance(1);
        // A missing response is a failure, too.
        let again = deliver(&sandbox, None);
        assert_eq!(again.len(), 1, "after {pause} s");
        assert_eq!(again[0].header("svix-id"), first.header("svix-id"));
        assert_eq!(again[0].body, first.body);
        assert_eq!(again[0].header("svix-signature"), signature(&secret, &again[0]));
    }
    let abandoned = json!({ "status": "failed", "next_attempt_at": null });
    expect_fields_of(&abandoned, &sandbox.get(&*event).json());
    sandbox.advance(30 * 86_400);
    assert!(deliver(&sandbox, Some(200)).is_empty());
    let attempts = sandbox.items(format!("{event}/attempts?limit=100"));
    let codes: Vec<_> = attempts.iter().map(|attempt| &attempt["http_status_code"]).collect();
    assert_eq!(codes, [0, 0, 0, 0, 0, 0, 0, 500], "newest first");
}

#[test]
fn evt_08_every_domain_status_change_is_delivered() {
    // EVT-08, DOM-37
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["domain.created", "domain.updated", "domain.deleted"]);
    let statuses = |name: &str| -> Vec<String> {
        let capabilities = json!({ "sending": "enabled", "receiving": "enabled" });
        let id = sandbox.created("/domains", &json!({ "name": name, "capabilities": capabilities }));
        let path = format!("/domains/{id}");
        let mut summaries = Vec::new();
        let mut hear = || {
            summaries.extend(deliver(&sandbox, Some(200)).iter().map(|attempt| {
                let event = attempt.json();
                assert_eq!(event["data"]["id"], id);
                let records = event["data"]["records"].as_array().unwrap();
                assert!(records.iter().any(|record| record["record"] == "Receiving MX"));
                format!("{} {}", text(&event["type"]), text(&event["data"]["status"]))
            }));
        };
        hear();
        assert_eq!(sandbox.patch(&*path, &json!({ "open_tracking": true })).status, 200);
        sandbox.act(format!("{path}/verify"));
        // Verification is already in progress.
        sandbox.act(format!("{path}/verify"));
        hear();
        sandbox.advance(120);
        hear();
        assert_eq!(sandbox.delete(&*path).status, 200);
        hear();
        summaries
    };
    assert_eq!(
        statuses("acme.test"),
        [
            "domain.created not_started",
            "domain.updated pending",
            "domain.updated verified",
            "domain.deleted verified"
        ]
    );
    assert_eq!(statuses("fail.acme.test")[2], "domain.updated failed");
    assert_eq!(
        statuses("partial.acme.test")[1..4],
        ["domain.updated pending", "domain.updated partially_verified", "domain.updated partially_failed"]
    );
}

#[test]
fn every_email_outcome_is_delivered_with_its_details() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &everything());
    let events = |to: &str| -> Vec<Value> {
        sandbox.sent(&email_with("to", to));
        sandbox.advance(60);
        deliver(&sandbox, Some(200)).iter().map(Attempt::json).collect()
    };
    let types =
        |events: &[Value]| -> Vec<String> { events.iter().map(|event| text(&event["type"])).collect() };
    let clicked = events("clicked@example.com");
    assert_eq!(types(&clicked), ["email.sent", "email.delivered", "email.opened", "email.clicked"]);
    let click = &clicked[3]["data"]["click"];
    for field in ["ipAddress", "link", "timestamp", "userAgent"] {
        assert!(click[field].is_string(), "{click}");
    }
    let bounced = events("bounced@example.com");
    assert_eq!(types(&bounced), ["email.sent", "email.bounced", "suppression.added"]);
    assert_eq!(bounced[1]["data"]["bounce"]["type"], "Permanent");
    assert_eq!(bounced[1]["data"]["bounce"]["subType"], "General");
    let delayed = events("delayed@example.com");
    assert_eq!(types(&delayed), ["email.sent", "email.delivery_delayed", "email.delivered"]);
    assert_eq!(types(&events("complained@example.com"))[2], "email.complained");
    let failed = events("failed@example.com");
    assert_eq!(types(&failed), ["email.failed"]);
    assert!(failed[0]["data"]["failed"]["reason"].is_string());
    let suppressed = events("suppressed@example.com");
    assert_eq!(types(&suppressed), ["email.suppressed"]);
    assert!(suppressed[0]["data"]["suppressed"]["message"].is_string());

    sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    assert_eq!(event_types(&sandbox), ["email.scheduled"]);
    sandbox.advance(3_601);
    assert_eq!(event_types(&sandbox), ["email.sent", "email.delivered"]);
}

#[test]
fn email_events_name_their_broadcast_or_template() {
    let sandbox = Sandbox::new();
    let template = sandbox.published(&json!({ "name": "Welcome", "html": "<p>Hi</p>", "alias": "welcome" }));
    webhook(&sandbox, &["email.sent"]);
    let broadcast = sandbox.broadcast("News", &["ada@example.com"]);
    let delivered = deliver(&sandbox, Some(200));
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].json()["data"]["broadcast_id"], broadcast);
    sandbox.sent(&json!({
        "from": "hi@acme.test", "to": "ada@example.com", "subject": "Hi", "template": { "id": "welcome" },
    }));
    assert_eq!(deliver(&sandbox, Some(200))[0].json()["data"]["template_id"], template);
}

#[test]
fn evt_07_email_received_omits_the_bodies() {
    // EVT-07
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["email.received"]);
    let mail = "From: Ada <ada@example.com>\r\nTo: support@acme.test\r\nSubject: Help\r\nMessage-ID: <1@example.com>\r\n\r\nPlease.";
    let id = sandbox.service.receive(KEY, &["support@acme.test"], mail).unwrap();
    let delivered = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!(delivered["type"], "email.received");
    let expected = json!({
        "email_id": id,
        "created_at": "2026-03-02T12:00:00.000Z",
        "from": "ada@example.com",
        "to": ["support@acme.test"],
        "cc": [],
        "bcc": [],
        "message_id": "<1@example.com>",
        "subject": "Help",
        "received_for": ["support@acme.test"],
        "attachments": [],
    });
    assert_eq!(delivered["data"], expected);
}

#[test]
fn contact_and_topic_changes_are_delivered_once_and_no_ops_never() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &everything());
    let topic = json!({ "name": "News", "default_subscription": "opt_in" });
    let topic = sandbox.created("/topics", &topic);
    assert_eq!(event_types(&sandbox), ["topic.created"]);
    sandbox.patch(format!("/topics/{topic}"), &json!({ "name": "Old news" }));
    assert_eq!(event_types(&sandbox), ["topic.updated"]);
    let contact = sandbox.created("/contacts", &json!({ "email": "ada@example.com" }));
    let created = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!((&created["type"], &created["data"]["id"]), (&json!("contact.created"), &json!(contact)));
    let path = format!("/contacts/{contact}");
    sandbox.advance(1);
    sandbox.patch(&*path, &json!({ "first_name": "Ada" }));
    let updated = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!(updated["type"], "contact.updated");
    assert_eq!(updated["data"]["updated_at"], "2026-03-02T12:00:01.000Z");
    assert_eq!(updated["data"]["created_at"], "2026-03-02T12:00:00.000Z");
    sandbox.patch(&*path, &json!({ "first_name": "Ada" }));
    assert!(event_types(&sandbox).is_empty());
    // Creating an existing contact updates it.
    sandbox.post("/contacts", &json!({ "email": "ada@example.com", "first_name": "A." }));
    assert_eq!(event_types(&sandbox), ["contact.updated"]);
    let choice = json!([{ "id": topic, "subscription": "opt_out" }]);
    sandbox.patch(format!("{path}/topics"), &choice);
    let chosen = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!(chosen["type"], "contact.topics.updated");
    assert_eq!(chosen["data"], json!({ "email": "ada@example.com", "topics": choice }));
    let segment = sandbox.created("/segments", &json!({ "name": "All" }));
    sandbox.act(format!("{path}/segments/{segment}"));
    let joined = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!(joined["data"]["segment_ids"], json!([segment]));
    assert_eq!(sandbox.delete(&*path).status, 200);
    assert_eq!(event_types(&sandbox), ["contact.deleted"]);
    assert_eq!(sandbox.delete(format!("/topics/{topic}")).status, 200);
    let deleted = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!((&deleted["type"], &deleted["data"]["deleted"]), (&json!("topic.deleted"), &json!(true)));
}

#[test]
fn evt_09_every_event_type_can_be_subscribed_to_and_simulated() {
    // EVT-09
    let sandbox = Sandbox::new();
    webhook(&sandbox, &everything());
    assert_eq!(sandbox.get("/_/events").json()["data"], json!(everything()));
    for kind in everything() {
        let answer = sandbox
            .post("/_/events", &json!({ "type": kind, "data": { "extra": { "x": 1 } } }))
            .expect_status(201);
        let attempt = deliver(&sandbox, Some(200)).remove(0);
        assert_eq!(answer.json()["deliveries"][0]["event_id"], attempt.header("svix-id"));
        let event = attempt.json();
        assert_eq!((&event["type"], &event["data"]["extra"]), (&json!(kind), &json!({ "x": 1 })));
    }
    let data = json!({ "bounce": { "type": "Transient" }, "tags": null });
    sandbox.post("/_/events", &json!({ "type": "email.bounced", "data": data }));
    let event = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!(event["data"]["bounce"]["type"], "Transient");
    assert_eq!(event["data"]["bounce"]["subType"], "General");
    assert!(event["data"].get("tags").is_none());
    for (body, word) in [
        (json!({ "type": "email.snet" }), "email.snet"),
        (json!({}), "type"),
        (json!({ "type": "email.sent", "data": [] }), "data"),
        (json!({ "type": "email.sent", "date": {} }), "date"),
    ] {
        let refused = sandbox.post("/_/events", &body).expect_status(422);
        assert!(refused.message().contains(word), "{}", refused.message());
    }
}

#[test]
fn events_can_be_simulated_for_a_captured_mail() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["email.clicked"]);
    let id = sandbox.sent(&email());
    sandbox.advance(10);
    let mail = sandbox.mail().id;
    sandbox.trigger(&mail, "clicked", &json!({ "link": "https://acme.test/offer" }));
    assert_eq!(sandbox.last_event(&id), "clicked");
    let delivered = deliver(&sandbox, Some(200)).remove(0).json();
    assert_eq!(delivered["data"]["click"]["link"], "https://acme.test/offer");
    assert_eq!(delivered["data"]["click"]["userAgent"], "Mozilla/5.0 (sandbox)");
    // The email's id works, too.
    sandbox.trigger(&id, "complained", &json!({}));
    assert_eq!(sandbox.last_event(&id), "complained");
    for (mail, kind, status) in [(&*mail, "sent", 422), (UNKNOWN_ID, "opened", 404)] {
        let path = format!("/_/messages/{mail}/events");
        sandbox.post(&path, &json!({ "type": kind })).expect_status(status);
    }
}
