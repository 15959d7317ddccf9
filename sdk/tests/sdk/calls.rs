//! Single calls: requests, retries, and errors.

use std::{
    collections::HashMap,
    future::IntoFuture as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use http::Method;
use idempost::{
    BatchEmail, Client, Error, Outcome,
    call::{RateLimit, RetryPolicy},
    error::{ApiErrorKind, Recovery},
    testing::ScriptedTransport,
    transport::ReqwestTransport,
    types::RecipientGuard,
};
use idempost_reference_server::ReferenceServer;
use serde_json::json;

use super::script::{Reply, Script, accepted, email, silent, unread, untrusted};

#[tokio::test(start_paused = true)]
async fn a_send_is_one_authorized_json_request_with_a_key() {
    // GEN-13, GEN-30, EMAIL-01, EMAIL-65, IDEM-01, AUTH-01, LOG-05, VER-04
    let script = Script::of([accepted()]);
    let answer = script.client().emails().send(&email()).await.unwrap();
    assert_eq!(answer.id.as_str(), "e1");
    let seen = script.seen();
    assert_eq!((seen.len(), seen[0].method.as_str()), (1, "POST"));
    assert_eq!(seen[0].url.as_str(), "http://127.0.0.1:9/prefix/emails");
    assert_eq!(seen[0].header("authorization"), "Bearer re_test");
    assert_eq!(seen[0].header("content-type"), "application/json");
    assert_eq!(seen[0].header("idempotency-key").len(), 36);
    assert!(seen[0].header("user-agent").starts_with("idempost/"));
    assert_eq!(seen[0].headers.len(), 5, "no unexpected header: {:?}", seen[0].headers.keys());
    let body: serde_json::Value = serde_json::from_slice(&seen[0].body).unwrap();
    let expected = json!({"from": "Acme <hi@acme.test>", "to": ["ada@example.com"], "subject": "Hello", "text": "It works"});
    assert_eq!(body, expected);
}

#[tokio::test(start_paused = true)]
async fn attempts_share_one_key_and_one_body_and_calls_do_not() {
    // IDEM-05, IDEM-06, A-19
    let script = Script::of([
        Reply::error(503, "service_unavailable"),
        Reply::connection_lost(),
        accepted(),
        accepted(),
    ]);
    let client = script.client();
    client.emails().send(&email()).await.unwrap();
    client.emails().send(&email()).await.unwrap();
    let seen = script.seen();
    let keys: Vec<_> = seen.iter().map(|seen| seen.header("idempotency-key")).collect();
    assert_eq!((keys[0], keys[1]), (keys[1], keys[2]));
    assert_ne!(keys[2], keys[3]);
    assert_eq!(seen[0].body, seen[2].body);
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_is_an_unknown_outcome_with_a_key_to_retry() {
    let script = Script::of([Reply::connection_lost(), Reply::connection_lost(), Reply::connection_lost()]);
    let error = script.client().emails().send(&email()).idempotency_key("order-17").await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error:?}");
    assert_eq!((error.outcome(), error.attempts(), error.is_retryable()), (Outcome::Unknown, 3, true));
    assert_eq!(error.idempotency_key().unwrap().as_str(), "order-17");
    let seen = script.seen();
    assert!(seen.len() == 3 && seen.iter().all(|seen| seen.header("idempotency-key") == "order-17"));
}

#[tokio::test(start_paused = true)]
async fn a_post_without_a_key_is_never_retried_after_it_was_sent() {
    // B-02
    for step in [
        Reply::connection_lost(),
        Reply::error(500, "application_error"),
        Reply::error(503, ""),
        Reply::error(408, ""),
    ] {
        let script = Script::of([step]).odd();
        let call = script.client().request(http::Method::POST, "/broadcasts").json(&json!({}));
        let error = call.await.unwrap_err();
        assert_eq!((error.outcome(), error.is_retryable()), (Outcome::Unknown, false), "{error:?}");
        assert_eq!(script.seen().len(), 1);
    }
    let script = Script::of([
        Reply::connection_refused(),
        Reply::error(429, "rate_limit_exceeded"),
        Reply::json(201, json!({"id": 1})),
    ])
    .odd();
    script.client().request(http::Method::POST, "/broadcasts").await.unwrap();
    assert_eq!(script.seen().len(), 3, "attempts that certainly had no effect are retried");
}

#[tokio::test(start_paused = true)]
async fn an_untrusted_peer_is_not_retried() {
    // B-24
    let error = Script::of([untrusted()]).client().emails().send(&email()).await.unwrap_err();
    assert_eq!((error.outcome(), error.is_retryable(), error.attempts()), (Outcome::NotSent, false, 1));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected_up_to_a_minute() {
    // LIM-16, B-10, F-11
    let limited = |after| Reply::error(429, "rate_limit_exceeded").header("retry-after", after);
    let script = Script::of([limited("7"), accepted()]);
    script.builder().rate_limit(RateLimit::Off).build().unwrap().emails().send(&email()).await.unwrap();
    let seen = script.seen();
    let pause = (seen[1].at - seen[0].at).as_secs_f64();
    assert!((7.0..=8.8).contains(&pause), "{pause}");

    let error = Script::of([limited("61")]).client().emails().send(&email()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(61)));
    assert_eq!((error.outcome(), error.attempts()), (Outcome::Rejected, 1));

    let script = Script::of([Reply::error(429, "monthly_quota_exceeded")]);
    let error = script.client().emails().send(&email()).await.unwrap_err();
    assert!(matches!(&error, Error::Api(api) if api.kind() == ApiErrorKind::QuotaExceeded));
}

#[tokio::test(start_paused = true)]
async fn a_concurrent_request_is_retried_and_a_reused_key_is_not() {
    // B-14
    // Only its key can conflict: under any other name, the same send may be in flight.
    for body in ["", "<html>", r#"{"name":"something_new"}"#] {
        let script = Script::of([Reply::bytes(409, body)]);
        let client = script.builder().retry(RetryPolicy::never()).build().unwrap();
        let error = client.emails().send(&email()).await.unwrap_err();
        assert_eq!((error.outcome(), error.is_retryable()), (Outcome::Unknown, true), "{body}");
    }
    let script = Script::of([Reply::error(409, "something_new"), accepted()]);
    script.client().emails().send(&email()).await.unwrap();
    let script = Script::of([Reply::error(409, "concurrent_idempotent_requests"), accepted()]);
    script.client().emails().send(&email()).await.unwrap();
    let seen = script.seen();
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1));
    let script = Script::of([Reply::error(409, "invalid_idempotent_request")]);
    let error = script.client().emails().send(&email()).await.unwrap_err();
    assert_eq!((error.outcome(), error.attempts()), (Outcome::Rejected, 1));
}

