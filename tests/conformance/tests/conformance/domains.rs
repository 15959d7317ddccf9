use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderMap, HeaderValue, Method};
use idempost::{
    Client, Email, Error,
    domains::{
        Capability, Domain, DomainClaimStatus, DomainPatch, DomainStatus, NewDomain, NewDomainClaim,
        RecordPurpose, RecordStatus, RecordType, Region, Tls,
    },
    error::ApiErrorKind,
};
use idempost_conformance::{
    bench::{Bench, EXPECT, Expect, Reply},
    contract::{Contract, Request},
};
use idempost_reference_server::{Service, Settings};
use proptest::{option, prelude::*, sample::select};
use serde_json::{Value, json};

use super::{letters, with};

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

fn ask(bench: &Bench, method: Method, path: &str, body: &Value) -> Reply {
    let request = bench.request(method, path).header("content-type", "application/json");
    bench.ask(request, body.to_string())
}

fn wrong(bench: &Bench, method: Method, path: &str, body: &Value) -> Reply {
    let request = bench.request(method, path).header("content-type", "application/json");
    bench.ask(request.header(EXPECT, Expect::Refusal.as_str()), body.to_string())
}

/// Verifies the domain; the clock is moved, so the test doesn't wait.
async fn checked(bench: &Bench, id: &str) -> Domain {
    let client = bench.client();
    client.domains().verify(id).await.unwrap();
    let service = Arc::clone(bench.service());
    let wait = client.domains().wait(id).max_interval(Duration::from_millis(1));
    wait.on_poll(move |_| service.clock().advance(Duration::from_secs(1))).await.unwrap()
}

fn of(domain: &Domain, kind: &RecordPurpose) -> Vec<(String, RecordType)> {
    let records = domain.records.iter().filter(|record| record.record == *kind);
    records.map(|record| (record.name.clone(), record.kind.clone())).collect()
}

#[tokio::test]
async fn a_new_domain_has_its_records_and_the_defaults() {
    // GEN-05, DOM-01, DOM-02, DOM-07, DOM-08, DOM-09, DOM-10, DOM-11, DOM-12, DOM-13, DOM-14, DOM-15, DOM-16, DOM-17, DOM-18, DOM-19
    // DOM-21, DOM-23, DOM-26, DOM-29, DOM-30
    let bench = Bench::start().await;
    let domain = bench.client().domains().create(&NewDomain::new("acme.test")).await.unwrap();
    assert_eq!((domain.name.as_str(), domain.status.clone()), ("acme.test", Some(DomainStatus::NotStarted)));
    assert!(domain.created_at.unix_seconds().is_some());
    assert_eq!(domain.region, Some(Region::UsEast1));
    let capabilities = domain.capabilities.clone().unwrap();
    assert_eq!(capabilities.sending, Some(Capability::Enabled));
    assert_eq!(capabilities.receiving, Some(Capability::Disabled));
    assert_eq!((domain.open_tracking, domain.tracking_subdomain.clone()), (Some(false), None));
    let spf = [("send.acme.test".to_owned(), RecordType::Mx), ("send.acme.test".to_owned(), RecordType::Txt)];
    assert_eq!(of(&domain, &RecordPurpose::Spf), spf);
    let dkim = of(&domain, &RecordPurpose::Dkim);
    assert!(!dkim.is_empty());
    assert!(
        dkim.iter().all(|(name, kind)| name.ends_with("._domainkey.acme.test") && *kind == RecordType::Cname)
    );
    assert_eq!(of(&domain, &RecordPurpose::Tracking), []);
    assert_eq!(of(&domain, &RecordPurpose::ReceivingMx), []);
    for record in &domain.records {
        assert_eq!((record.ttl.as_deref(), &record.status), (Some("Auto"), &Some(RecordStatus::NotStarted)));
        assert_eq!(record.priority.is_some(), record.kind == RecordType::Mx);
    }
    let again = bench.client().domains().get(&domain.id).await.unwrap();
    assert_eq!((again.records, again.status), (domain.records, domain.status));
}

