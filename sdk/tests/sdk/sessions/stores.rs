//! Stores that fail, are slow, or have other writers; logins that begin and end during a refresh; refreshes by another process.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use futures_util::{FutureExt as _, future::join_all};
use idempost::auth::{EndReason, Revocation, StoreError};
use tokio::sync::Semaphore;

use super::{hooked::Hooks, *};

/// Counts reads and locks, and lets some writes fail.
#[derive(Clone, Default)]
struct Brittle {
    reads: Arc<AtomicUsize>,
    locks: Arc<AtomicUsize>,
    /// The number of writes that succeed first, and the number that then fail.
    fails: Arc<(AtomicU32, AtomicU32)>,
}

impl Brittle {
    fn fail(&self, spared: u32, times: u32) {
        self.fails.0.store(spared, Ordering::SeqCst);
        self.fails.1.store(times, Ordering::SeqCst);
    }
}

impl Hooks for Brittle {
    fn on_lock(&self) {
        self.locks.fetch_add(1, Ordering::SeqCst);
    }

    fn on_read(&self) {
        self.reads.fetch_add(1, Ordering::SeqCst);
    }

    /// All other readers run in between.
    async fn after_read(&self) {
        tokio::task::yield_now().await;
    }

    fn on_write(&self, record: &TokenRecord) -> Result<TokenRecord, StoreError> {
        let down = |left: u32| left.checked_sub(1);
        let (spared, fails) = (&self.fails.0, &self.fails.1);
        let spare = spared.fetch_update(Ordering::SeqCst, Ordering::SeqCst, down).is_ok();
        if !spare && fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, down).is_ok() {
            return Err(StoreError::unavailable("no space left on the device"));
        }
        Ok(record.clone())
    }
}

