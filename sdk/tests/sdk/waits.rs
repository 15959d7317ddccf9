//! Waits: polls with growing intervals until a terminal state or the timeout.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use idempost::{
    Error,
    call::RetryPolicy,
    domains::DomainStatus,
    emails::LastEvent,
    error::{ApiErrorKind, WaitTimeout},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::script::{Reply, Script, silent};

fn email(last_event: impl Into<Value>) -> Reply {
    Reply::json(
        200,
        json!({"object": "email", "id": "e1", "to": ["b@x.test"], "from": "a@x.test", "subject": "s",
            "created_at": "2026-11-21 04:46:00.123456+00", "last_event": last_event.into()}),
    )
}

fn domain(status: &str) -> Reply {
    Reply::json(
        200,
        json!({"object": "domain", "id": "d1", "name": "acme.test", "status": status,
            "created_at": "2026-11-21 04:46:00.123456+00"}),
    )
}

/// The times of the polls, in milliseconds after the first.
fn polls(script: &Script) -> Vec<u128> {
    let seen = script.seen();
    seen.iter().map(|one| one.at.duration_since(seen[0].at).as_millis()).collect()
}

fn pending(error: Error) -> WaitTimeout {
    if let Error::WaitTimeout(pending) = error { *pending } else { panic!("{error:?}") }
}