#[tokio::test]
async fn the_response_echoes_the_request() {
    // DOM-06, DOM-19, DOM-23, DOM-24, DOM-25, DOM-32
    let bench = Bench::start().await;
    for (n, region) in
        [Region::UsEast1, Region::EuWest1, Region::SaEast1, Region::ApNortheast1].into_iter().enumerate()
    {
        let name = format!("n{n}.test");
        let new = NewDomain::new(&name)
            .region(region.clone())
            .custom_return_path("bounce")
            .open_tracking(true)
            .click_tracking(n % 2 == 0)
            .tracking_subdomain("links")
            .tls(Tls::Enforced)
            .receiving(true);
        let domain = bench.client().domains().create(&new).await.unwrap();
        assert_eq!((domain.region.clone(), domain.open_tracking), (Some(region), Some(true)));
        assert_eq!(domain.click_tracking, Some(n % 2 == 0));
        assert_eq!(domain.tracking_subdomain.as_deref(), Some("links"));
        assert_eq!(of(&domain, &RecordPurpose::Spf)[0], (format!("bounce.{name}"), RecordType::Mx));
        assert_eq!(of(&domain, &RecordPurpose::Spf)[1], (format!("bounce.{name}"), RecordType::Txt));
        assert_eq!(of(&domain, &RecordPurpose::Tracking), [(format!("links.{name}"), RecordType::Cname)]);
        assert_eq!(of(&domain, &RecordPurpose::ReceivingMx), [(name, RecordType::Mx)]);
    }
    let reply = bench.post("/domains", &json!({ "name": "raw.test" }));
    let keys: BTreeSet<_> = reply.json.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "capabilities click_tracking created_at id name open_tracking records region status tracking_subdomain";
    assert_eq!((reply.status.as_u16(), keys), (201, expected.split(' ').collect()));
}

#[tokio::test]
async fn an_invalid_domain_is_refused_and_not_registered() {
    // DOM-20, DOM-22, DOM-26, DOM-31, A-35, A-36, A-37
    let bench = Bench::start().await;
    let reply = bench.post_wrong("/domains", &json!({}));
    assert_eq!((reply.status.as_u16(), reply.name()), (422, "missing_required_field"));
    assert!(reply.message().contains("`name`"));
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("acme")),
        ("name", json!("https://acme.test")),
        ("name", json!("acme.test.")),
        ("name", json!("bücher.example")),
        ("name", json!(["acme.test"])),
        ("region", json!("mars-1")),
        ("region", json!("")),
        ("region", json!(1)),
        ("custom_return_path", json!("a.b")),
        ("custom_return_path", json!("")),
        ("tracking_subdomain", json!("a b")),
        ("open_tracking", json!("true")),
        ("click_tracking", json!(0)),
        ("tls", json!("Enforced")),
        ("tls", json!("never")),
        ("capabilities", json!([])),
        ("capabilities", json!({ "sending": true })),
        ("capabilities", json!({ "sending": "disabled", "receiving": "disabled" })),
    ] {
        let mut body = json!({ "name": "acme.test" });
        body[field] = value;
        let reply = bench.post_wrong("/domains", &body);
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{body}");
        assert!(reply.message().contains(&format!("`{field}")), "{}", reply.message());
    }
    for body in [
        // Rules that a schema can't express.
        json!({ "name": "192.0.2.1" }),
        json!({ "name": "acme.test", "capabilities": { "sending": "disabled" } }),
        json!({ "name": "acme.test", "tracking_subdomain": "send" }),
        json!({ "name": "acme.test", "tracking_subdomain": "a", "custom_return_path": "A" }),
    ] {
        let reply = bench.post("/domains", &body);
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{body}");
    }
    assert_eq!(bench.get("/domains").json["data"], json!([]));
}

#[tokio::test]
async fn names_and_labels_have_the_length_limits_of_dns() {
    let bench = Bench::start().await;
    let longest = format!("{0}.{0}.{0}.{1}", letters(63), letters(61));
    bench.client().domains().create(&NewDomain::new(&longest)).await.unwrap();
    assert!(NewDomain::new(format!("{longest}x")).check().is_err());
    let too_long = bench.post_wrong("/domains", &json!({ "name": format!("{longest}x") }));
    assert_eq!(too_long.name(), "validation_error");
    for (length, fits) in [(63, true), (64, false)] {
        let label = "y".repeat(length);
        let domain = NewDomain::new(format!("{label}.test")).tracking_subdomain(&label);
        assert_eq!(domain.check().is_ok(), fits);
        let body = json!({ "name": format!("{label}.test"), "tracking_subdomain": label });
        let reply = if fits { bench.post("/domains", &body) } else { bench.post_wrong("/domains", &body) };
        assert_eq!(reply.status.is_success(), fits, "{length}");
    }
}

