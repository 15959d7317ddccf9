//! The state shared by a session's clones: its settings, and its state in memory.

use std::{
    hash::{BuildHasher as _, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use super::{
    event::{RefreshRequest, SessionEvent},
    protocol::Policy,
    state::{State, Unsaved},
    token::{Clocks, Token},
};
use crate::{
    auth::{oauth::HttpClient, record::TokenRecord, store::TokenStore},
    clock::timeout,
    error::{AuthError, StoreError},
    transport::BoxFuture,
};

/// The maximum time that a call waits for another one to read the record.
const MAX_LOADING: Duration = Duration::from_secs(2);

/// Refreshes on behalf of this process.
pub(super) type Delegate =
    Arc<dyn Fn(RefreshRequest) -> BoxFuture<'static, Result<(), AuthError>> + Send + Sync>;
pub(super) type Listener = Arc<dyn Fn(&SessionEvent) + Send + Sync>;

/// The state shared by a session's clones.
pub(super) struct Shared {
    pub(super) store: Arc<dyn TokenStore>,
    /// Uses the application's transport, or else the first client's; empty while there is neither.
    pub(super) http: OnceLock<HttpClient>,
    pub(super) delegate: Option<Delegate>,
    pub(super) listener: Option<Listener>,
    pub(super) policy: Policy,
    pub(super) clocks: Clocks,
    pub(super) hasher: RandomState,
    pub(super) loading: tokio::sync::Mutex<()>,
    /// Whether the refresh in flight is waiting and has nothing to lose if the process ends.
    pub(super) resting: watch::Sender<bool>,
    pub(super) state: Mutex<State>,
}

impl Shared {
    pub(super) fn http(&self) -> HttpClient {
        self.http.get().cloned().unwrap_or_default()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a fingerprint that distinguishes records by refresh token without storing the token; by access token if there is no refresh token.
    pub(super) fn fingerprint(&self, record: &TokenRecord) -> u64 {
        let access = || record.access_token.as_ref().map_or("", |token| token.expose());
        self.hasher.hash_one(record.refresh_token.as_ref().map_or_else(access, |token| token.expose()))
    }

    /// Delivers an event. A panic in the listener is caught.
    pub(super) fn notify(&self, event: &SessionEvent) {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            tracing::warn!("{event}");
            if let Some(listener) = &self.listener {
                listener(event);
            }
        }));
    }

    /// Reads the record for the first time in this process. Returns it with the epoch. Concurrent callers wait for one read, but not for long: the
    /// future that reads may not be polled.
    pub(super) async fn load(&self) -> Result<(u64, Token), AuthError> {
        let _guard = timeout(MAX_LOADING, self.loading.lock()).await;
        loop {
            let epoch = {
                let state = self.state();
                if let Some(token) = &state.current {
                    return Ok((state.epoch, token.clone()));
                }
                state.epoch
            };
            let record = self.store.read().await.map_err(AuthError::Store)?.ok_or(AuthError::LoggedOut)?;
            // Read again each time, since a new login may have replaced the record.
            if let Some(ended) = record.ended {
                return Err(AuthError::Ended(ended));
            }
            let token = self.to_token(record);
            let mut state = self.state();
            // A logout may have removed the record after it was read, or another caller may have read it.
            if state.current.is_none() && state.publish(epoch, token.clone()) {
                return Ok((epoch, token));
            }
        }
    }

    /// Converts a record to a token. If it is the current token, its known expiry is kept.
    pub(super) fn to_token(&self, record: TokenRecord) -> Token {
        let seen = Token::new(record, self.clocks.now(), None);
        match &self.state().current {
            Some(current) if current.is_same_as(&seen) => {
                current.with_record(TokenRecord::clone(&seen.record))
            }
            _ => seen,
        }
    }

    pub(super) fn unsaved_record(&self) -> Option<Unsaved> {
        self.state().unsaved.clone()
    }

    pub(super) fn remaining_lifetime(&self, token: &Token) -> Duration {
        let rejected = self.state().rejected == Some(token.record.generation);
        if rejected { Duration::ZERO } else { token.remaining_lifetime(self.clocks.now()) }
    }
}

/// Returns the error for a lock that couldn't be acquired.
pub(super) fn lock_error(error: StoreError) -> AuthError {
    match error {
        busy @ StoreError::Busy { .. } => AuthError::Busy(busy),
        other => AuthError::Store(other),
    }
}