#[tokio::test]
async fn a_transport_that_cannot_be_built_is_an_invalid_setting() {
    let transport = ReqwestTransport::with_config(|http| http.user_agent("a\nb"));
    let client = Script::of([]).builder().transport(transport).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert!(error.to_string().starts_with("transport can't be used: "), "{error}");
    assert!(matches!(error, Error::Settings(_)) && !error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn a_url_that_is_too_long_for_the_transport_is_not_sent() {
    let server = ReferenceServer::start().await;
    let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
    let start = server.base_url().len() + "/emails/".len();
    for (length, expected) in [
        (65_534, "422 invalid_parameter"),
        (65_535, "the URL must have at most 65534 bytes (found 65535 bytes)"),
    ] {
        let path = format!("/emails/{}", "a".repeat(length - start));
        let error = client.request(Method::GET, path).retry(RetryPolicy::never()).await.unwrap_err();
        assert!(error.to_string().contains(expected) && !error.is_retryable(), "{error}");
    }
}

#[tokio::test]
async fn a_call_whose_deadline_has_passed_sends_nothing() {
    let script = Script::of([]);
    let error = script.client().emails().send(&email()).timeout(Duration::from_nanos(1)).await.unwrap_err();
    assert_eq!((error.outcome(), error.is_retryable()), (Outcome::NotSent, true), "{error}");
}

#[tokio::test(start_paused = true)]
async fn timeouts_apply_to_an_attempt_and_to_the_whole_call() {
    // A-51, B-04
    let script = Script::of([silent(), silent(), accepted()]);
    let client = script.builder().attempt_timeout(Duration::from_secs(2)).build().unwrap();
    client.emails().send(&email()).await.unwrap();
    assert_eq!(script.seen().len(), 3);

    // The attempt includes the response's body.
    let half = Reply::bytes(200, "{").header("content-type", "application/json").incomplete();
    let script = Script::of([half.with_delay(Duration::from_secs(2))]);
    let client = script.builder().attempt_timeout(Duration::from_secs(3)).retry(RetryPolicy::never());
    let start = tokio::time::Instant::now();
    client.build().unwrap().emails().send(&email()).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 3);

    let script = Script::of([silent()]);
    let start = tokio::time::Instant::now();
    let error = script.client().emails().send(&email()).timeout(Duration::from_secs(3)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(start.elapsed().as_secs(), 3);

    // By default, an attempt may take as long as its call.
    let script = Script::of([accepted().with_delay(Duration::from_secs(90))]);
    let client = script.builder().idle_timeout(Duration::MAX).build().unwrap();
    client.emails().send(&email()).timeout(Duration::MAX).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_send_with_an_impossible_status_calls_an_operator_and_keeps_its_key() {
    for status in [101, 199, 303, 600, 999] {
        let script = Script::of([Reply::bytes(status, "")]);
        let error = script.client().emails().send(&email()).await.unwrap_err();
        assert_eq!((error.outcome(), error.recovery()), (Outcome::Unknown, Recovery::Act), "{status}");
        assert!(error.idempotency_key().is_some() && !error.is_retryable(), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_includes_what_the_recipient_guard_reads() {
    let script = ScriptedTransport::from_fn(|request| {
        let id = request.query("after").map_or(0, |id| id.parse::<u32>().unwrap() + 1).to_string();
        let body = match request.path() {
            "/broadcasts/b1" => json!({"id": "b1", "segment_id": "s1", "status": "draft"}),
            _ => json!({"data": [{"id": id, "email": "qa@acme.test"}], "has_more": true}),
        };
        Reply::json(200, body).with_delay(Duration::from_secs(1))
    });
    let guard = RecipientGuard::new().allow_to(["*@acme.test"]).unwrap();
    let builder = Client::builder().base_url("https://api.test").api_key("re_x").recipient_guard(guard);
    let client = builder.timeout(Duration::from_secs(5)).transport(script.clone()).build().unwrap();
    let start = tokio::time::Instant::now();
    let sent = tokio::time::timeout(Duration::from_secs(60), client.broadcasts().send("b1").into_future());
    let error = sent.await.unwrap().unwrap_err();
    assert_eq!((start.elapsed().as_secs(), error.outcome()), (5, Outcome::NotSent), "{error:?}");
    let sent = script.take_requests().into_iter().filter(|request| request.method == Method::POST);
    assert_eq!(sent.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_segment_whose_pages_cycle_is_rejected_by_the_recipient_guard() {
    for pages in [["1", "1"], ["1", "2"]] {
        let script = ScriptedTransport::from_fn(move |request| {
            let next = usize::from(request.query("after").as_deref() == Some(pages[0]));
            let body = match request.path() {
                "/broadcasts/b1" => json!({"id": "b1", "segment_id": "s1", "status": "draft"}),
                _ => json!({"data": [{"id": pages[next], "email": "qa@acme.test"}], "has_more": true}),
            };
            Reply::json(200, body).with_delay(Duration::from_secs(1))
        });
        let guard = RecipientGuard::new().allow_to(["*@acme.test"]).unwrap();
        let builder = Client::builder().base_url("https://api.test").api_key("re_x").recipient_guard(guard);
        let client = builder.transport(script).build().unwrap();
        let sent =
            tokio::time::timeout(Duration::from_secs(60), client.broadcasts().send("b1").into_future());
        let error = sent.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("its pages repeat"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_retry_budget_limits_traffic_during_an_outage() {
    let down = (0..300).map(|_| Reply::error(503, "service_unavailable"));
    let script = Script::of(down);
    let client = script.builder().retry(RetryPolicy::default().budget(10)).build().unwrap();
    let mut exhausted = 0;
    for _ in 0..100 {
        let error = client.emails().send(&email()).await.unwrap_err();
        assert_eq!(
            error.to_string().contains("the client's retry budget is exhausted"),
            error.retry_budget_exhausted()
        );
        exhausted += usize::from(error.retry_budget_exhausted());
    }
    assert_eq!((script.seen().len(), exhausted), (110, 95));

    // This also applies to a response that can't be read.
    let script = Script::of([Reply::bytes(200, "{")]);
    let client = script.builder().retry(RetryPolicy::default().budget(0)).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert!(error.retry_budget_exhausted(), "{error:?}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("the client's retry budget is exhausted"), "{cause}");

    // A proxy's page has a success status, but doesn't give the retries back.
    let script = Script::of([Reply::error(503, "service_unavailable"), Reply::bytes(200, "<html>")]);
    let client = script.builder().retry(RetryPolicy::default().budget(1)).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!((error.attempts(), error.retry_budget_exhausted()), (2, true), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_or_a_rate_limit_doesn_t_exhaust_the_retry_budget_of_many_calls() {
    // The number of failures equals two attempts per call.
    let outage = (0..200).map(|_| Reply::error(503, "service_unavailable"));
    let client = Script::of(outage.chain((0..200).map(|_| accepted()))).client();
    let sent =
        futures_util::future::join_all((0..100).map(|_| async { client.emails().send(&email()).await }))
            .await;
    let exhausted = |result: &Result<_, Error>| result.as_ref().is_err_and(Error::retry_budget_exhausted);
    assert_eq!(sent.iter().filter(|result| exhausted(result)).count(), 0);
    assert!(sent.iter().any(Result::is_ok));

    let limited = (0..300).map(|_| Reply::error(429, "rate_limit_exceeded"));
    let script = Script::of(limited);
    let client = script.builder().retry(RetryPolicy::default().budget(1)).build().unwrap();
    for _ in 0..100 {
        let error = client.emails().send(&email()).await.unwrap_err();
        assert_eq!((error.attempts(), error.retry_budget_exhausted()), (3, false));
    }
}

#[tokio::test]
async fn an_unreadable_response_cannot_control_the_terminal() {
    let steering = format!("\u{1b}]52;c;aGk=\u{7}{}", "x".repeat(10_000));
    let script = Script::of([Reply::json(200, json!({ steering.as_str(): steering.as_str() }))]).odd();
    let call = script.client().request(http::Method::GET, "/x");
    let error = call.with_response_type::<HashMap<String, u32>>().await.unwrap_err();
    let Error::Decode(decode) = &error else { panic!("{error:?}") };
    assert!(decode.path.len() < 1_000 && !decode.path.contains(char::is_control), "{:?}", decode.path);
    assert!(
        error.reason().len() < 1_500 && !error.reason().contains(char::is_control),
        "{:?}",
        error.reason()
    );
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_success_is_requested_once_more_and_then_reported() {
    // B-05
    for (text, outcome) in [
        ("", Outcome::Unknown),
        ("null", Outcome::Unknown),
        ("[]", Outcome::Unknown),
        ("\"x\"", Outcome::Unknown),
        ("<html>", Outcome::Unknown),
        ("{\"id\":", Outcome::Unknown),
        ("{\"id\":null}", Outcome::Unknown),
        ("{\"id\":7}", Outcome::Unknown),
        ("{\"id\":\"\"}", Outcome::Unknown),
        ("{\"status\":\"ok\"}", Outcome::Unknown),
        ("{\"id\":\"e1\"} x", Outcome::Accepted),
    ] {
        let script = Script::of([Reply::bytes(200, text), Reply::bytes(200, text)]);
        let error = script.client().emails().send(&email()).await.unwrap_err();
        assert_eq!((error.outcome(), error.is_retryable()), (outcome, true), "{text}: {error:?}");
        assert_eq!(error.to_string().contains("a wrong base URL?"), outcome == Outcome::Unknown, "{error}");
        assert!(error.idempotency_key().is_some());
        assert_eq!(script.seen().len(), 2);
    }
    let script = Script::of([Reply::bytes(200, "{"), accepted()]);
    assert!(script.client().emails().send(&email()).await.is_ok());
    let path = Script::of([Reply::json(200, json!({"data": [{"id": [7]}]}))]);
    let error = path.client().emails().list().await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Accepted);
    let Error::Decode(unreadable) = error else { panic!("{error:?}") };
    assert_eq!(unreadable.path, "data[0].id");
    // Only the ID in the response to a send must not be empty.
    let page = json!({"data": [{"id": "", "topic_id": ""}], "has_more": false});
    let page = Script::of([Reply::json(200, page)]);
    assert_eq!(page.client().emails().list().await.unwrap().data.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_without_a_response_of_the_api_is_never_a_success() {
    // B-05: the fields of these records are optional, or the request is the caller's own.
    for (status, text) in [
        (200, "{\"status\":\"ok\"}"),
        (200, "{\"id\":null,\"event\":null}"),
        (200, "<html></html>"),
        (200, "[]"),
        (204, ""),
    ] {
        let script = Script::of((0..12).map(|_| Reply::bytes(status, text))).odd();
        let client = script.builder().retry(RetryPolicy::never()).build().unwrap();
        let event = idempost::events::EventOccurrence::for_email("user.created", "ada@example.com");
        let emails = json!({"from": "a@x.test", "to": "b@x.test", "subject": "s", "text": "t"});
        let errors = [
            client.events().send(&event).await.unwrap_err(),
            client.contacts().add_to_segment("c1", "s1").await.unwrap_err(),
            client.contacts().remove_from_segment("c1", "s1").await.unwrap_err(),
            client.contacts().delete("c1").await.unwrap_err(),
            client.automations().stop("a1").await.unwrap_err(),
            client.oauth_grants().revoke("g1").await.unwrap_err(),
            client.emails().share("e1").await.unwrap_err(),
            client.suppressions().add_batch(["ada@example.com"]).await.unwrap_err(),
            client.emails().send(&email()).await.unwrap_err(),
            client.request(http::Method::POST, "/emails").json(&emails).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.outcome(), Outcome::Unknown, "{status} {text}: {error:?}");
        }
        // A read changes nothing, and the response to any other custom request may have any shape.
        let error = client.emails().get("e1").await.unwrap_err();
        assert_eq!((error.outcome(), error.is_retryable()), (Outcome::Rejected, false), "{error:?}");
        let raw = client.request(http::Method::POST, "/x").await;
        assert_eq!(raw.is_ok(), text != "<html></html>", "{status} {text}: {raw:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_response_must_have_an_id_for_every_email() {
    // BATCH-09, BATCH-10, B-23
    let batch: Vec<_> =
        (0..3).map(|i| BatchEmail::new("a@x.test", "b@x.test", i.to_string()).text("t")).collect();
    let answer = |ids: &[&str]| {
        let data: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
        Reply::json(200, json!({"data": data}))
    };
    let accepted = Script::of([answer(&["x", "y", "z"])]).client().emails().send_batch(&batch).await.unwrap();
    assert_eq!(accepted.data.iter().map(|email| email.id.as_str()).collect::<Vec<_>>(), ["x", "y", "z"]);
    for ids in [&["x", "y"][..], &["w", "x", "y", "z"], &[]] {
        let script = Script::of([answer(ids), answer(ids)]);
        let error = script.client().emails().send_batch(&batch).await.unwrap_err();
        let outcome = if ids.is_empty() { Outcome::Unknown } else { Outcome::Accepted };
        assert_eq!((error.outcome(), error.attempts()), (outcome, 2), "{error:?}");
    }
    let left_out = json!({"data": [{"id": "x"}], "errors": [{"index": 1, "message": "no"}, {"index": 2, "message": "no"}]});
    let script = Script::of([Reply::json(200, left_out.clone())]);
    let accepted = script.client().emails().send_batch(&batch).permissive().await.unwrap();
    assert_eq!(accepted.errors[1].index, 2);
    assert_eq!(script.seen()[0].header("x-batch-validation"), "permissive");
    let script = Script::of([Reply::json(200, left_out.clone())]);
    let client = script.builder().default_header("x-batch-validation", "permissive").build().unwrap();
    assert_eq!(client.emails().send_batch(&batch).await.unwrap().errors.len(), 2);

    for errors in [
        json!(null),
        json!([{"index": 1, "message": "no"}]),
        json!([{"index": 1, "message": "no"}, {"index": 1, "message": "no"}]),
        json!([{"index": 1, "message": "no"}, {"index": 3, "message": "no"}]),
    ] {
        let answer = Reply::json(200, json!({"data": [{"id": "x"}], "errors": errors}));
        let script = Script::of([answer.clone(), answer]);
        let error = script.client().emails().send_batch(&batch).permissive().await.unwrap_err();
        assert_eq!((error.outcome(), error.attempts()), (Outcome::Accepted, 2), "{errors}: {error:?}");
    }

    // The service repeats the response to a permissive call with the same key and body.
    let script = Script::of([Reply::json(200, left_out.clone()), Reply::json(200, left_out)]);
    let error = script.client().emails().send_batch(&batch).await.unwrap_err();
    let idempost::Error::Decode(unread) = &error else { panic!("{error:?}") };
    assert_eq!((unread.path.as_str(), error.outcome()), ("errors", Outcome::Accepted));
    let reason = "1 of 3 emails were accepted and 2 rejected: the first request with this idempotency key was permissive";
    assert_eq!(unread.source.to_string(), reason);
}

#[tokio::test(start_paused = true)]
async fn every_2xx_is_a_success() {
    // B-06
    for status in [200, 201, 202, 206, 299] {
        let script = Script::of([Reply::json(status, json!({"id": "e1", "object": "email", "new": [1]}))]);
        let raw = script.client().emails().send(&email()).with_response().await.unwrap();
        assert_eq!((raw.status.as_u16(), raw.value.id.as_str()), (status, "e1"));
        assert!(raw.body.starts_with(b"{"));
    }
    let other = || Reply::json(200, json!({"id": 1}));
    let script = Script::of([Reply::json(200, json!({"id": "e1", "new": [1]})), other(), other()]);
    let send = || script.client().emails().send(&email()).response();
    assert_eq!(send().await.unwrap().body, r#"{"id":"e1","new":[1]}"#);
    let error = send().await.unwrap_err();
    assert!(matches!(error, idempost::Error::Decode(_)), "another shape: {error:?}");
    let script = Script::of([Reply::bytes(200, "From: a@x.test\r\n\r\nHi")]).odd();
    let mail = script.client().request(http::Method::GET, "/raw").bytes().await.unwrap();
    assert!(mail.starts_with(b"From:"));
    let script = Script::of([Reply::bytes(204, "")]).odd();
    let nothing = script.client().request(http::Method::DELETE, "/x").await.unwrap();
    assert!(nothing.is_null());
}

#[tokio::test(start_paused = true)]
async fn a_response_states_the_used_quota_and_whether_it_is_a_repeated_one() {
    let quota = &[("x-resend-daily-quota", "7"), ("x-resend-monthly-quota", " 1200 ")];
    for (headers, replayed, used) in [
        (&[][..], false, (None, None)),
        (quota, false, (Some(7), Some(1200))),
        (&[("idempotent-replayed", "true")], true, (None, None)),
        (&[("idempotent-replayed", "True"), ("x-resend-daily-quota", "many")], true, (None, None)),
        (&[("idempotent-replayed", "false")], false, (None, None)),
    ] {
        let answer = headers.iter().fold(accepted(), |answer, (name, value)| answer.header(name, value));
        let raw = Script::of([answer]).client().emails().send(&email()).with_response().await.unwrap();
        let quota = raw.quota_used();
        assert_eq!((raw.is_replayed(), (quota.daily, quota.monthly)), (replayed, used), "{headers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_not_sent_leaves_its_slot_to_the_next() {
    for (first, waits) in [(Reply::connection_refused(), false), (Reply::connection_lost(), true)] {
        let script = Script::of([first, accepted()]);
        let client = script.builder().rate_limit(RateLimit::PerSecond(0.1)).build().unwrap();
        client.emails().send(&email()).await.unwrap();
        let seen = script.seen();
        assert_eq!(seen[1].at - seen[0].at >= Duration::from_secs(9), waits);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_be_read_is_an_error_of_its_file() {
    let script = Script::of([unread()]);
    let error = script.client().emails().send(&email()).retry(RetryPolicy::never()).await.unwrap_err();
    assert!(matches!(error, Error::File(_)), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotSent);
    let script = Script::of([Reply::connection_lost(), unread()]);
    let error = script.client().emails().send(&email()).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_an_error_that_shows_only_the_host() {
    // AUTH-09, B-15
    for status in [301, 302, 303, 307, 308] {
        let redirect = Reply::bytes(status, "").header("location", "https://evil.test/emails?token=sentinel");
        let script = Script::of([redirect]);
        let error = script.client().emails().send(&email()).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("evil.test") && !text.contains("sentinel"), "{text}");
        assert_eq!(script.seen().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_input_is_reported_and_sent_only_if_unchecked() {
    // IDEM-03, LIM-18
    let script = Script::of([Reply::error(422, "validation_error")]).odd();
    let wrong = email().to("bob@@example.com").tag("week 47", "x");
    let client = script.client();
    let error = client.emails().send(&wrong).idempotency_key("k".repeat(257)).await.unwrap_err();
    let Error::Invalid(problems) = &error else { panic!("{error:?}") };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["", "/to/1", "/tags/0/name"]);
    assert_eq!(error.outcome(), Outcome::NotSent);
    assert!(script.seen().is_empty());
    client.emails().send(&wrong).skip_validation().await.unwrap_err();
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn ids_become_one_path_segment_and_dot_segments_are_rejected() {
    // GEN-31
    let found = json!({"id": "x", "to": [], "from": "a@x.test", "created_at": "2026-11-21 04:46:00+00", "subject": "s"});
    let script = Script::of([Reply::json(200, found)]);
    let client = script.client();
    client.emails().get("a/b?c#d e").await.unwrap();
    assert_eq!(script.seen()[0].url.as_str(), "http://127.0.0.1:9/prefix/emails/a%2Fb%3Fc%23d%20e");
    for id in ["", ".", ".."] {
        assert!(matches!(client.emails().get(id).await.unwrap_err(), Error::Invalid(_)));
    }
    assert!(script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn listeners_are_notified_of_retries_and_previews_send_nothing() {
    let script = Script::of([Reply::error(503, "service_unavailable"), accepted()]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    let client = script.client();
    client
        .emails()
        .send(&email())
        .on_retry(move |retry| listener.lock().unwrap().push(retry.clone()))
        .await
        .unwrap();
    let heard = heard.lock().unwrap()[0].clone();
    assert_eq!((heard.attempt, heard.cause.as_str()), (1, "503 service_unavailable"));
    script.seen();
    let preview = client.emails().send(&email()).idempotency_key("k").preview().unwrap();
    assert_eq!((preview.method().as_str(), preview.path_and_query().as_str()), ("POST", "/emails"));
    assert!(preview.headers().get("authorization").is_none());
    assert_eq!((preview.idempotency_key().unwrap().as_str(), preview.body_parts().len()), ("k", 1));
    assert!(script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_listener_knows_the_outcome_of_a_call_that_is_dropped() {
    use Outcome::{NotSent, Rejected, Unknown};
    for (replies, expected) in [
        (
            [Reply::error(429, "rate_limit_exceeded"), Reply::connection_refused(), accepted()],
            [Unknown, Rejected, Unknown, NotSent, Unknown],
        ),
        (
            [Reply::connection_lost(), Reply::error(429, "rate_limit_exceeded"), accepted()],
            [Unknown, Unknown, Unknown, Unknown, Unknown],
        ),
    ] {
        let script = Script::of(replies);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&heard);
        let call = script.client().emails().send(&email());
        call.on_outcome(move |outcome| listener.lock().unwrap().push(outcome)).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), expected);
    }
    let script = Script::of([Reply::connection_lost(), Reply::json(200, json!({}))]);
    let call = script.client().emails().get("e1").on_outcome(|outcome| panic!("{outcome:?} of a read"));
    let _ = call.await;
    assert_eq!(script.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn no_error_repeats_a_credential_or_a_body() {
    // AUTH-08, F-12
    for step in [
        Reply::connection_lost(),
        Reply::connection_refused(),
        Reply::error(422, "validation_error"),
        Reply::bytes(200, "{"),
    ] {
        let script = Script::of([step, Reply::bytes(200, "{"), Reply::connection_refused()]);
        let client = script.builder().api_key("re_sentinel").retry(RetryPolicy::never()).build().unwrap();
        let error = client.emails().send(&email().text("sentinel")).await.unwrap_err();
        assert!(!format!("{error:?} {error}").contains("sentinel"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_send_is_repeated_with_its_key() {
    // A-18
    let script = Script::of([silent(), accepted(), accepted()]);
    let client = script.client();
    let (email, mut keys) = (email(), Vec::new());
    let call = client.emails().send(&email);
    keys.push(call.key().unwrap().to_string());
    tokio::time::timeout(Duration::from_secs(1), call.clone().into_future()).await.unwrap_err();
    call.await.unwrap();
    let given = client.emails().send(&email).idempotency_key("order-17");
    keys.push(given.key().unwrap().to_string());
    given.await.unwrap();
    let seen: Vec<_> = script.seen().iter().map(|seen| seen.header("idempotency-key").to_owned()).collect();
    assert_eq!(seen, [&*keys[0], &*keys[0], "order-17"]);
    assert_eq!(keys[1], "order-17");
    assert!(client.emails().get("e1").idempotency_key("x").key().is_none(), "the service honors none there");
}

#[test]
fn a_connect_timeout_beside_a_transport_is_an_error() {
    let error = Script::of([]).builder().connect_timeout(Duration::from_secs(1)).build().unwrap_err();
    assert!(error.to_string().starts_with("connect_timeout must be set on the transport"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn headers_of_the_credential_and_the_connection_are_rejected() {
    let script = Script::of([]);
    for name in [
        "Authorization",
        "Connection",
        "Content-Length",
        "Host",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
    ] {
        let error = script.client().emails().get("e1").header(name, "x").await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{name}: {error:?}");
        assert!(script.builder().default_header(name, "x").build().is_err(), "{name}");
    }
    assert_eq!(script.seen().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_headers_value_is_not_repeated() {
    let error = Script::of([]).client().emails().get("e1").header("x-token", "sentinel\n").await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("x-token") && !shown.contains("sentinel"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_malformed_key_has_the_same_error_as_a_header() {
    let client = Script::of([]).client();
    for key in ["", "é", " a", "a\n"] {
        let as_header = client.emails().send(&email()).header("Idempotency-Key", key).await.unwrap_err();
        let as_key = client.emails().send(&email()).idempotency_key(key).await.unwrap_err();
        assert_eq!(as_header.to_string(), as_key.to_string(), "{key:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_response_shows_no_secret_in_debug() {
    let script = Script::of([Reply::bytes(200, r#"{"id":null,"token":"re_sentinel"}"#)]);
    let error =
        script.client().api_keys().create(&idempost::api_keys::NewApiKey::new("ci")).await.unwrap_err();
    let Error::Decode(decode) = &error else { panic!("{error:?}") };
    assert!(decode.sample.contains("re_sentinel"), "the sample contains it");
    assert!(!format!("{error:?} {error}").contains("sentinel"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_post_without_an_honored_key_is_sent_once_even_if_its_response_is_empty() {
    let event = idempost::events::EventOccurrence::for_email("user.created", "ada@example.com");
    let script = Script::of([Reply::bytes(204, ""), Reply::bytes(204, "")]).odd();
    let error = script.client().events().send(&event).idempotency_key("k").await.unwrap_err();
    assert_eq!((error.outcome(), error.is_retryable(), script.seen().len()), (Outcome::Unknown, false, 1));
    let script = Script::of([Reply::bytes(204, ""), Reply::bytes(204, "")]).odd();
    script.client().broadcasts().send("b1").idempotency_key("k").await.unwrap_err();
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_oversized_response_is_not_retried() {
    let script = Script::of([Reply::bytes(200, "0123456789")]).odd();
    let client = script.builder().response_limit(9).build().unwrap();
    let error = client.request(http::Method::GET, "/x").await.unwrap_err();
    assert_eq!((error.outcome(), error.is_retryable(), script.seen().len()), (Outcome::NotSent, false, 1));
    let script = Script::of([Reply::bytes(200, "0123456789")]);
    let client = script.builder().response_limit(9).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!(
        (error.outcome(), script.seen().len()),
        (Outcome::Unknown, 1),
        "nothing shows that it is JSON"
    );
}

#[tokio::test(start_paused = true)]
async fn the_query_of_a_path_is_sent_as_it_was_written() {
    let script = Script::of([Reply::json(200, json!({})), Reply::json(200, json!({}))]).odd();
    let client = script.client();
    for query in ["a=%7Eb+c&x&y=&a=2", "a=1&after=a%26b%20c&z"] {
        let call = client.request(http::Method::GET, format!("/emails?{query}")).query("limit", "a b");
        let expected = format!("/emails?{query}&limit=a+b");
        assert_eq!(call.clone().preview().unwrap().path_and_query(), expected);
        call.await.unwrap();
        assert_eq!(script.seen()[0].url.as_str(), format!("http://127.0.0.1:9/prefix{expected}"));
    }
}