#[tokio::test]
async fn a_registered_name_is_refused() {
    let bench = Bench::start().await;
    let client = bench.client();
    let domain = client.domains().create(&NewDomain::new("acme.test")).await.unwrap();
    let error = client.domains().create(&NewDomain::new("ACME.test")).await.unwrap_err();
    let Error::Api(api) = error else { panic!("{error:?}") };
    assert_eq!(
        (api.status.as_u16(), api.name.as_str(), api.kind()),
        (403, "validation_error", ApiErrorKind::Validation)
    );
    assert!(client.domains().delete(&domain.id).await.unwrap().deleted);
    client.domains().create(&NewDomain::new("acme.test")).await.unwrap();
}

#[tokio::test]
async fn verify_responds_before_the_verification_ends() {
    // GEN-05, DOM-03, DOM-33, DOM-34, DOM-35, DOM-36
    let bench = Bench::start().await;
    let client = bench.client();
    let clock = bench.service().clock();
    clock.freeze();
    for (name, seconds, end) in [
        ("acme.test", 2, DomainStatus::Verified),
        ("fail.acme.test", 2, DomainStatus::Failed),
        ("slow.acme.test", 60, DomainStatus::Verified),
    ] {
        let id = client.domains().create(&NewDomain::new(name)).await.unwrap().id;
        // From not_started, from pending, and from the result of a verification.
        for from in [DomainStatus::NotStarted, end.clone()] {
            assert_eq!(client.domains().get(&id).await.unwrap().status, Some(from));
            assert_eq!(client.domains().verify(&id).await.unwrap().id, id);
            assert_eq!(bench.requests().last().unwrap().body, "", "verify has no body");
            let domain = client.domains().get(&id).await.unwrap();
            assert_eq!(domain.status, Some(DomainStatus::Pending));
            assert!(domain.records.iter().all(|record| record.status == Some(RecordStatus::Pending)));
            client.domains().verify(&id).await.unwrap();
            clock.advance(Duration::from_millis(seconds * 1_000 - 1));
            assert_eq!(client.domains().get(&id).await.unwrap().status, Some(DomainStatus::Pending));
            clock.advance(Duration::from_millis(1));
            let domain = client.domains().get(&id).await.unwrap();
            assert_eq!(domain.status, Some(end.clone()), "{name}");
            let status =
                if end == DomainStatus::Failed { RecordStatus::Failed } else { RecordStatus::Verified };
            assert!(domain.records.iter().all(|record| record.status.as_ref() == Some(&status)));
        }
    }
    let raw = bench.ask(bench.request(Method::POST, &format!("/domains/{UNKNOWN_ID}/verify")), Bytes::new());
    assert_eq!((raw.status.as_u16(), raw.name()), (404, "not_found"));
}

#[tokio::test]
async fn a_wait_ends_with_the_verification() {
    // DOM-03, DOM-34
    let bench = Bench::start().await;
    let create = async |name: &str| {
        let new = NewDomain::new(name).tracking_subdomain("links").receiving(true);
        bench.client().domains().create(&new).await.unwrap().id
    };
    for (name, end) in [
        ("acme.test", DomainStatus::Verified),
        ("slow.acme.test", DomainStatus::Verified),
        ("fail.acme.test", DomainStatus::Failed),
        ("partial.acme.test", DomainStatus::PartiallyVerified),
    ] {
        let id = create(name).await;
        assert_eq!(checked(&bench, id.as_str()).await.status, Some(end), "{name}");
    }
    bench.service().clock().advance(Duration::from_mins(1));
    let list = bench.client().domains().list().await.unwrap();
    let partial = list.data.iter().find(|domain| domain.name == "partial.acme.test").unwrap();
    assert_eq!(partial.status, Some(DomainStatus::PartiallyFailed));
    let id = create("other.test").await;
    let error = bench.client().domains().wait(&id).max_wait(Duration::from_millis(1)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "timed out after 0 s waiting for a terminal state; the last status is not_started"
    );
}

