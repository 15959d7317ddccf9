use std::time::Duration;

use http::Method;
use idempost::{
    Email, Error,
    call::{RateLimit, RetryPolicy},
    error::ApiErrorKind,
};
use idempost_conformance::bench::{Bench, EXPECT, Expect};
use idempost_reference_server::{Settings, faults::Action};
use serde_json::json;

use super::least;

fn email() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")
}

#[tokio::test]
async fn errors_have_the_names_and_statuses_of_the_table() {
    // ERR-04, ERR-05, ERR-08, ERR-09, ERR-10
    let bench = Bench::start().await;
    let wrong =
        |method: Method, path: &str| bench.request(method, path).header(EXPECT, Expect::Refusal.as_str());
    let json = |path: &str| wrong(Method::POST, path).header("content-type", "application/json");
    for (reply, status, name) in [
        (bench.ask(json("/emails"), "{"), 400, "validation_error"),
        (bench.ask(json("/emails"), ""), 400, "validation_error"),
        (bench.ask(json("/emails"), &b"\xff"[..]), 400, "validation_error"),
        (bench.ask(json("/emails/batch"), "["), 400, "validation_error"),
        (bench.ask(json("/emails"), "[]"), 422, "validation_error"),
        (bench.ask(json("/emails"), "{}"), 422, "missing_required_field"),
        (bench.get("/emails/4ef9a417-02e9-4d39-ad75-9611e0fcc33c"), 404, "not_found"),
        (bench.get_wrong("/nowhere"), 404, "not_found"),
        (bench.get_wrong("/"), 404, "not_found"),
        (bench.get_wrong("/emails/a/b"), 404, "not_found"),
        (bench.ask(wrong(Method::DELETE, "/emails"), ""), 405, "method_not_allowed"),
        (bench.ask(wrong(Method::GET, "/emails/batch"), ""), 405, "method_not_allowed"),
        (bench.ask(wrong(Method::PUT, "/logs"), ""), 405, "method_not_allowed"),
    ] {
        assert_eq!((reply.status.as_u16(), reply.name()), (status, name), "{}", reply.json);
        assert_eq!(reply.json["statusCode"], status);
        assert!(!reply.message().is_empty());
    }
}

#[tokio::test]
async fn an_invalid_id_is_refused() {
    let bench = Bench::start().await;
    for id in ["17", "not-a-uuid", "%20"] {
        let reply = bench.get(&format!("/emails/{id}"));
        assert_eq!(reply.status, 422, "{id}: {}", reply.json);
    }
}

#[tokio::test]
async fn the_client_reports_error_responses_unchanged() {
    // ERR-04, ERR-07
    let bench = Bench::start().await;
    let unchecked = Email::new("nobody", "ada@example.com", "Hello").text("x");
    let call = bench.client().emails().send(&unchecked).unchecked();
    let error = call.header(EXPECT, Expect::Refusal.as_str()).await.unwrap_err();
    let Error::Api(refusal) = &error else { panic!("{error:?}") };
    assert_eq!(
        (refusal.status.as_u16(), &*refusal.name, refusal.kind()),
        (422, "validation_error", ApiErrorKind::Validation)
    );
    assert!(refusal.message.contains("from"));
    assert_eq!(error.request_id().unwrap(), bench.requests()[0].answer_headers["x-request-id"]);
    assert!(error.to_string().contains("422") && error.to_string().contains("from"), "{error}");
    assert_eq!(bench.requests().len(), 1);
}

#[tokio::test]
async fn a_strict_sandbox_refuses_unverified_sender_domains() {
    let bench = Bench::with(Settings { strict_domains: true, ..Settings::default() }).await;
    let reply = bench.post("/emails", &least());
    assert_eq!((reply.status.as_u16(), reply.name()), (403, "validation_error"));
}

#[tokio::test]
async fn the_limit_is_announced_counted_and_enforced() {
    // LIM-16
    let bench = Bench::with(Settings { rate_limit: Some(2), ..Settings::default() }).await;
    bench.service().clock().freeze();
    let (first, second, third) = (bench.get("/logs"), bench.get("/logs"), bench.get("/logs"));
    let header = |reply: &idempost_conformance::bench::Reply, name: &str| {
        reply.headers[name].to_str().unwrap().to_owned()
    };
    assert_eq!(
        (header(&first, "ratelimit-limit"), header(&first, "ratelimit-policy")),
        ("2".into(), "2;w=1".into())
    );
    assert_eq!(
        (header(&first, "ratelimit-remaining"), header(&second, "ratelimit-remaining")),
        ("1".into(), "0".into())
    );
    assert_eq!((third.status.as_u16(), third.name()), (429, "rate_limit_exceeded"));
    assert_eq!(header(&third, "retry-after"), "1");
    bench.service().clock().advance(Duration::from_secs(1));
    assert_eq!(bench.get("/logs").status, 200);
}

#[tokio::test]
async fn an_adaptive_client_rarely_exceeds_the_limit() {
    // B-29
    let bench = Bench::with(Settings { rate_limit: Some(20), ..Settings::default() }).await;
    let client = bench.builder().rate_limit(RateLimit::Adaptive).build().unwrap();
    for _ in 0..30 {
        client.emails().send(&email()).await.unwrap();
    }
    let refused = bench.requests().iter().filter(|request| request.status == 429).count();
    assert!(refused <= 1, "{refused} of {}", bench.requests().len());
}

#[tokio::test]
async fn a_scripted_429_is_retried() {
    // LIM-16
    let bench = Bench::start().await;
    bench.service().faults().next(Action::TooMany { retry_after: Some("1".into()) });
    let begun = std::time::Instant::now();
    bench.client().emails().send(&email()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!((bench.requests().len(), bench.mails().len()), (2, 1));
}

#[tokio::test]
async fn an_exhausted_quota_is_not_retried() {
    // B-10
    let bench = Bench::start().await;
    let used_up =
        Action::error(429, "daily_quota_exceeded", "The quota is used up.").header("retry-after", "1");
    bench.service().faults().next(used_up);
    let Error::Api(error) = bench.client().emails().send(&email()).await.unwrap_err() else { panic!("sent") };
    assert_eq!((error.kind(), error.attempts), (ApiErrorKind::QuotaExceeded, 1));
}

#[tokio::test]
async fn an_outage_is_retried_with_one_key() {
    let bench = Bench::start().await;
    for _ in 0..2 {
        bench.service().faults().next(Action::error(503, "service_unavailable", "Busy."));
    }
    bench.client().emails().send(&email()).await.unwrap();
    assert_eq!((bench.requests().len(), bench.mails().len()), (3, 1));
}

#[tokio::test]
async fn a_policy_of_one_attempt_is_respected() {
    let bench = Bench::start().await;
    bench.service().faults().next(Action::error(503, "service_unavailable", "Busy."));
    let error = bench.client().emails().send(&email()).retry(RetryPolicy::never()).await.unwrap_err();
    assert_eq!((error.attempts(), bench.requests().len()), (1, 1));
}

#[tokio::test]
async fn an_oversized_body_is_refused_unread() {
    let bench = Bench::with(Settings { body_limit: 1_000, ..Settings::default() }).await;
    let long = Email::new("hi@acme.test", "ada@example.com", "Hello").text("x".repeat(2_000));
    let Error::Api(error) = bench.client().emails().send(&long).await.unwrap_err() else { panic!("sent") };
    assert_eq!((error.status.as_u16(), &*error.name), (413, "validation_error"));
    assert_eq!(json!(bench.mails().len()), 0);
}
