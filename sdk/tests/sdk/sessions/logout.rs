//! Logouts while the same session reads, refreshes or is used: no token of an ended login is restored.

use std::sync::atomic::{AtomicBool, Ordering};

use idempost::auth::Revocation;
use tokio::sync::Semaphore;

use super::{hooked::Hooks, *};

/// Blocks the next read or removal, after it has taken effect, until the test releases it.
#[derive(Clone, Default)]
struct Held {
    at_read: Arc<Gate>,
    at_remove: Arc<Gate>,
}

impl Hooks for Held {
    async fn after_read(&self) {
        self.at_read.pass().await;
    }

    async fn after_remove(&self) {
        self.at_remove.pass().await;
    }
}

struct Gate {
    armed: AtomicBool,
    arrived: Semaphore,
    open: Semaphore,
}

impl Default for Gate {
    fn default() -> Self {
        Self { armed: AtomicBool::new(false), arrived: Semaphore::new(0), open: Semaphore::new(0) }
    }
}

impl Gate {
    fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    async fn pass(&self) {
        if self.armed.swap(false, Ordering::SeqCst) {
            self.arrived.add_permits(1);
            self.open.acquire().await.unwrap().forget();
        }
    }

    async fn arrived(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    fn open(&self) {
        self.open.add_permits(1);
    }
}

async fn is_logged_out(session: &Session) {
    let token = session.access_token().await;
    assert!(matches!(auth(&token.unwrap_err()), AuthError::LoggedOut));
}

#[tokio::test]
async fn a_read_that_ends_after_a_logout_restores_no_token() {
    let fixture = Fixture::fresh().await;
    let store = Held::default().over(&fixture.store);
    let session = fixture.builder().open(store.clone());
    store.hooks.at_read.arm();
    let reading = spawn_request(&session);
    store.hooks.at_read.arrived().await;
    assert!(matches!(session.logout().await.unwrap(), Revocation::Revoked));
    store.hooks.at_read.open();
    assert!(reading.await.unwrap().is_err(), "the login ended while it was read");
    is_logged_out(&session).await;
}

#[tokio::test]
async fn a_logout_completes_if_its_caller_is_dropped() {
    let fixture = Fixture::fresh().await;
    let store = Held::default().over(&fixture.store);
    let session = fixture.builder().open(store.clone());
    session.access_token().await.unwrap();
    store.hooks.at_remove.arm();
    let ending = tokio::spawn({
        let session = session.clone();
        async move { session.logout().await.map(drop) }
    });
    store.hooks.at_remove.arrived().await;
    ending.abort();
    let _ = ending.await;
    store.hooks.at_remove.open();
    // The lock is released after the logout.
    drop(fixture.store.lock(Duration::from_mins(1)).await.unwrap());
    is_logged_out(&session).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_slow_refresh_gets_no_token_after_a_logout() {
    // The access token is valid for a short time, so a call waits only briefly for its refresh, which another process makes.
    let (_, store) = login_without_address().await;
    let session = stopped_in(800).refresh_with(|_| std::future::pending()).open(store.clone());
    let caller = spawn_request(&session);
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.lock(Duration::ZERO).await.unwrap().remove().await.unwrap();
    session.logout().await.unwrap();
    assert_auth!(caller.await.unwrap(), AuthError::LoggedOut);
}

#[tokio::test]
async fn a_refresh_by_another_process_that_ends_after_a_logout_restores_no_token() {
    let fixture = Fixture::expired().await;
    let store = Held::default().over(&fixture.store);
    let (helper, gate) = (fixture.session(), Arc::clone(&store.hooks.at_read));
    let renew = move |request| {
        let (helper, gate) = (helper.clone(), Arc::clone(&gate));
        async move {
            helper.refresh(request).await.unwrap();
            // The next read is the session's read of the refreshed record.
            gate.arm();
            Ok(())
        }
    };
    let session = fixture.builder().refresh_with(renew).open(store.clone());
    let caller = spawn_request(&session);
    store.hooks.at_read.arrived().await;
    assert_eq!(fixture.record().await.generation, 2);
    session.logout().await.unwrap();
    store.hooks.at_read.open();
    assert!(caller.await.unwrap().is_err(), "the login ended while it was refreshed");
    session.close().await;
    is_logged_out(&session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_logout_is_undone_by_concurrent_calls_and_refreshes() {
    // D-20
    let fixture = Fixture::fresh().await;
    for round in 0..150 {
        fixture.builder().start(fixture.store.clone(), &fixture.grant()).await.unwrap();
        let session = fixture.session();
        session.access_token().await.unwrap();
        // Due for a refresh, about to expire, and expired.
        fixture.pass([800, 895, 901][round % 3]);
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let session = session.clone();
                tokio::spawn(async move { session.access_token().await.map(drop) })
            })
            .collect();
        for _ in 0..round % 5 {
            tokio::task::yield_now().await;
        }
        session.logout().await.unwrap();
        for call in calls {
            let _ = call.await.unwrap();
        }
        session.close().await;
        is_logged_out(&session).await;
    }
}