#[tokio::test]
async fn an_update_changes_only_the_given_fields() {
    // DOM-06, DOM-19, DOM-24, DOM-25
    let bench = Bench::start().await;
    let client = bench.client();
    let id = client.domains().create(&NewDomain::new("acme.test").open_tracking(true)).await.unwrap().id;
    checked(&bench, id.as_str()).await;
    let patch = DomainPatch::new()
        .tracking_subdomain("links")
        .receiving(true)
        .tls(Tls::Enforced)
        .click_tracking(true);
    assert_eq!(client.domains().update(&id, &patch).await.unwrap().id, id);
    let domain = client.domains().get(&id).await.unwrap();
    assert_eq!(
        (domain.open_tracking, domain.click_tracking, domain.status),
        (Some(true), Some(true), Some(DomainStatus::Verified))
    );
    let new: Vec<_> =
        domain.records.iter().filter(|record| record.status == Some(RecordStatus::NotStarted)).collect();
    assert_eq!(
        new.iter().map(|record| record.name.as_str()).collect::<Vec<_>>(),
        ["acme.test", "links.acme.test"]
    );
    client.domains().update(&id, &DomainPatch::new().clear_tracking_subdomain()).await.unwrap();
    let domain = client.domains().get(&id).await.unwrap();
    assert_eq!((domain.tracking_subdomain, domain.records.len()), (None, 6));

    let route = format!("/domains/{id}");
    assert_eq!(ask(&bench, Method::PATCH, &route, &json!({})).status, 200);
    for body in [
        json!({ "tls": "x" }),
        json!({ "open_tracking": "x" }),
        json!({ "tracking_subdomain": "a.b" }),
        json!({ "capabilities": { "sending": "disabled", "receiving": "disabled" } }),
        json!([]),
    ] {
        let reply = wrong(&bench, Method::PATCH, &route, &body);
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{body}");
    }
    client.domains().update(&id, &DomainPatch::new().receiving(false)).await.unwrap();
    let last = ask(&bench, Method::PATCH, &route, &json!({ "capabilities": { "sending": "disabled" } }));
    assert_eq!(
        (last.status.as_u16(), last.name()),
        (422, "validation_error"),
        "the other capability is disabled"
    );
}

#[tokio::test]
async fn an_unusual_id_never_reaches_another_route() {
    let bench = Bench::start().await;
    let client = bench.client();
    client.domains().create(&NewDomain::new("acme.test")).await.unwrap();
    for id in ["a/b", "a?b", "a#b", "a%2Fb", "a@b", "a+b", "a b", "a/../../emails", "acme.test", "é"] {
        let results = [
            client.domains().get(id).await.map(drop),
            client.domains().update(id, &DomainPatch::new().open_tracking(true)).await.map(drop),
            client.domains().delete(id).await.map(drop),
            client.domains().verify(id).await.map(drop),
        ];
        for result in results {
            let Err(Error::Api(api)) = result else { panic!("{id}: {result:?}") };
            assert_eq!((api.status.as_u16(), api.name.as_str()), (422, "invalid_parameter"), "{id}");
        }
    }
    for id in ["", ".", ".."] {
        assert!(matches!(client.domains().get(id).await, Err(Error::Invalid(_))), "{id:?}");
    }
    for result in [
        client.domains().get(UNKNOWN_ID).await.map(drop),
        client.domains().update(UNKNOWN_ID, &DomainPatch::new().open_tracking(true)).await.map(drop),
        client.domains().delete(UNKNOWN_ID).await.map(drop),
        client.domains().verify(UNKNOWN_ID).await.map(drop),
    ] {
        let Err(Error::Api(api)) = result else { panic!("{result:?}") };
        assert_eq!(api.kind(), ApiErrorKind::NotFound);
    }
    assert_eq!(client.domains().list().await.unwrap().data.len(), 1);
}