#[tokio::test]
async fn a_valid_token_costs_one_read_per_process() {
    let fixture = Fixture::fresh().await;
    let store = Brittle::default().over(&fixture.store);
    let client = fixture.client(&fixture.builder().open(store.clone()));
    assert_eq!(store.hooks.reads.load(Ordering::SeqCst), 0, "nothing is read before the first call");
    let calls = (0..20).map(|_| async { client.emails().send(&email()).await.map(drop) });
    let calls = join_all(calls).await;
    assert!(calls.len() == 20 && calls.iter().all(Result::is_ok));
    assert_eq!(store.hooks.reads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_gets_its_token_while_another_that_reads_the_store_is_not_polled() {
    let fixture = Fixture::fresh().await;
    let session = fixture.builder().open(Brittle::default().over(&fixture.store));
    let mut unpolled = Box::pin(session.access_token());
    assert!(unpolled.as_mut().now_or_never().is_none());
    tokio::time::pause();
    tokio::time::timeout(Duration::from_secs(20), session.access_token()).await.unwrap().unwrap();
    unpolled.await.unwrap();
}

#[tokio::test]
async fn an_unwritable_store_is_reported_before_anything_is_sent() {
    // E-06
    let fixture = Fixture::expired().await;
    let store = Brittle::default().over(&fixture.store);
    store.hooks.fail(0, 1);
    let session = fixture.builder().open(store.clone());
    assert_auth!(session.access_token().await, AuthError::Store(_));
    assert_eq!(fixture.shown(), 0);
    session.access_token().await.unwrap();
}

#[tokio::test]
async fn saving_is_tried_again() {
    // E-06
    let fixture = Fixture::expired().await;
    let store = Brittle::default().over(&fixture.store);
    store.hooks.fail(1, 2);
    let (builder, heard) = notices(fixture.builder());
    builder.open(store).access_token().await.unwrap();
    assert_eq!(fixture.record().await.generation, 2);
    assert!(heard.lock().unwrap().is_empty(), "{heard:?}");
}

#[tokio::test]
async fn tokens_that_cannot_be_saved_are_kept_reported_and_saved_later() {
    // E-06
    let fixture = Fixture::expired().await;
    let store = Brittle::default().over(&fixture.store);
    store.hooks.fail(1, u32::MAX);
    let (builder, heard) = notices(fixture.builder());
    let session = builder.open(store.clone());
    let client = fixture.client(&session);
    for _ in 0..3 {
        client.emails().send(&email()).await.unwrap();
    }
    assert_eq!((fixture.record().await.generation, fixture.rotations()), (1, 1));
    assert!(heard.lock().unwrap()[0].contains("couldn't be saved: "), "{heard:?}");

    // Its access token has expired, and the store still fails: neither the spent refresh token nor, without a mark, the new one is sent.
    fixture.pass(901);
    assert_auth!(client.emails().send(&email()).await, AuthError::NotSaved(_));
    assert_eq!(fixture.shown(), 1);

    store.hooks.fail(0, 0);
    client.emails().send(&email()).await.unwrap();
    assert_eq!((fixture.record().await.generation, fixture.rotations()), (3, 2));
}

#[tokio::test]
async fn unsaved_tokens_are_saved_at_the_next_call() {
    // E-06
    let fixture = Fixture::expired().await;
    let store = Brittle::default().over(&fixture.store);
    store.hooks.fail(1, 3);
    let client = fixture.client(&fixture.builder().open(store));
    client.emails().send(&email()).await.unwrap();
    assert_eq!(fixture.record().await.generation, 1);
    client.emails().send(&email()).await.unwrap();
    assert_eq!((fixture.record().await.generation, fixture.rotations()), (2, 1));
}

#[tokio::test]
async fn a_faster_writer_without_a_lock_is_followed() {
    // D-07, D-21
    // It refreshes between our read of the record and our request; ours is then rejected, and the store has its tokens.
    for spent_too in [false, true] {
        let fixture = Fixture::expired().await;
        let winner = fixture.grant();
        fixture.fault(Action::http_response(400, r#"{"error":"invalid_grant"}"#));
        let overwriting = Overwriting { by: winner.clone(), writes: Arc::default() };
        let session = fixture.builder().open(overwriting.over(&fixture.store));
        if spent_too {
            fixture.fault(Action::http_response(400, r#"{"error":"invalid_grant"}"#));
            fixture.pass(901);
        }
        let token = session.access_token().await;
        let record = fixture.record().await;
        assert_eq!(refresh_token(&record), refresh_token(&winner));
        assert_eq!((token.is_ok(), record.ended.is_some()), (!spent_too, spent_too), "{token:?}");
    }
}

/// Another writer replaces the record right after the first mark.
#[derive(Clone)]
struct Overwriting {
    by: TokenRecord,
    writes: Arc<AtomicUsize>,
}

impl Hooks for Overwriting {
    fn on_write(&self, record: &TokenRecord) -> Result<TokenRecord, StoreError> {
        let is_first = self.writes.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(if is_first { &self.by } else { record }.clone())
    }
}

/// A refresh that is held at the service until the test releases it.
async fn held_refresh(fixture: &Fixture) -> (Arc<Semaphore>, tokio::task::JoinHandle<bool>) {
    let door = Arc::new(Semaphore::new(0));
    let (inside, entered) = (Arc::clone(&door), Arc::new(Semaphore::new(0)));
    let entering = Arc::clone(&entered);
    let store = fixture.store.clone();
    let service = Arc::clone(fixture.server.service());
    // The lock is held during this, as by a process with a slow token endpoint.
    let refresh = tokio::spawn(async move {
        let mut locked = store.lock(Duration::ZERO).await.unwrap();
        entering.add_permits(1);
        inside.acquire().await.unwrap().forget();
        let mut record = locked.read().await.unwrap().unwrap();
        record.generation += 1;
        record.obtained_at = service.clock().now().into();
        locked.write(&record).await.is_ok()
    });
    entered.acquire().await.unwrap().forget();
    (door, refresh)
}

#[tokio::test]
async fn a_logout_waits_for_a_refresh_and_wins() {
    // D-20
    let fixture = Fixture::expired().await;
    let (door, refresh) = held_refresh(&fixture).await;
    let session = fixture.session();
    let ending = tokio::spawn({
        let session = session.clone();
        async move { session.logout().await }
    });
    let waiting = spawn_request(&session);
    tokio::task::yield_now().await;
    door.add_permits(1);
    assert!(refresh.await.unwrap());
    assert!(matches!(ending.await.unwrap().unwrap(), Revocation::Revoked));
    // It got the refreshed token earlier, or none; the record is still removed.
    let _ = waiting.await.unwrap();
    assert!(fixture.store.read().await.unwrap().is_none());
    assert_auth!(fixture.session().access_token().await, AuthError::LoggedOut);
    assert!(fixture.store.read().await.unwrap().is_none());
}

#[tokio::test]
async fn a_logout_that_cannot_revoke_keeps_the_record_as_ended_until_it_can() {
    let fixture = Fixture::fresh().await;
    let token = fixture.record().await.access_token.unwrap();
    assert!(matches!(fixture.session().logout().await.unwrap(), Revocation::Revoked));
    let client = fixture.client_with(&token);
    assert!(client.emails().send(&email()).await.is_err(), "the service no longer accepts the token");
    assert!(matches!(fixture.session().logout().await.unwrap(), Revocation::NoGrant));

    let mut record = fixture.grant();
    let revocation_endpoint = record.revocation_endpoint.replace("http://127.0.0.1:0/revoke".to_owned());
    let session = fixture.builder().start(fixture.store.clone(), &record).await.unwrap();
    for _ in 0..2 {
        assert!(matches!(session.logout().await.unwrap(), Revocation::NotRevoked(AuthError::Unreachable(_))));
        let error = session.access_token().await.unwrap_err();
        let AuthError::Ended(ended) = auth(&error) else { panic!("{error:?}") };
        assert_eq!(ended.reason, EndReason::LoggedOut);
    }
    let mut record = fixture.store.read().await.unwrap().unwrap();
    record.revocation_endpoint = revocation_endpoint;
    fixture.store.lock(Duration::ZERO).await.unwrap().write(&record).await.unwrap();
    assert!(matches!(session.logout().await.unwrap(), Revocation::Revoked));
    assert!(fixture.store.read().await.unwrap().is_none());
}

#[tokio::test]
async fn a_discarded_login_is_removed_and_not_revoked() {
    let fixture = Fixture::fresh().await;
    let token = fixture.record().await.access_token.unwrap();
    let session = fixture.session();
    session.access_token().await.unwrap();
    session.discard().await.unwrap();
    assert!(fixture.store.read().await.unwrap().is_none());
    assert!(matches!(auth(&session.access_token().await.unwrap_err()), AuthError::LoggedOut));
    let client = fixture.client_with(&token);
    client.emails().send(&email()).await.unwrap();
}

#[tokio::test]
async fn a_page_instead_of_a_revocation_is_no_revocation() {
    let fixture = Fixture::fresh().await;
    let page =
        Rule::new(Action::http_response(200, "\n<!DOCTYPE html>")).on_request(Method::POST, "/oauth/revoke");
    fixture.server.service().faults().add(page);
    let outcome = fixture.session().logout().await.unwrap();
    assert!(matches!(outcome, Revocation::NotRevoked(AuthError::UnexpectedResponse { .. })), "{outcome:?}");
}

#[tokio::test]
async fn an_empty_response_to_a_revocation_may_have_any_content_type() {
    // RFC 7009, 2.2
    let fixture = Fixture::fresh().await;
    let empty = Action::http_response(200, "").header("content-type", "text/html; charset=utf-8");
    fixture.server.service().faults().add(Rule::new(empty).on_request(Method::POST, "/oauth/revoke"));
    let outcome = fixture.session().logout().await.unwrap();
    assert!(matches!(outcome, Revocation::Revoked), "{outcome:?}");
}

#[tokio::test]
async fn a_logout_of_an_ended_login_revokes_nothing_and_removes_its_record() {
    let fixture = Fixture::expired().await;
    fixture.pass(61 * 24 * 60 * 60);
    let session = fixture.session();
    session.access_token().await.unwrap_err();
    assert!(session.record().await.unwrap().unwrap().ended.is_some());
    assert!(matches!(session.logout().await.unwrap(), Revocation::NoGrant));
    let requests = fixture.server.service().requests();
    assert!(!requests.iter().any(|request| request.path == "/oauth/revoke"));
    assert!(session.record().await.unwrap().is_none());
}

#[tokio::test]
async fn a_logout_revokes_the_login_that_the_store_has_and_not_unsaved_tokens_of_an_earlier_one() {
    let fixture = Fixture::expired().await;
    let store = Brittle::default().over(&fixture.store);
    store.hooks.fail(1, u32::MAX);
    let session = fixture.builder().open(store.clone());
    session.access_token().await.unwrap();
    assert_eq!(fixture.record().await.generation, 1, "the tokens are unsaved");
    let login = fixture.grant();
    fixture.builder().start(fixture.store.clone(), &login).await.unwrap();
    assert!(matches!(session.logout().await.unwrap(), Revocation::Revoked));
    let client = fixture.client_with(&login.access_token.unwrap());
    assert!(client.emails().send(&email()).await.is_err(), "the new login is revoked");
}

#[tokio::test]
async fn a_running_process_follows_a_new_login() {
    // D-20
    let fixture = Fixture::expired().await;
    let (door, refresh) = held_refresh(&fixture).await;
    let logins: Vec<_> = (0..2)
        .map(|_| {
            let (builder, store, tokens) = (fixture.builder(), fixture.store.clone(), fixture.grant());
            tokio::spawn(async move { builder.start(store, &tokens).await.map(drop) })
        })
        .collect();
    door.add_permits(1);
    assert!(refresh.await.unwrap());
    for login in logins {
        login.await.unwrap().unwrap();
    }
    assert_eq!(fixture.record().await.generation, 4);
    fixture.client(&fixture.session()).emails().send(&email()).await.unwrap();
    assert_eq!(fixture.rotations(), 0);
}

#[tokio::test]
async fn a_held_lock_is_not_broken() {
    // E-09
    let fixture = Fixture::expired().await;
    let (door, refresh) = held_refresh(&fixture).await;
    let session = fixture.builder().max_wait(Duration::from_millis(20)).open(fixture.store.clone());
    let error = session.access_token().await.unwrap_err();
    assert!(matches!(auth(&error), AuthError::Busy(_)) && error.is_retryable(), "{error:?}");
    assert_eq!(fixture.shown(), 0);
    door.add_permits(1);
    refresh.await.unwrap();

    // With a valid access token, the call doesn't wait for it.
    let fixture = Fixture::fresh().await;
    fixture.pass(800);
    let _held = held_refresh(&fixture).await;
    let store = Brittle::default().over(&fixture.store);
    let client = fixture.client(&fixture.builder().open(store.clone()));
    for _ in 0..5 {
        client.emails().send(&email()).await.unwrap();
    }
    assert_eq!(fixture.shown(), 0);
    assert_eq!(store.hooks.locks.load(Ordering::SeqCst), 1, "the lock is not taken for each call");
}

#[tokio::test]
async fn an_ended_or_removed_login_is_not_used_while_another_process_holds_the_lock() {
    for is_removed in [false, true] {
        let fixture = Fixture::fresh().await;
        let session = fixture.session();
        session.access_token().await.unwrap();
        if is_removed {
            fixture.store.lock(Duration::ZERO).await.unwrap().remove().await.unwrap();
        } else {
            fixture.fault(Action::http_response(400, r#"{"error":"invalid_grant"}"#));
        }
        // Due for a refresh, although it is valid for 100 s more.
        fixture.pass(800);
        let ended = |error: Error| match auth(&error) {
            AuthError::Ended(_) => !is_removed,
            AuthError::LoggedOut => is_removed,
            other => panic!("{other:?}"),
        };
        assert!(ended(session.access_token().await.unwrap_err()));
        let _held = fixture.store.lock(Duration::ZERO).await.unwrap();
        assert!(ended(session.access_token().await.unwrap_err()));
    }
}

#[tokio::test]
async fn another_process_can_refresh() {
    let fixture = Fixture::expired().await;
    let helper = fixture.session();
    let orders = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&orders);
    let renew = move |order: RefreshRequest| {
        noted.lock().unwrap().push(order.clone());
        refresh_by(helper.clone(), order)
    };
    let (builder, stands) = fixture.movable_clock();
    let session = builder.refresh_with(renew).open(fixture.store.clone());
    let client = fixture.client(&session);
    client.emails().send(&email()).await.unwrap();
    assert_eq!(*orders.lock().unwrap(), [RefreshRequest { generation: 1, ..RefreshRequest::default() }]);
    // The service rejects the token as expired, although it isn't by this process's clock.
    fixture.pass(901);
    client.emails().send(&email()).await.unwrap();
    assert_eq!(orders.lock().unwrap()[1], RefreshRequest { generation: 2, rejected: true, scope: None });
    assert_eq!(fixture.rotations(), 2);

    *stands.lock().unwrap() = fixture.now();
    fixture.fault(Action::http_response(400, r#"{"error":"invalid_grant"}"#));
    fixture.pass(901);
    *stands.lock().unwrap() = fixture.now();
    assert_auth!(client.emails().send(&email()).await, AuthError::Ended(_));
}

#[tokio::test]
async fn a_refresh_that_never_ends_is_waited_for_with_a_limit() {
    let fixture = Fixture::expired().await;
    let session = fixture.builder().refresh_with(|_| std::future::pending()).open(fixture.store.clone());
    tokio::time::pause();
    let hours = Duration::from_secs(3 * 60 * 60);
    let error = tokio::time::timeout(hours, session.access_token()).await.unwrap().unwrap_err();
    let Error::Auth(error) = error else { panic!("{error:?}") };
    assert!(matches!(*error, AuthError::RefreshTimeout), "{error:?}");
    tokio::time::timeout(hours, session.close()).await.unwrap();
}

#[tokio::test]
async fn many_refreshes_leave_one_record() {
    // D-22
    let fixture = Fixture::fresh().await;
    let session = fixture.session();
    let mut sizes = Vec::new();
    for generation in 2..200 {
        fixture.pass(901);
        session.access_token().await.unwrap();
        let record = fixture.record().await;
        assert_eq!(record.generation, generation);
        sizes.push(record.to_json().len());
    }
    assert!(sizes[197] <= sizes[0] + 20, "{sizes:?}");
    assert_eq!(fixture.rotations(), 198);
}
