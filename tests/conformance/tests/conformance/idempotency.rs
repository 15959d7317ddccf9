use std::{collections::HashSet, time::Duration};

use http::Method;
use idempost::{BatchEmail, Email, Error, IdempotencyKey};
use idempost_conformance::bench::{Bench, EXPECT, Expect, Reply};
use idempost_reference_server::faults::{Action, Rule};
use serde_json::{Value, json};

use super::{least, letters, with};

const ROUTES: [&str; 2] = ["/emails", "/emails/batch"];

fn body(path: &str, email: Value) -> Value {
    if path == "/emails/batch" { json!([email]) } else { email }
}

fn keyed(bench: &Bench, path: &str, key: &str, email: Value) -> Reply {
    let request = bench.request(Method::POST, path).header("content-type", "application/json");
    bench.ask(request.header("idempotency-key", key), body(path, email).to_string())
}

fn email() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")
}

#[tokio::test]
async fn a_key_is_optional_for_the_service() {
    // EMAIL-02
    let bench = Bench::start().await;
    assert_eq!(bench.post("/emails", &least()).status, 200);
    assert_eq!(keyed(&bench, "/emails", "k", least()).status, 200);
    assert_eq!(bench.mails().len(), 2);
}

#[tokio::test]
async fn a_given_key_is_sent_unchanged() {
    // IDEM-01, IDEM-10
    let bench = Bench::start().await;
    let client = bench.client();
    client.emails().send(&email()).idempotency_key("order-17").await.unwrap();
    let batch = [BatchEmail::new("hi@acme.test", "ada@example.com", "Hello").text("x")];
    client
        .emails()
        .send_batch(&batch)
        .idempotency_key(IdempotencyKey::new("order 18").unwrap())
        .await
        .unwrap();
    let keys: Vec<_> =
        bench.requests().iter().map(|request| request.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys, ["order-17", "order 18"]);
}