#[tokio::test]
async fn the_list_is_one_page_by_default() {
    // LIST-B1, LIST-B2, LIST-B3, LIST-B4
    let bench = Bench::start().await;
    let client = bench.client();
    for n in 0..150 {
        client.domains().create(&NewDomain::new(format!("n{n}.test"))).await.unwrap();
    }
    let names = |domains: Vec<idempost::domains::DomainSummary>| -> Vec<_> {
        domains.into_iter().map(|domain| domain.name).collect()
    };
    let all = client.domains().list().await.unwrap();
    let (more, newest) = (all.has_more, all.data[0].id.clone());
    let all = names(all.data);
    assert_eq!((all.len(), all[0].as_str(), more), (150, "n149.test", false));
    assert_eq!(names(client.domains().list().stream().try_collect().await.unwrap()), all);
    for limit in [1, 2, 100] {
        let part = || client.domains().list().page_size(limit);
        let page = part().await.unwrap();
        assert_eq!((page.has_more, page.data.len()), (true, usize::from(limit)));
        let cursor = page.data.last().unwrap().id.clone();
        let page = part().after(cursor.as_str()).await.unwrap();
        let (from, to) = (usize::from(limit), (2 * usize::from(limit)).min(150));
        assert_eq!((page.has_more, names(page.data)), (to < 150, all[from..to].to_vec()));
        let back = part().before(cursor.as_str()).await.unwrap();
        assert_eq!((back.has_more, names(back.data)), (false, all[..from - 1].to_vec()));
    }
    let both = format!("after={newest}&before={newest}");
    for query in
        ["limit=0", "limit=101", "limit=-1", "limit=x", "after=x", &format!("after={UNKNOWN_ID}"), &both]
    {
        let request = bench.request(Method::GET, &format!("/domains?{query}"));
        let breaks = query.starts_with("limit");
        let request = if breaks { request.header(EXPECT, Expect::Refusal.as_str()) } else { request };
        let reply = bench.ask(request, Bytes::new());
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{query}");
    }
}

#[tokio::test]
async fn a_strict_service_sends_only_from_verified_domains() {
    // GEN-05
    let bench = Bench::with(Settings { strict_domains: true, ..Settings::default() }).await;
    let send = |from: &str| bench.post("/emails", &with(json!({ "from": from }))).status.as_u16();
    let id = bench.client().domains().create(&NewDomain::new("acme.test")).await.unwrap().id;
    assert_eq!(send("hi@acme.test"), 403);
    checked(&bench, id.as_str()).await;
    assert_eq!((send("hi@acme.test"), send("hi@sub.acme.test"), send("hi@other.test")), (200, 403, 403));
    bench.client().domains().verify(&id).await.unwrap();
    assert_eq!(send("hi@acme.test"), 200, "while it is verified again");
    bench.client().domains().delete(&id).await.unwrap();
    assert_eq!(send("hi@acme.test"), 403);
}

#[tokio::test]
async fn tls_is_opportunistic_or_enforced() {
    // DOM-26, DOM-27, DOM-28
    let bench = Bench::start().await;
    let client = bench.client();
    client.domains().create(&NewDomain::new("open.test")).await.unwrap();
    client.domains().create(&NewDomain::new("closed.test").tls(Tls::Enforced)).await.unwrap();
    for (from, event, mails) in [("a@open.test", "delivered", 1), ("a@closed.test", "failed", 0)] {
        let before = bench.mails().len();
        let reply = bench.post("/emails", &with(json!({ "from": from, "to": "no-tls@example.com" })));
        bench.service().clock().advance(Duration::from_secs(5));
        let record = bench.get(&format!("/emails/{}", reply.json["id"].as_str().unwrap())).json;
        assert_eq!((&record["last_event"], bench.mails().len() - before), (&json!(event), mails), "{from}");
    }
}

#[tokio::test]
async fn tracking_requires_a_verified_subdomain() {
    // DOM-04, DOM-05, DOM-24
    let bench = Bench::start().await;
    let client = bench.client();
    let html = r#"<a href="https://a.test/">a</a>"#;
    let tracked = || {
        bench.post("/emails", &with(json!({ "from": "hi@acme.test", "html": html })));
        let mail = bench.mails().remove(0);
        let mime = mail_parser::MessageParser::default()
            .parse(&mail.mime[..])
            .unwrap()
            .body_html(0)
            .unwrap()
            .into_owned();
        (mime.contains("https://links.acme.test/open/"), mime.contains("https://links.acme.test/click/"))
    };
    let new = NewDomain::new("acme.test").open_tracking(true).click_tracking(true);
    let id = client.domains().create(&new).await.unwrap().id;
    checked(&bench, id.as_str()).await;
    assert_eq!(tracked(), (false, false), "no subdomain");
    client.domains().update(&id, &DomainPatch::new().tracking_subdomain("links")).await.unwrap();
    assert_eq!(tracked(), (false, false), "not verified");
    let domain = checked(&bench, id.as_str()).await;
    assert_eq!((domain.open_tracking, domain.click_tracking), (Some(true), Some(true)));
    assert_eq!(tracked(), (true, true));
    client.domains().update(&id, &DomainPatch::new().click_tracking(false)).await.unwrap();
    assert_eq!(tracked(), (true, false));
}

