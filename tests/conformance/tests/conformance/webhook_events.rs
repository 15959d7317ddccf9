//! The events of a webhook: listed, shown and replayed with the client.

use std::collections::BTreeSet;

use futures_util::TryStreamExt as _;
use idempost::{
    Error, WebhookId,
    contacts::NewContact,
    error::ApiErrorKind,
    webhooks::{EventData, EventType, NewWebhook, WebhookEventStatus},
};
use idempost_conformance::bench::Bench;
use idempost_conformance::sink::Sink;

#[tokio::test]
async fn events_are_listed_shown_and_replayed() {
    // EVT-10, EVT-12
    let (bench, mut sink) = (Bench::start().await, Sink::start().await);
    let client = bench.client();
    let webhooks = client.webhooks();
    let hook = webhooks.create(&NewWebhook::new(sink.address(), [EventType::ContactCreated])).await.unwrap();
    for number in 0..23 {
        let contact = NewContact::new(format!("person{number}@example.com"));
        client.contacts().create(&contact).await.unwrap();
    }
    let delivered = sink.raw(23).await;
    let sent: BTreeSet<_> =
        delivered.iter().map(|one| one.headers["svix-id"].to_str().unwrap().to_owned()).collect();
    assert_eq!(sent.len(), 23, "event IDs are unique");

    let page = webhooks.events(&hook.id).await.unwrap();
    assert_eq!((page.data.len(), page.has_more), (20, true));
    let walked: Vec<_> = webhooks.events(&hook.id).page_size(7).stream().try_collect().await.unwrap();
    let ids: BTreeSet<_> = walked.iter().map(|event| event.id.to_string()).collect();
    assert_eq!((walked.len(), ids), (23, sent), "the IDs are those of the deliveries");
    let newest = &walked[0];
    assert_eq!(newest.kind, EventType::ContactCreated);
    assert!(newest.created_at.as_ref().unwrap().as_str().ends_with('Z'));

    let event = webhooks.event(&hook.id, &newest.id).await.unwrap();
    let payload = event.payload.unwrap();
    let EventData::ContactCreated(contact) = &payload.data else { panic!("{:?}", payload.data) };
    assert_eq!(contact.email.as_deref(), Some("person22@example.com"));
    let first = delivered.iter().find(|one| one.headers["svix-id"] == newest.id.as_str()).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!(payload.raw(), &body, "the payload is the delivered body");

    assert_eq!(webhooks.replay(&hook.id, &newest.id).await.unwrap().id, newest.id);
    let again = sink.raw(1).await.remove(0);
    assert_eq!((&again.headers["svix-id"], &again.body), (&first.headers["svix-id"], &first.body));
    let attempts = loop {
        // An outcome is recorded shortly after the endpoint has responded.
        let attempts = webhooks.attempts(&hook.id, &newest.id).await.unwrap().data;
        if attempts.len() == 2 {
            break attempts;
        }
        tokio::task::yield_now().await;
    };
    assert!(attempts.iter().all(|attempt| attempt.http_status_code == Some(200)), "{attempts:?}");
    let event = webhooks.event(&hook.id, &newest.id).await.unwrap();
    assert_eq!((event.status, event.next_attempt_at), (Some(WebhookEventStatus::Success), None));

    let refused = |error: Error| match error {
        Error::Api(error) => error.kind(),
        other => panic!("{other}"),
    };
    let other = webhooks.create(&NewWebhook::new(sink.address(), [EventType::EmailSent])).await.unwrap();
    let error = webhooks.event(&other.id, &newest.id).await.unwrap_err();
    assert_eq!(refused(error), ApiErrorKind::NotFound, "the event belongs to another webhook");
    let error = webhooks.replay(&other.id, &newest.id).await.unwrap_err();
    assert_eq!(refused(error), ApiErrorKind::NotFound);
    webhooks.delete(&hook.id).await.unwrap();
    for gone in [hook.id, WebhookId::from("4dd369bc-aa82-4ff3-97de-514ae3000ee0")] {
        let error = webhooks.events(&gone).await.unwrap_err();
        assert_eq!(refused(error), ApiErrorKind::NotFound);
        let error = webhooks.rotate_secret(&gone).await.unwrap_err();
        assert_eq!(refused(error), ApiErrorKind::NotFound);
    }
}