#[tokio::test(start_paused = true)]
async fn a_terminal_state_takes_one_poll() {
    for event in
        ["delivered", "opened", "clicked", "complained", "bounced", "failed", "suppressed", "canceled"]
    {
        let script = Script::of([email(event)]);
        let begun = Instant::now();
        let found = script.client().emails().wait("e1").await.unwrap();
        assert_eq!(found.last_event.unwrap().as_str(), event);
        assert_eq!((script.seen().len(), begun.elapsed()), (1, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn the_intervals_grow_to_their_maximum() {
    let mut steps: Vec<_> = (0..9).map(|_| email("queued")).collect();
    steps.push(email("delivered"));
    let script = Script::of(steps);
    let found = script.client().emails().wait("e1").await.unwrap();
    assert_eq!(found.last_event, Some(LastEvent::Delivered));
    let at = polls(&script);
    let pauses: Vec<_> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses[..4], [500, 750, 1_125, 1_688]);
    assert!(pauses.windows(2).all(|pair| pair[0] <= pair[1]), "{pauses:?}");
    assert_eq!(pauses.last(), Some(&10_000));

    let script =
        Script::of([email("queued"), email("queued"), email("queued"), email("sent"), email("opened")]);
    script.client().emails().wait("e1").max_interval(Duration::from_millis(600)).await.unwrap();
    assert_eq!(polls(&script), [0, 500, 1_100, 1_700, 2_300]);

    let script = Script::of([email("queued"), email("queued"), email("sent"), email("opened")]);
    script.client().emails().wait("e1").max_interval(Duration::ZERO).await.unwrap();
    assert_eq!(polls(&script), [0, 10, 20, 30], "no wait polls without a pause");
}

#[tokio::test(start_paused = true)]
async fn one_more_poll_follows_the_timeout() {
    let script = Script::of([email("queued"), email("queued"), email("queued"), email("sent")]);
    let begun = Instant::now();
    let error = script.client().emails().wait("e1").max_wait(Duration::from_secs(2)).await.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_secs(2), "no longer than the maximum");
    assert!(error.is_retryable());
    assert_eq!(
        error.to_string(),
        "timed out after 2 s waiting for a terminal state; the last status is sent"
    );
    let over = pending(error);
    assert_eq!((over.state.as_deref(), over.polls), (Some("sent"), 4));
    assert_eq!(polls(&script), [0, 500, 1_250, 2_000], "the last poll is at the timeout");

    let script = Script::of([email("queued"), email("delivered")]);
    let found = script.client().emails().wait("e1").max_wait(Duration::from_millis(300)).await;
    assert!(found.is_ok(), "a change during the last interval counts");
    assert_eq!(polls(&script), [0, 300]);

    let script = Script::of([email("queued")]);
    let error = script.client().emails().wait("e1").max_wait(Duration::ZERO).await.unwrap_err();
    assert_eq!(pending(error).polls, 1, "a zero timeout allows one poll");
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_does_not_end_a_wait() {
    let script = Script::of([
        email("queued"),
        Reply::error(503, "service_unavailable"),
        Reply::connection_refused(),
        Reply::error(429, "rate_limit_exceeded"),
        Reply::connection_lost(),
        email("delivered"),
    ]);
    let client = script.builder().retry(RetryPolicy::never()).build().unwrap();
    let found = client.emails().wait("e1").await.unwrap();
    assert_eq!(found.last_event, Some(LastEvent::Delivered));
    assert_eq!(script.seen().len(), 6);

    let script = Script::of((0..3).map(|_| Reply::error(503, "service_unavailable")));
    let client = script.builder().retry(RetryPolicy::never()).build().unwrap();
    let error = client.emails().wait("e1").max_wait(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "timed out after 1 s waiting for a terminal state");
    assert_eq!(pending(error).state, None, "no status was reported");
}

#[tokio::test(start_paused = true)]
async fn an_unresponsive_service_makes_no_wait_endless() {
    let script = Script::of([email("queued"), silent()]);
    let begun = Instant::now();
    let error = script.client().emails().wait("e1").max_wait(Duration::from_secs(2)).await.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_secs(7));
    assert_eq!(pending(error).state.as_deref(), Some("queued"));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_poll_ends_the_wait() {
    for (status, name, kind) in [
        (404, "not_found", ApiErrorKind::NotFound),
        (401, "restricted_api_key", ApiErrorKind::Permission),
        (422, "invalid_parameter", ApiErrorKind::Validation),
    ] {
        let script = Script::of([email("queued"), Reply::error(status, name)]);
        let error = script.client().emails().wait("e1").await.unwrap_err();
        let Error::Api(api) = error else { panic!("{error:?}") };
        assert_eq!((api.kind(), script.seen().len()), (kind, 2));
    }
    let error = Script::of([]).client().emails().wait("..").await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_state_is_not_terminal() {
    let script = Script::of([email("teleported"), email(Value::Null), email("delivered")]);
    script.client().emails().wait("e1").await.unwrap();
    let script = Script::of([email("teleported"), email(Value::Null)]);
    let error = script.client().emails().wait("e1").max_wait(Duration::from_millis(500)).await.unwrap_err();
    assert_eq!(pending(error).state.as_deref(), Some("teleported"), "the last status is reported");
}

#[tokio::test(start_paused = true)]
async fn every_poll_is_reported_and_dropping_ends_the_wait() {
    let script = Script::of([email("queued"), email("sent"), email("delivered")]);
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&recorded);
    let wait = script.client().emails().wait("e1").on_poll(move |email| {
        listener.lock().unwrap().push(email.last_event.clone().unwrap());
    });
    let half = tokio::time::timeout(Duration::from_millis(700), wait.into_future()).await;
    assert!(half.is_err());
    assert_eq!(*recorded.lock().unwrap(), [LastEvent::Queued, LastEvent::Sent]);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(script.seen().len(), 2, "no further polls");
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_domain_ends_with_its_verification() {
    // DOM-03
    for end in ["verified", "partially_verified", "partially_failed", "failed", "temporary_failure"] {
        let script = Script::of([domain("not_started"), domain("pending"), domain(end)]);
        let found = script.client().domains().wait("d1").await.unwrap();
        assert_eq!(found.status.unwrap().as_str(), end);
        assert_eq!(script.seen().len(), 3);
    }
    let script = Script::of([domain("pending"), domain("dreaming")]);
    let error = script.client().domains().wait("d1").max_wait(Duration::from_millis(500)).await.unwrap_err();
    assert_eq!(pending(error).state.as_deref(), Some("dreaming"), "an unknown state is not terminal");
    assert!(DomainStatus::Failed.is_checked() && !DomainStatus::NotStarted.is_checked());
}