#[tokio::test]
async fn a_scheduled_email_is_rescheduled_or_canceled() {
    // EMAIL-14, SENT-10
    let bench = Bench::start().await;
    let client = bench.client();
    let clock = bench.service().clock();
    clock.freeze();
    clock.set("2030-01-01T00:00:00Z".parse().unwrap());
    let scheduled = || {
        let reply = bench.post("/emails", &with(json!({ "scheduled_at": "in 1 hour" })));
        reply.json["id"].as_str().unwrap().to_owned()
    };
    let (late, never) = (scheduled(), scheduled());
    assert_eq!(client.emails().reschedule(late.as_str(), "in 2 hours").await.unwrap().id.as_str(), late);
    for _ in 0..2 {
        assert_eq!(client.emails().cancel(never.as_str()).await.unwrap().id.as_str(), never);
    }
    clock.advance(Duration::from_secs(7_199));
    assert!(bench.mails().is_empty());
    clock.advance(Duration::from_secs(1));
    let left: Vec<_> = bench.mails().into_iter().map(|mail| mail.email_id).collect();
    assert_eq!(left, std::slice::from_ref(&late));
    let record = client.emails().wait(never.as_str()).await.unwrap();
    assert_eq!(record.last_event.unwrap().as_str(), "canceled");
    for result in [
        client.emails().cancel(late.as_str()).await,
        client.emails().reschedule(late.as_str(), "in 1 hour").await,
        client.emails().reschedule(never.as_str(), "in 1 hour").await,
    ] {
        let Err(Error::Api(api)) = result else { panic!("{result:?}") };
        assert_eq!((api.status.as_u16(), api.name.as_str()), (403, "validation_error"));
    }
    for (id, status) in [(UNKNOWN_ID, 404), ("a/b", 422)] {
        for result in [client.emails().cancel(id).await, client.emails().reschedule(id, "in 1 hour").await] {
            let Err(Error::Api(api)) = result else { panic!("{result:?}") };
            assert_eq!(api.status.as_u16(), status, "{id}");
        }
    }
    let path = format!("/emails/{}", scheduled());
    for (body, name) in [
        (json!({}), "missing_required_field"),
        (json!({ "scheduled_at": 5 }), "validation_error"),
        (json!({ "scheduled_at": "" }), "validation_error"),
    ] {
        assert_eq!(wrong(&bench, Method::PATCH, &path, &body).name(), name, "{body}");
    }
    let past = ask(&bench, Method::PATCH, &path, &json!({ "scheduled_at": "2020-01-01T00:00:00Z" }));
    assert_eq!((past.status.as_u16(), past.name()), (422, "validation_error"));
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("acme.test".to_owned()),
        2 => "[a-zA-Z0-9-]{1,3}(\\.[a-z0-9-]{1,3}){0,3}",
        1 => select(&["", ".", "a..b", "é.test", "a b.test", "https://a.test", "1.2.3.4", "a.test.", "a_b.test"][..]).prop_map(str::to_owned),
        1 => select(&[62_usize, 63, 64][..]).prop_map(|length| format!("{}.test", "x".repeat(length))),
        1 => any::<String>(),
    ]
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(&["send", "links", "a", "a-b", "Send", "-", "a-", "a.b", "", "é", "_"][..]).prop_map(str::to_owned),
        1 => select(&[63_usize, 64][..]).prop_map(|length| "x".repeat(length)),
    ]
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

