use std::time::{Duration, Instant};

use idempost::{Error, Outcome, call::RetryPolicy, error::ApiErrorKind};
use idempost_conformance::peer::{Act, Peer, answer};

use super::{client, email, patient, send};

async fn refusal(peer: &Peer) -> Box<idempost::error::ApiError> {
    match send(peer).await.unwrap_err() {
        Error::Api(error) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_error_is_reported_whatever_its_body() {
    // ERR-04, ERR-06, B-07, B-13
    for (body, name, message) in [
        (r#"{"statusCode":422,"name":"validation_error","message":"No."}"#, "validation_error", "No."),
        (r#"{"error":"invalid_grant","error_description":"Gone."}"#, "invalid_grant", "Gone."),
        (r#"{"message":"No."}"#, "", "No."),
        (r#"{"name":7,"message":["x"]}"#, "", ""),
        ("[1]", "", ""),
        ("null", "", ""),
        ("<html><h1>Nope</h1></html>", "", "Nope"),
        (r#"{"title":"No.","detail":"Too old."}"#, "", "Too old."),
        ("upstream error", "", "upstream error"),
        ("", "", ""),
    ] {
        let peer = Peer::acting([Act::json(422, body)]).await;
        let error = refusal(&peer).await;
        assert_eq!((error.status.as_u16(), &*error.name, &*error.message), (422, name, message), "{body}");
        assert_eq!(error.body, body, "the raw body is kept");
        assert!(error.to_string().contains("422"), "{error}");
    }
    let peer = Peer::acting([Act::answer(403, &[], [0xff, 0xfe, b'{'])]).await;
    assert_eq!(refusal(&peer).await.body, &[0xff, 0xfe, b'{'][..]);
}

#[tokio::test]
async fn an_error_body_of_10_mb_is_truncated() {
    // B-07
    let peer = Peer::acting([Act::answer(400, &[], vec![b'x'; 10_000_000])]).await;
    let error = refusal(&peer).await;
    assert_eq!(error.status, 400);
    assert!(error.body.len() <= 1024 * 1024, "{}", error.body.len());
}

#[tokio::test]
async fn an_error_message_is_short_and_terminal_safe() {
    // B-08
    let body = serde_json::json!({ "statusCode": 400, "name": "n".repeat(10_000), "message": "\u{1b}[2J\r\n\u{9b}1m" });
    let peer = Peer::acting([Act::json(400, &body.to_string())]).await;
    let error = refusal(&peer).await;
    let line = error.to_string();
    assert!(line.len() < 1_000, "{} bytes", line.len());
    assert!(!line.chars().any(char::is_control), "{line:?}");
}

#[tokio::test]
async fn error_kinds_depend_on_the_name_before_the_status() {
    // ERR-05, ERR-07, B-09
    use ApiErrorKind::*;
    for (status, name, kind) in [
        (400, "validation_error", Validation),
        (422, "validation_error", Validation),
        (422, "missing_required_field", Validation),
        (422, "invalid_attachment", Validation),
        (400, "invalid_idempotency_key", Validation),
        (401, "missing_api_key", Authentication),
        (403, "invalid_api_key", Authentication),
        (401, "restricted_api_key", Permission),
        (403, "invalid_permission", Permission),
        (404, "not_found", NotFound),
        (409, "invalid_idempotent_request", IdempotencyConflict),
        (429, "daily_quota_exceeded", QuotaExceeded),
        (429, "monthly_quota_exceeded", QuotaExceeded),
        (500, "application_error", Server),
        (500, "validation_error", Server),
        (502, "not_found", Server),
        (504, "invalid_parameter", Server),
        (503, "service_unavailable", Server),
        (422, "", Validation),
        (400, "", Validation),
        (401, "", Authentication),
        (403, "", Permission),
        (404, "", NotFound),
        (500, "", Server),
        (418, "teapot", Other),
    ] {
        let peer = Peer::acting([Act::refused(status, name)]).await;
        assert_eq!(refusal(&peer).await.kind(), kind, "{status} {name:?}");
    }
    let limited = Act::answer(429, &[("retry-after", "0")], r#"{"name":"rate_limit_exceeded"}"#);
    let peer = Peer::acting([limited]).await;
    assert_eq!(refusal(&peer).await.kind(), RateLimited);
}

#[tokio::test]
async fn permanent_failures_are_not_retried() {
    // B-10, B-13
    for (status, name) in [
        (400, "validation_error"),
        (401, "missing_api_key"),
        (403, "invalid_api_key"),
        (404, ""),
        (405, "method_not_allowed"),
        (409, "invalid_idempotent_request"),
        (422, "validation_error"),
        (429, "daily_quota_exceeded"),
        (429, "monthly_quota_exceeded"),
        (501, ""),
    ] {
        let peer = Peer::acting([Act::refused(status, name)]).await;
        refusal(&peer).await;
        assert_eq!(peer.requests().len(), 1, "{status} {name:?}");
    }
}

#[tokio::test]
async fn transient_failures_are_retried_with_the_same_key() {
    // B-14
    for (status, name) in [
        (408, ""),
        (421, ""),
        (425, ""),
        (500, "application_error"),
        (500, "validation_error"),
        (502, ""),
        (503, "service_unavailable"),
        (504, ""),
    ] {
        let peer = Peer::acting([Act::refused(status, name), Act::accepted()]).await;
        send(&peer).await.unwrap();
        let keys = super::keys(&peer);
        assert_eq!((keys.len(), keys[0] == keys[1]), (2, true), "{status}");
    }
}

#[tokio::test]
async fn a_send_in_flight_with_the_same_key_is_awaited() {
    // B-14
    let peer = Peer::acting([Act::refused(409, "concurrent_idempotent_requests"), Act::accepted()]).await;
    let begun = Instant::now();
    send(&peer).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_429_is_retried_after_its_retry_after() {
    // LIM-16, B-10
    let limited = Act::answer(429, &[("retry-after", "1")], r#"{"name":"rate_limit_exceeded"}"#);
    let peer = Peer::acting([limited, Act::accepted()]).await;
    let begun = Instant::now();
    send(&peer).await.unwrap();
    let waited = begun.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_mins(1)).contains(&waited), "{waited:?}");
}

#[tokio::test]
async fn a_429_is_retried_even_if_the_operation_is_not_idempotent() {
    let limited = Act::answer(429, &[("retry-after", "0")], r#"{"name":"rate_limit_exceeded"}"#);
    let peer = Peer::acting([limited, Act::json(200, "{}")]).await;
    client(&peer.base_url()).request(http::Method::POST, "/domains").json(&1).await.unwrap();
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn retry_after_is_parsed_in_both_forms_and_otherwise_ignored() {
    // B-11
    let past = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (value, seconds) in [
        ("0", Some(0)),
        ("5", Some(5)),
        (" 7 ", Some(7)),
        ("1.5", None),
        ("-1", None),
        ("abc", None),
        ("", None),
        ("99999999999999999999", Some(u64::MAX)),
        (past, Some(0)),
        ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
    ] {
        // The server's clock is decades slow: only the difference to its `Date` counts.
        let headers = [("retry-after", value), ("date", past)];
        let peer = Peer::acting([Act::answer(503, &headers, "{}")]).await;
        let client = patient(&peer.base_url()).retry(RetryPolicy::never()).build().unwrap();
        let error = client.emails().send(&email()).await.unwrap_err();
        assert_eq!(error.retry_after(), seconds.map(Duration::from_secs), "{value:?}");
    }
}

#[tokio::test]
async fn a_retry_after_over_a_minute_is_left_to_the_caller() {
    // B-11
    for status in [429, 503] {
        let peer = Peer::acting([Act::answer(status, &[("retry-after", "61")], "{}")]).await;
        let error = send(&peer).await.unwrap_err();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(61)));
        assert_eq!(peer.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn invalid_rate_limit_headers_are_ignored() {
    // B-12
    for (name, value) in [
        ("ratelimit-limit", "-5"),
        ("ratelimit-limit", "abc"),
        ("ratelimit-limit", "999999999999999999999999"),
        ("ratelimit-limit", "0"),
        ("ratelimit-policy", "0;w=0"),
        ("ratelimit-policy", ";;;w=x"),
        ("ratelimit-policy", "10;w=99999999999999999999"),
        ("ratelimit-remaining", "-1"),
        ("ratelimit-reset", "99999999999999999999"),
    ] {
        let peer = Peer::acting([Act::Answer(answer(200, &[(name, value)], br#"{"id":"1"}"#))]).await;
        let client =
            patient(&peer.base_url()).rate_limit(idempost::call::RateLimit::Adaptive).build().unwrap();
        let begun = Instant::now();
        for _ in 0..3 {
            client.emails().send(&email()).await.unwrap();
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {value} took {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_final_server_error_leaves_the_outcome_unknown() {
    // B-14
    let peer = Peer::acting([Act::refused(500, "application_error")]).await;
    let error = send(&peer).await.unwrap_err();
    assert_eq!((error.outcome(), error.attempts()), (Outcome::Unknown, 3));
    assert!(error.is_retryable() && error.idempotency_key().is_some());
}
