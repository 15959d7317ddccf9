//! Events delivered to a real endpoint, verified and decoded with the client's own code.

use std::time::Duration;

use idempost::webhooks::{CreatedWebhook, EventData, EventType, NewWebhook, WebhookPayload};
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
async fn every_event_type_keeps_the_contract_and_is_decoded() {
    // EVT-09
    let (bench, mut sink) = (bench().await, Sink::start().await);
    let mut types: Vec<_> = Contract::get().event_types().map(str::to_owned).collect();
    types.sort_unstable();
    let hook = subscribe(&bench, &sink, types.iter().cloned().map(EventType::from)).await;
    for kind in &types {
        let made = bench.post_odd("/_/events", &json!({ "type": kind }));
        assert_eq!(made.status, 201, "{kind}");
    }
    let delivered = sink.next(types.len(), &hook.signing_secret).await;
    assert_eq!(kinds(&delivered), types);
    for event in delivered {
        assert!(!matches!(event.data, EventData::Other(_)), "{}: {:?}", event.kind, event.data);
    }
}
