//! An application's own retry rules.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::Method;
use idempost::{
    Error, Outcome,
    call::{FailedAttempt, RateLimit, RetryPolicy},
    error::Recovery,
};
use serde_json::json;

use super::script::{Reply, Script, accepted, email, untrusted};

const PAUSE: Duration = Duration::from_secs(10);

fn busy() -> Reply {
    Reply::error(503, "service_unavailable")
}

/// A policy that retries every attempt it is called for.
fn insistent() -> RetryPolicy {
    RetryPolicy::default().decide_by(|_| Some(PAUSE))
}

#[tokio::test(start_paused = true)]
async fn a_function_decides_when_an_attempt_is_repeated() {
    let script = Script::of([busy(), busy(), busy(), Reply::connection_refused(), accepted()]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let policy = RetryPolicy::default().decide_by(move |failed: &FailedAttempt<'_>| {
        let status = failed.error.status().map(|status| status.as_u16());
        log.lock().unwrap().push((failed.attempt, failed.elapsed, status, failed.default.is_some()));
        Some(PAUSE)
    });
    script.client().emails().send(&email()).retry(policy).await.unwrap();
    let seen = script.seen();
    assert!(seen.len() == 5 && seen.windows(2).all(|pair| pair[1].at - pair[0].at == PAUSE));
    assert!(seen.iter().all(|sent| sent.header("idempotency-key") == seen[0].header("idempotency-key")));
    // The default is three attempts.
    let expected = [
        (1, Duration::ZERO, Some(503), true),
        (2, PAUSE, Some(503), true),
        (3, PAUSE * 2, Some(503), false),
        (4, PAUSE * 3, None, false),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_function_can_end_a_call_before_its_other_rules_do() {
    let script = Script::of([busy()]);
    let client = script.builder().retry(RetryPolicy::default().decide_by(|_| None)).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!((error.status().unwrap().as_u16(), error.attempts()), (503, 1));
    assert!(error.is_retryable() && !error.retry_budget_exhausted());
}

#[tokio::test(start_paused = true)]
async fn a_function_is_never_asked_about_an_unsafe_or_useless_retry() {
    // B-02
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let policy = RetryPolicy::default().decide_by(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Some(Duration::ZERO)
    });
    for step in [
        Reply::connection_lost(),
        busy(),
        Reply::error(500, "application_error"),
        Reply::error(422, "validation_error"),
    ] {
        let script = Script::of([step]).odd();
        let call = script.client().request(Method::POST, "/broadcasts").json(&json!({}));
        call.retry(policy.clone()).await.unwrap_err();
        assert_eq!(script.seen().len(), 1);
    }
    for step in [untrusted(), Reply::error(422, "validation_error"), Reply::error(401, "invalid_api_key")] {
        let script = Script::of([step]);
        script.client().emails().send(&email()).retry(policy.clone()).await.unwrap_err();
        assert_eq!(script.seen().len(), 1);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn deadline_and_budget_limit_a_function_that_always_repeats() {
    let call = Script::of((0..3).map(|_| busy())).client().emails().send(&email()).retry(insistent());
    let error = call.timeout(PAUSE * 2 + Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((error.attempts(), error.retry_budget_exhausted()), (3, false));

    let script = Script::of((0..3).map(|_| busy()));
    let client = script.builder().retry(insistent().budget(2)).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!((error.attempts(), error.retry_budget_exhausted()), (3, true));
}

#[tokio::test(start_paused = true)]
async fn a_function_learns_that_the_service_has_accepted() {
    let script =
        Script::of([Reply::bytes(200, r#"{"id":"e1"} <!-- -->"#), Reply::error(422, "validation_error")]);
    let seen = Arc::new(Mutex::new(None));
    let outcome = Arc::clone(&seen);
    let policy = RetryPolicy::default().decide_by(move |failed| {
        *outcome.lock().unwrap() = Some((failed.error.outcome(), matches!(failed.error, Error::Decode(_))));
        failed.default
    });
    let error = script.client().emails().send(&email()).retry(policy).await.unwrap_err();
    let found = *seen.lock().unwrap();
    assert_eq!(found, Some((error.outcome(), true)));
    assert!(matches!(error, Error::Decode(_)) && error.attempts() == 2, "{error:?}");
    assert_eq!(error.outcome(), Outcome::Accepted);
}

#[tokio::test(start_paused = true)]
async fn no_send_is_repeated_once_the_service_may_have_forgotten_its_key() {
    const HOUR: Duration = Duration::from_hours(1);
    for (delay, attempts) in [(HOUR * 25, 1), (HOUR * 10, 3)] {
        let script = Script::of((0..4).map(|_| Reply::connection_lost()));
        let policy = RetryPolicy::default().decide_by(move |_| Some(delay));
        let call = script.client().emails().send(&email()).retry(policy).timeout(HOUR * 100);
        let error = call.await.unwrap_err();
        assert_eq!((error.outcome(), error.attempts()), (Outcome::Unknown, attempts));
        assert!(
            error.is_retryable() && error.idempotency_key().is_some(),
            "the last attempt was {delay:?} ago at most"
        );
    }

    // The call waits for its slot longer than the service remembers the key.
    for first in [Reply::connection_lost(), busy(), Reply::bytes(200, r#"{"id":"e1"} x"#)] {
        let script = Script::of([first]);
        let client = script.builder().rate_limit(RateLimit::PerSecond((HOUR * 25).as_secs_f64().recip()));
        let call = client.build().unwrap().emails().send(&email()).timeout(HOUR * 100);
        let error = call.await.unwrap_err();
        assert!(matches!(error.outcome(), Outcome::Unknown | Outcome::Accepted), "{error:?}");
        assert_eq!((error.attempts(), script.seen().len()), (1, 1));
        assert!(!error.is_retryable() && error.idempotency_key().is_none(), "{error:?}");
        assert_eq!(error.recovery(), Recovery::Never);
    }

    // As long as nothing can have been sent, the key doesn't age.
    let script = Script::of([Reply::connection_refused(), Reply::connection_lost(), accepted()]);
    let policy =
        RetryPolicy::default().decide_by(|failed| Some(HOUR * if failed.attempt == 1 { 25 } else { 20 }));
    script.client().emails().send(&email()).retry(policy).timeout(HOUR * 100).await.unwrap();
}
