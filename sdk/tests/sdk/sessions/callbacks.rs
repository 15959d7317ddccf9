//! Application code that a session calls: event listeners, clocks and stores. None of them can lose a refresh token.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::FutureExt as _;
use idempost::auth::{SessionEvent, StoreError};
use serde_json::json;

use super::{hooked::Hooks, *};

/// A response whose scope and lifetime each cause an event.
fn eventful() -> Action {
    let tokens = json!({
        "access_token": "at", "token_type": "Bearer", "expires_in": 0, "refresh_token": "rt", "scope": "emails:send",
    });
    Action::http_response(200, tokens.to_string())
}

#[tokio::test]
async fn a_panicking_event_listener_loses_no_refresh_token() {
    // F-12
    let fixture = Fixture::expired().await;
    fixture.fault(eventful());
    let session = fixture.builder().on_event(|_| panic!("listener")).open(fixture.store.clone());
    assert_eq!(session.access_token().await.unwrap().expose(), "at");
    let record = fixture.record().await;
    assert_eq!((refresh_token(&record), record.generation), ("rt", 2));
    assert!(record.pending.is_none());
}

#[tokio::test]
async fn events_are_delivered_after_the_new_refresh_token_was_saved() {
    // F-12
    let fixture = Fixture::expired().await;
    fixture.fault(eventful());
    let store = fixture.store.clone();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let listener = {
        let seen = Arc::clone(&seen);
        move |event: &SessionEvent| {
            let saved = store.read().now_or_never().unwrap().unwrap().unwrap();
            // The lock is free too: a slow listener delays no other process.
            let free = store.lock(Duration::ZERO).now_or_never().is_some_and(|locked| locked.is_ok());
            seen.lock().unwrap().push((event.to_string(), saved.generation, free));
        }
    };
    fixture.builder().on_event(listener).open(fixture.store.clone()).access_token().await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.iter().all(|(_, generation, free)| *generation == 2 && *free), "{seen:?}");
}

#[tokio::test]
async fn a_panicking_clock_loses_no_refresh_token() {
    // F-12
    let fixture = Fixture::expired().await;
    let service = Arc::clone(fixture.server.service());
    let clock = move || {
        // From the token request on.
        assert!(!service.requests().iter().any(|request| request.path == "/oauth/token"), "clock");
        service.clock().now().into()
    };
    let session = fixture.builder().wall_clock(clock).open(fixture.store.clone());
    let _ = session.access_token().await;
    session.close().await;
    assert_eq!(fixture.record().await.generation, 2);
    // The panic has freed the lock.
    fixture.pass(901);
    fixture.session().access_token().await.unwrap();
    assert_eq!((fixture.record().await.generation, fixture.rotations()), (3, 2));
}

/// Writes panic from the second one on: the mark is written, the tokens are not.
#[derive(Clone, Default)]
struct Panicking(Arc<AtomicU32>);

impl Hooks for Panicking {
    fn on_write(&self, record: &TokenRecord) -> Result<TokenRecord, StoreError> {
        assert_eq!(self.0.fetch_add(1, Ordering::SeqCst), 0, "store");
        Ok(record.clone())
    }
}

#[tokio::test]
async fn tokens_are_kept_in_memory_if_their_write_panics() {
    // F-12
    let fixture = Fixture::expired().await;
    let (builder, heard) = notices(fixture.builder());
    let session = builder.open(Panicking::default().over(&fixture.store));
    fixture.client(&session).emails().send(&email()).await.unwrap();
    assert_eq!((fixture.rotations(), fixture.record().await.generation), (1, 1));
    assert_eq!(heard.lock().unwrap().len(), 1, "{heard:?}");
}

/// Panics when it is locked, or when it is read under the lock.
#[derive(Clone)]
struct Unusable(&'static str);

impl Hooks for Unusable {
    fn on_lock(&self) {
        assert_ne!(self.0, "lock", "store");
    }

    fn on_locked_read(&self) {
        assert_ne!(self.0, "read", "store");
    }
}

#[tokio::test]
async fn a_store_that_panics_before_the_request_is_reported_as_the_cause() {
    // F-12
    for operation in ["lock", "read"] {
        let fixture = Fixture::expired().await;
        let session = fixture.builder().open(Unusable(operation).over(&fixture.store));
        let error = session.access_token().await.unwrap_err();
        assert_eq!(auth(&error).to_string(), "the token store is unavailable: it panicked", "{operation}");
        assert!(fixture.record().await.pending.is_none());
        fixture.session().access_token().await.unwrap();
    }
}
