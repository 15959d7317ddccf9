//! Events delivered to a real endpoint, verified and decoded with the client's own code.

use std::time::Duration;

use idempost::{
    domains::NewDomain,
    types::SigningSecret,
    webhooks::{
        CreatedWebhook, EventData, EventType, NewWebhook, WebhookPatch, WebhookPayload, WebhookStatus,
        WebhookVerifier,
    },
};
use idempost_conformance::bench::Bench;
use idempost_conformance::contract::Contract;
use idempost_conformance::sink::Sink;
use idempost_reference_server::{ClockStart, Settings};
use serde_json::{Value, json};

use super::with;

/// A bench with a stopped clock.
async fn bench() -> Bench {
    let noon = "2026-03-02T12:00:00Z".parse().unwrap();
    Bench::with(Settings {
        seed: Some(0),
        beta: true,
        clock: ClockStart::Frozen(noon),
        ..Settings::default()
    })
    .await
}

async fn subscribe(
    bench: &Bench,
    sink: &Sink,
    events: impl IntoIterator<Item = EventType>,
) -> CreatedWebhook {
    bench.client().webhooks().create(&NewWebhook::new(sink.address(), events)).await.unwrap()
}

fn send(bench: &Bench) -> Value {
    let answer = bench.post("/emails", &with(json!({})));
    assert_eq!(answer.status, 200);
    answer.json["id"].clone()
}

fn after(bench: &Bench, seconds: u64) {
    bench.service().clock().advance(Duration::from_secs(seconds));
}

/// The event types, sorted: attempts run concurrently, in no guaranteed order.
fn kinds(events: &[WebhookPayload]) -> Vec<&str> {
    let mut kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds
}

#[tokio::test]
async fn subscribed_events_are_delivered_signed_and_typed() {
    // GEN-09, EVT-01, EVT-02, EVT-05, EVT-06, EVT-11
    let (bench, mut sink) = (bench().await, Sink::start().await);
    let hook = subscribe(&bench, &sink, [EventType::EmailSent, EventType::EmailDelivered]).await;
    let id = send(&bench);
    let sent = sink.next(1, &hook.signing_secret).await.remove(0);
    assert_eq!(sent.kind, EventType::EmailSent);
    let EventData::EmailSent(email) = sent.data else { panic!("{:?}", sent.data) };
    assert_eq!(json!(email.email_id), id);
    after(&bench, 1);
    let delivered = sink.next(1, &hook.signing_secret).await;
    assert_eq!(kinds(&delivered), ["email.delivered"]);
    // Events without a subscription are not delivered.
    let opened = with(json!({ "to": "opened@example.com" }));
    assert_eq!(bench.post("/emails", &opened).status, 200);
    after(&bench, 10);
    assert_eq!(kinds(&sink.next(2, &hook.signing_secret).await), ["email.delivered", "email.sent"]);
    assert_eq!(sink.waiting().await, 0);
}

#[tokio::test]
async fn a_webhook_receives_only_events_that_occur_while_it_is_enabled() {
    // EVT-03, EVT-04, HOOK-07, HOOK-08, HOOK-09
    let (bench, mut sink, mut other) = (bench().await, Sink::start().await, Sink::start().await);
    let hook = subscribe(&bench, &sink, [EventType::EmailSent]).await;
    let client = bench.client();
    let update = async |patch: WebhookPatch| drop(client.webhooks().update(&hook.id, &patch).await.unwrap());
    update(WebhookPatch::new().status(WebhookStatus::Disabled)).await;
    send(&bench);
    update(WebhookPatch::new().status(WebhookStatus::Enabled)).await;
    let second = send(&bench);
    let delivered = sink.next(1, &hook.signing_secret).await.remove(0);
    assert_eq!(delivered.raw()["data"]["email_id"], second);
    update(WebhookPatch::new().endpoint(other.address())).await;
    send(&bench);
    assert_eq!(kinds(&other.next(1, &hook.signing_secret).await), ["email.sent"]);
    update(WebhookPatch::new().events([EventType::EmailDelivered])).await;
    send(&bench);
    after(&bench, 1);
    // Only this event of the last email, and of the earlier ones too.
    let delivered = other.next(1, &hook.signing_secret).await;
    assert_eq!(kinds(&delivered), ["email.delivered"]);
    assert_eq!(sink.waiting().await, 0, "the previous endpoint gets no more deliveries");
}

#[tokio::test]
async fn received_mail_and_domain_verification_cause_events() {
    // EVT-07, EVT-08, EVT-09, DOM-37
    let (bench, mut sink) = (bench().await, Sink::start().await);
    let four =
        [EventType::EmailSent, EventType::EmailDelivered, EventType::EmailReceived, EventType::DomainUpdated];
    for one in four.clone() {
        subscribe(&bench, &Sink::start().await, [one]).await;
    }
    let hook = subscribe(&bench, &sink, four).await;
    let mail = "From: Ada <ada@example.com>\r\nTo: support@acme.test\r\nSubject: Help\r\n\r\nPlease.";
    let id = bench.service().receive("sb_test", &["support@acme.test"], mail).unwrap();
    bench.get("/emails/receiving");
    let delivered = sink.next(1, &hook.signing_secret).await.remove(0);
    let EventData::EmailReceived(received) = delivered.data else { panic!("{:?}", delivered.data) };
    assert_eq!(received.email_id.as_str(), id);

    let client = bench.client();
    let domain = client.domains().create(&NewDomain::new("acme.test")).await.unwrap();
    client.domains().verify(&domain.id).await.unwrap();
    after(&bench, 2);
    let delivered = sink.next(2, &hook.signing_secret).await;
    assert_eq!(kinds(&delivered), ["domain.updated", "domain.updated"]);
    let mut statuses: Vec<_> =
        delivered.iter().map(|event| event.raw()["data"]["status"].to_string()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["\"pending\"", "\"verified\""]);
}

