//! Domains: requests, and unexpected responses.

use http::Method;
use idempost::{
    Outcome,
    domains::{DomainPatch, DomainStatus, NewDomain},
};
use serde_json::{Value, json};

use super::script::{Reply, Script};

fn domain() -> Value {
    json!({"id": "d1", "name": "acme.test", "created_at": "2026-11-21 04:46:00.123456+00", "status": "not_started",
    "open_tracking": false, "click_tracking": true, "tracking_subdomain": null, "region": "eu-west-1",
    "capabilities": {"sending": "enabled", "receiving": "disabled"},
    "records": [
        {"record": "SPF", "name": "send.acme.test", "type": "MX", "value": "v", "ttl": "Auto", "status": "not_started", "priority": 10},
        {"record": "DKIM", "name": "k._domainkey.acme.test", "type": "CNAME", "value": "v", "ttl": "Auto", "status": "not_started"},
    ]})
}

#[tokio::test(start_paused = true)]
async fn every_operation_has_its_method_and_path() {
    // DOM-33, DOM-35
    let named = || Reply::json(200, json!({ "object": "domain", "id": "d/1" }));
    let deleted = Reply::json(200, json!({ "object": "domain", "id": "d/1", "deleted": true }));
    let script =
        Script::of([Reply::json(201, domain()), Reply::json(200, domain()), named(), deleted, named()]);
    let client = script.client();
    client.domains().create(&NewDomain::new("acme.test")).await.unwrap();
    client.domains().get("d/1").await.unwrap();
    client.domains().update("d/1", &DomainPatch::new().clear_tracking_subdomain()).await.unwrap();
    assert!(client.domains().delete("d/1").await.unwrap().deleted);
    assert_eq!(client.domains().verify("d/1").await.unwrap().id.as_str(), "d/1");
    let seen: Vec<_> = script
        .seen()
        .into_iter()
        .map(|seen| (seen.method, seen.url.as_str().replace("http://127.0.0.1:9/prefix", ""), seen.body))
        .collect();
    let expected = [
        (Method::POST, "/domains", r#"{"name":"acme.test"}"#),
        (Method::GET, "/domains/d%2F1", ""),
        (Method::PATCH, "/domains/d%2F1", r#"{"tracking_subdomain":null}"#),
        (Method::DELETE, "/domains/d%2F1", ""),
        (Method::POST, "/domains/d%2F1/verify", ""),
    ];
    for (seen, (method, path, body)) in seen.iter().zip(expected) {
        assert_eq!((seen.0.as_str(), seen.1.as_str(), &*seen.2), (method.as_str(), path, body.as_bytes()));
    }
    assert_eq!(seen.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn added_and_missing_fields_are_tolerated() {
    // DOM-11, DOM-12, DOM-16, GEN-33
    let mut strange = domain();
    strange["status"] = json!("dreaming");
    strange["region"] = json!("mars-1");
    strange["records"] = json!([
        {"record": "BIMI", "name": "n", "type": "SVCB", "value": "v", "priority": null, "proxy_status": "enable"}
    ]);
    let bare =
        json!({"id": "d2", "name": "b.test", "created_at": "someday", "records": null, "capabilities": {}});
    let script = Script::of([
        Reply::json(200, strange),
        Reply::json(200, bare.clone()),
        Reply::json(200, json!({ "object": "list", "data": [bare] })),
    ]);
    let client = script.client();
    let found = client.domains().get("d1").await.unwrap();
    assert!(matches!(found.status, Some(DomainStatus::Unknown(_))));
    assert_eq!(found.region.unwrap().as_str(), "mars-1");
    assert_eq!((found.records[0].record.as_str(), found.records[0].kind.as_str()), ("BIMI", "SVCB"));
    let found = client.domains().get("d2").await.unwrap();
    assert_eq!((found.records.len(), found.status, found.region), (0, None, None));
    let page = client.domains().list().await.unwrap();
    assert_eq!((page.data[0].name.as_str(), page.data[0].status.clone()), ("b.test", None));
}

#[tokio::test(start_paused = true)]
async fn a_verification_is_retried_and_a_registration_is_not() {
    // DOM-36
    let named = Reply::json(200, json!({ "object": "domain", "id": "d1" }));
    let script = Script::of([Reply::connection_lost(), named]);
    script.client().domains().verify("d1").await.unwrap();
    assert_eq!(script.seen().len(), 2);
    let script = Script::of([Reply::connection_lost()]);
    let error = script.client().domains().create(&NewDomain::new("acme.test")).await.unwrap_err();
    assert_eq!((error.outcome(), script.seen().len()), (Outcome::Unknown, 1));
}

#[tokio::test(start_paused = true)]
async fn an_email_is_rescheduled_and_canceled_by_its_id() {
    // EMAIL-16
    let named = || Reply::json(200, json!({ "object": "email", "id": "e1" }));
    let script = Script::of([named(), Reply::connection_lost(), named()]);
    let client = script.client();
    assert_eq!(client.emails().reschedule("e1", "in 2 hours").await.unwrap().id.as_str(), "e1");
    client.emails().cancel("e1").await.unwrap();
    assert!(client.emails().reschedule("e1", "").await.is_err());
    let seen = script.seen();
    assert_eq!(
        (seen[0].method.as_str(), &*seen[0].body),
        ("PATCH", &br#"{"scheduled_at":"in 2 hours"}"#[..])
    );
    assert!(seen[0].url.as_str().ends_with("/emails/e1"));
    assert_eq!((seen[2].method.as_str(), seen[2].body.len(), seen.len()), ("POST", 0, 3));
    assert!(seen[2].url.as_str().ends_with("/emails/e1/cancel"));
}
