use futures_util::TryStreamExt as _;
use http::Method;
use idempost::{
    api_keys::NewApiKey,
    webhooks::{EventType, NewWebhook, WebhookPatch, WebhookStatus},
};
use idempost_conformance::bench::Bench;
use serde_json::json;

fn hook() -> NewWebhook {
    NewWebhook::new("https://acme.test/hook", [EventType::EmailSent, EventType::DomainUpdated])
}

#[tokio::test]
async fn a_webhook_is_created_listed_updated_and_deleted() {
    // HOOK-01, HOOK-02, HOOK-03, HOOK-06, HOOK-07, HOOK-08, HOOK-09, HOOK-10, HOOK-11, HOOK-14
    let bench = Bench::start().await;
    let client = bench.client();
    let made = client.webhooks().create(&hook()).await.unwrap();
    assert!(made.signing_secret.expose().starts_with("whsec_"));
    let listed = client.webhooks().list().await.unwrap().data.remove(0);
    assert_eq!((&listed.id, listed.status), (&made.id, Some(WebhookStatus::Enabled)));
    assert_eq!(listed.events, Some(vec![EventType::EmailSent, EventType::DomainUpdated]));
    let raw = bench.get("/webhooks").json["data"][0].clone();
    let fields: Vec<_> = raw.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["id", "created_at", "status", "endpoint", "events"]);

    for (patch, field, value) in [
        (WebhookPatch::new().endpoint("https://b.test/"), "endpoint", json!("https://b.test/")),
        (WebhookPatch::new().events([EventType::EmailReceived]), "events", json!(["email.received"])),
        (WebhookPatch::new().status(WebhookStatus::Disabled), "status", json!("disabled")),
        (WebhookPatch::new().status(WebhookStatus::Disabled), "status", json!("disabled")),
        (WebhookPatch::new().status(WebhookStatus::Enabled), "status", json!("enabled")),
        (WebhookPatch::new().status(WebhookStatus::Enabled), "status", json!("enabled")),
        (WebhookPatch::new(), "status", json!("enabled")),
    ] {
        let path = format!("/webhooks/{}", made.id);
        let mut expected = bench.get(&path).json;
        expected[field] = value;
        let answer = client.webhooks().update(&made.id, &patch).with_response().await.unwrap();
        assert_eq!(answer.body, json!({ "object": "webhook", "id": made.id }).to_string());
        assert_eq!(bench.get(&path).json, expected);
    }
    let whole = client.webhooks().get(&made.id).await.unwrap();
    assert_eq!(whole.signing_secret.unwrap().expose(), made.signing_secret.expose());
    assert!(client.webhooks().delete(&made.id).await.unwrap().deleted);
    assert_eq!(bench.get(&format!("/webhooks/{}", made.id)).status, 404);
}

#[tokio::test]
async fn invalid_webhooks_are_refused() {
    // HOOK-04, HOOK-05, A-43
    let bench = Bench::start().await;
    for (body, name) in [
        (json!({ "events": ["email.sent"] }), "missing_required_field"),
        (json!({ "endpoint": "https://acme.test" }), "missing_required_field"),
        (json!({ "endpoint": "not a url", "events": ["email.sent"] }), "validation_error"),
        (json!({ "endpoint": "https://acme.test", "events": [] }), "validation_error"),
        (json!({ "endpoint": "https://acme.test", "events": "email.sent" }), "validation_error"),
        (json!({ "endpoint": "https://acme.test", "events": ["email.snet"] }), "validation_error"),
    ] {
        let reply = bench.post_wrong("/webhooks", &body);
        assert_eq!((reply.status.as_u16(), reply.name()), (422, name), "{body}");
    }
    assert_eq!(bench.get("/webhooks").json["data"], json!([]));
}

#[tokio::test]
async fn webhooks_and_keys_are_listed_on_one_page_or_in_pages() {
    // HOOK-13
    let bench = Bench::start().await;
    let client = bench.client();
    for n in 0..25 {
        client.webhooks().create(&hook()).await.unwrap();
        client.api_keys().create(&NewApiKey::new(n.to_string())).await.unwrap();
    }
    assert_eq!(client.webhooks().list().await.unwrap().data.len(), 25);
    assert_eq!(client.api_keys().list().await.unwrap().data.len(), 25);
    let hooks: Vec<_> = client.webhooks().list().page_size(10).stream().try_collect().await.unwrap();
    let keys: Vec<_> = client.api_keys().list().page_size(10).stream().try_collect().await.unwrap();
    assert_eq!((hooks.len(), keys.len()), (25, 25));
    for path in ["/webhooks", "/api-keys"] {
        for wrong in ["limit=0", "limit=101"] {
            assert_eq!(bench.get_wrong(&format!("{path}?{wrong}")).status, 422, "{path} {wrong}");
        }
        assert_eq!(bench.get(&format!("{path}?after=x")).status, 422, "{path}");
    }
}

#[tokio::test]
async fn a_created_key_works_until_it_is_deleted() {
    let bench = Bench::start().await;
    let client = bench.client();
    let made = client.api_keys().create(&NewApiKey::new("CI").sending_access()).await.unwrap();
    let other = bench.builder().api_key(made.token.expose()).build().unwrap();
    other
        .emails()
        .send(&idempost::Email::new("hi@acme.test", "ada@example.com", "Hi").text("x"))
        .await
        .unwrap();
    assert_eq!(bench.mails().len(), 1);
    assert!(other.emails().list().await.is_err());
    client.api_keys().rename(&made.id, "Build").await.unwrap();
    let listed = client.api_keys().list().await.unwrap().data.remove(0);
    assert_eq!((listed.name.as_str(), listed.last_used_at.is_some()), ("Build", true));
    assert!(client.api_keys().delete(&made.id).await.unwrap().deleted);
    assert!(other.emails().list().await.is_err());
    let entries = client.logs().list().await.unwrap().data;
    for entry in entries {
        let whole = client.logs().get(&entry.id).await.unwrap();
        let bodies = format!("{:?} {:?}", whole.request_body, whole.response_body);
        assert!(!bodies.contains(made.token.expose()), "{bodies}");
    }
    assert_eq!(bench.ask(bench.request(Method::GET, "/logs/x"), "").status, 422);
}