#[tokio::test]
async fn a_failed_delivery_is_retried_on_schedule_with_the_same_id() {
    // EVT-12
    let (bench, mut sink) = (bench().await, Sink::answering(503).await);
    let hook = subscribe(&bench, &sink, [EventType::EmailSent]).await;
    send(&bench);
    let mut ids = Vec::new();
    let events = format!("/webhooks/{}/events", hook.id);
    for pause in [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000] {
        after(&bench, pause);
        let request = sink.raw(1).await.remove(0);
        ids.push(request.headers["svix-id"].clone());
        // The outcome is recorded shortly after the endpoint has responded.
        let tried = ids.len();
        let attempts = format!("{events}/{}/attempts", ids[0].to_str().unwrap());
        while bench.get(&attempts).json["data"].as_array().unwrap().len() < tried {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let state = bench.get(&events).json["data"][0]["status"].clone();
        assert_eq!(state, if tried < 8 { "pending" } else { "failed" });
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    after(&bench, 10 * 86_400);
    assert_eq!(sink.waiting().await, 0);
}

#[tokio::test]
async fn every_event_type_keeps_the_contract_and_is_decoded() {
    // EVT-09, EVT-10
    let (bench, mut sink) = (bench().await, Sink::start().await);
    let types: Vec<_> = Contract::get().event_types().map(str::to_owned).collect();
    let hook = subscribe(&bench, &sink, types.iter().cloned().map(EventType::from)).await;
    for kind in &types {
        let made = bench.post_odd("/_/events", &json!({ "type": kind }));
        assert_eq!(made.status, 201, "{kind}");
        let delivered = sink.next(1, &hook.signing_secret).await.remove(0);
        assert_eq!(delivered.kind.as_str(), kind);
        assert!(!matches!(delivered.data, EventData::Other(_)), "{kind}: {:?}", delivered.data);
    }
    // An unknown event type, and an unreadable payload of a known type, are no failures.
    for body in [
        r#"{"type":"mailbox.created","created_at":"2026-03-02T12:00:00.000Z","data":{"id":"x"}}"#,
        r#"{"type":"email.sent","created_at":"2026-03-02T12:00:00.000Z","data":[]}"#,
        r#"{"type":"email.sent"}"#,
    ] {
        let event = WebhookPayload::from_slice(body.as_bytes()).unwrap();
        assert!(matches!(event.data, EventData::Other(_)), "{body}");
        assert_eq!(event.raw(), &serde_json::from_str::<Value>(body).unwrap());
    }
}

#[tokio::test]
async fn tampered_deliveries_are_refused() {
    // EVT-11
    let (bench, mut sink) = (bench().await, Sink::start().await);
    let hook = subscribe(&bench, &sink, [EventType::EmailSent]).await;
    send(&bench);
    let request = sink.raw(1).await.remove(0);
    let verifier = WebhookVerifier::new(&hook.signing_secret).unwrap();
    verifier.verify(&request.headers, &request.body).unwrap();
    let mut body = request.body.clone();
    for at in 0..body.len() {
        body[at] ^= 1;
        assert!(verifier.verify(&request.headers, &body).is_err(), "byte {at}");
        body[at] ^= 1;
    }
    let reformatted = serde_json::to_vec_pretty(&serde_json::from_slice::<Value>(&body).unwrap()).unwrap();
    assert!(verifier.verify(&request.headers, &reformatted).is_err());
    let mut stale = request.headers.clone();
    stale.insert("svix-timestamp", "1614265330".parse().unwrap());
    assert!(verifier.verify(&stale, &request.body).is_err());
}

#[tokio::test]
async fn a_rotated_secret_keeps_signing_for_24_hours() {
    let (bench, mut sink) = (bench().await, Sink::start().await);
    let hook = subscribe(&bench, &sink, [EventType::EmailSent]).await;
    let rotated = bench.client().webhooks().rotate_secret(&hook.id).await.unwrap();
    send(&bench);
    let request = sink.raw(1).await.remove(0);
    for secret in [&hook.signing_secret, &rotated.signing_secret] {
        let verifier = WebhookVerifier::new(secret).unwrap();
        verifier.verify(&request.headers, &request.body).unwrap();
    }
    after(&bench, 86_400);
    send(&bench);
    let request = sink.raw(1).await.remove(0);
    let verify = |secret: &SigningSecret| {
        let verifier = WebhookVerifier::new(secret).unwrap();
        verifier.verify(&request.headers, &request.body).is_ok()
    };
    assert!(verify(&rotated.signing_secret));
    assert!(!verify(&hook.signing_secret));
}