prop_compose! {
    fn domain()(
        name in name(),
        region in option::weighted(0.3, word(&["us-east-1", "eu-west-1", "mars-1", ""])),
        return_path in option::weighted(0.3, label()),
        tracking in option::weighted(0.3, label()),
        tls in option::weighted(0.3, word(&["opportunistic", "enforced", "ENFORCED"])),
        sending in option::weighted(0.4, any::<bool>()),
        receiving in option::weighted(0.4, any::<bool>()),
    ) -> NewDomain {
        let mut domain = NewDomain::new(name);
        if let Some(region) = region {
            domain = domain.region(Region::from(region));
        }
        if let Some(label) = return_path {
            domain = domain.custom_return_path(label);
        }
        if let Some(label) = tracking {
            domain = domain.tracking_subdomain(label);
        }
        if let Some(tls) = tls {
            domain = domain.tls(Tls::from(tls));
        }
        if let Some(on) = sending {
            domain = domain.sending(on);
        }
        if let Some(on) = receiving {
            domain = domain.receiving(on);
        }
        domain
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn validation_contract_and_service_agree_on_domains(domain in domain()) {
        let client = Client::new("http://127.0.0.1:1", "sb_test").unwrap();
        let service = Service::new(Settings::default());
        let body = Bytes::from(serde_json::to_vec(&domain).unwrap());
        let preview = client.domains().create(&domain).unchecked().preview().unwrap();
        let mut headers: HeaderMap = preview.headers().clone();
        headers.insert("authorization", HeaderValue::from_static("Bearer sb_test"));
        let mut asked = http::Request::post("/domains").body(body.clone()).unwrap();
        *asked.headers_mut() = headers.clone();
        let request = Request { method: Method::POST, path: "/domains".into(), query: String::new(), headers, body };
        let breaches = Contract::get().breaches_of_request(&request);
        let checked = domain.check();
        let answer = service.handle(asked);
        let accepted = answer.status().is_success();
        prop_assert!(checked.is_err() || breaches.is_empty(), "the client accepts: {breaches:?}");
        prop_assert_eq!(accepted, checked.is_ok(), "{:?} {:?}", checked, answer);
    }
}

#[tokio::test]
async fn a_claimed_domain_is_published_and_verified_again() {
    // DOM-38
    let bench = Bench::with(Settings { strict_domains: true, ..Settings::default() }).await;
    let (client, owner) = (bench.client(), bench.builder().api_key("sb_owner").build().unwrap());
    let before = owner.domains().create(&NewDomain::new("acme.test")).await.unwrap();
    owner.domains().verify(&before.id).await.unwrap();
    bench.service().clock().advance(Duration::from_secs(2));
    let claim = client.domains().claim(&NewDomainClaim::new("acme.test")).await.unwrap();
    let record = claim.record.unwrap();
    assert_eq!((record.kind, record.name.as_str()), (RecordType::Txt, "acme.test"));
    let id = claim.domain_id.unwrap();
    client.domains().verify_claim(&id).await.unwrap();
    let service = Arc::clone(bench.service());
    let wait = client.domains().wait_for_claim(&id).max_interval(Duration::from_millis(1));
    let claim = wait.on_poll(move |_| service.clock().advance(Duration::from_secs(1))).await.unwrap();
    assert_eq!(claim.status, Some(DomainClaimStatus::Completed));
    let send = async || {
        client.emails().send(&Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")).await
    };
    assert!(send().await.is_err(), "it isn't verified yet");
    let domain = client.domains().get(&id).await.unwrap();
    assert_eq!(domain.status, Some(DomainStatus::NotStarted));
    let (old, new) = (of(&before, &RecordPurpose::Dkim), of(&domain, &RecordPurpose::Dkim));
    assert!(new.len() == 3 && new.iter().all(|record| !old.contains(record)), "the DKIM records are new");
    checked(&bench, id.as_str()).await;
    send().await.unwrap();

    for wrong_body in [json!({}), json!({"name": "acme.test", "tls": "enforced", "region": "mars"})] {
        assert_eq!(wrong(&bench, Method::POST, "/domains/claim", &wrong_body).status, 422);
    }
    assert_eq!(ask(&bench, Method::POST, "/domains/claim", &json!({"name": "free.test"})).status, 422);
    assert_eq!(bench.get(&format!("/domains/{UNKNOWN_ID}/claim")).status, 404);
}