#[tokio::test]
async fn every_send_without_a_key_gets_a_random_one() {
    // IDEM-05, IDEM-10, A-19
    let bench = Bench::start().await;
    let client = bench.client();
    let batch = [BatchEmail::new("hi@acme.test", "ada@example.com", "Hello").text("x")];
    for _ in 0..10 {
        client.emails().send(&email()).await.unwrap();
        client.emails().send_batch(&batch).await.unwrap();
    }
    let keys: HashSet<_> =
        bench.requests().iter().map(|request| request.headers["idempotency-key"].clone()).collect();
    assert_eq!((keys.len(), bench.mails().len()), (20, 20));
    client.emails().list().await.unwrap();
    assert!(!bench.requests().last().unwrap().headers.contains_key("idempotency-key"));
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_response_and_sends_nothing() {
    // IDEM-07, IDEM-10
    let bench = Bench::start().await;
    for path in ROUTES {
        let before = bench.mails().len();
        let first = keyed(&bench, path, "k", least());
        let second = keyed(&bench, path, "k", least());
        assert_eq!((first.status, &first.json), (second.status, &second.json));
        assert_eq!(bench.mails().len(), before + 1, "{path}");
    }
}

#[tokio::test]
async fn the_client_reports_a_repeated_response() {
    let bench = Bench::start().await;
    let send = || bench.client().emails().send(&email()).idempotency_key("k").with_response();
    let (first, again) = (send().await.unwrap(), send().await.unwrap());
    assert_eq!((first.replayed(), again.replayed()), (false, true));
    assert_eq!(first.value.id, again.value.id);
}

#[tokio::test]
async fn a_key_with_another_body_is_a_conflict() {
    // IDEM-08, IDEM-10
    let bench = Bench::start().await;
    for path in ROUTES {
        keyed(&bench, path, "k", least());
        let before = bench.mails().len();
        let reply = keyed(&bench, path, "k", with(json!({ "subject": "Other" })));
        assert_eq!((reply.status.as_u16(), reply.name()), (409, "invalid_idempotent_request"));
        assert_eq!(bench.mails().len(), before);
    }
}

#[tokio::test]
async fn a_key_is_scoped_to_route_and_team() {
    let bench = Bench::start().await;
    for path in ["/emails", "/emails/batch", "/email"] {
        assert_eq!(keyed(&bench, path, "k", least()).status, 200, "{path}");
    }
    let other = bench.builder().api_key("sb_other").build().unwrap();
    let subject = Email::new("hi@acme.test", "ada@example.com", "Other").text("x");
    other.emails().send(&subject).idempotency_key("k").await.unwrap();
}

#[tokio::test]
async fn a_key_expires_after_24_hours() {
    // IDEM-04, LIM-05
    let bench = Bench::start().await;
    bench.service().clock().freeze();
    for path in ROUTES {
        keyed(&bench, path, "k", least());
        bench.service().clock().advance(Duration::from_secs(24 * 60 * 60 - 1));
        let other = || with(json!({ "subject": "Other" }));
        assert_eq!(keyed(&bench, path, "k", other()).status, 409, "{path}: expired early");
        bench.service().clock().advance(Duration::from_secs(1));
        assert_eq!(keyed(&bench, path, "k", other()).status, 200, "{path}: not expired");
    }
}

#[tokio::test]
async fn a_key_has_1_to_256_characters() {
    // IDEM-02, IDEM-10, LIM-04, A-17
    let bench = Bench::start().await;
    for path in ROUTES {
        for key in [String::new(), letters(257)] {
            let request = bench.request(Method::POST, path).header("content-type", "application/json");
            let request = request.header("idempotency-key", &key).header(EXPECT, Expect::Refusal.as_str());
            let reply = bench.ask(request, body(path, least()).to_string());
            assert_eq!(
                (reply.status.as_u16(), reply.name()),
                (400, "invalid_idempotency_key"),
                "{}",
                key.len()
            );
        }
        for key in [letters(1), letters(256)] {
            assert_eq!(keyed(&bench, path, &key, least()).status, 200);
        }
    }
}

#[tokio::test]
async fn an_invalid_key_is_not_sent() {
    // IDEM-03, A-17
    let bench = Bench::start().await;
    for key in
        [String::new(), letters(257), "é".into(), " k".into(), "k ".into(), "a\r\nb".into(), "a\0".into()]
    {
        let error = bench.client().emails().send(&email()).idempotency_key(&*key).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{key:?}: {error:?}");
        assert!(IdempotencyKey::new(&*key).is_err());
    }
    assert!(bench.requests().is_empty());
    for key in [letters(1), letters(256), "order 17/é".replace('é', "e")] {
        bench.client().emails().send(&email()).idempotency_key(&*key).await.unwrap();
    }
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let bench = Bench::start().await;
    let request = bench.request(Method::POST, "/emails").header("content-type", "application/json");
    let request = request.header("idempotency-key", "k").header(EXPECT, Expect::Refusal.as_str());
    assert_eq!(bench.ask(request, "{}").status, 422);
    assert_eq!(keyed(&bench, "/emails", "k", least()).status, 200);
}

#[tokio::test]
async fn a_lost_response_is_fetched_again_and_the_email_is_sent_once() {
    // IDEM-06, IDEM-07
    let bench = Bench::start().await;
    for action in [Action::DropAfter, Action::Truncate(10)] {
        let before = bench.mails().len();
        bench.service().faults().add(Rule::new(action).on(Method::POST, "/emails").times(2));
        bench.client().emails().send(&email()).await.unwrap();
        assert_eq!(bench.mails().len(), before + 1);
    }
    let keys: Vec<_> =
        bench.requests().iter().map(|request| request.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys.len(), 6);
    assert!(keys[0] == keys[1] && keys[1] == keys[2] && keys[2] != keys[3]);
}

#[tokio::test]
async fn a_request_lost_before_execution_is_executed_once() {
    let bench = Bench::start().await;
    let lost = Rule::new(Action::DropBefore).on(Method::POST, "/emails").times(2);
    bench.service().faults().add(lost);
    bench.client().emails().send(&email()).header(EXPECT, Expect::Anything.as_str()).await.unwrap();
    assert_eq!((bench.mails().len(), bench.requests().len()), (1, 3));
}
