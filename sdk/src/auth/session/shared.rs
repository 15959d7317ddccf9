//! The state that the clones of a session share: settings, and the session's state in memory.

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
    auth::{oauth::HttpTokenEndpoint, record::TokenRecord, store::TokenStore, token_endpoint::TokenEndpoint},
    error::{AuthError, StoreError},
    transport::BoxFuture,
};

/// Refreshes in place of this process.
pub(super) type Delegate =
    Arc<dyn Fn(RefreshRequest) -> BoxFuture<'static, Result<(), AuthError>> + Send + Sync>;
pub(super) type Listener = Arc<dyn Fn(&SessionEvent) + Send + Sync>;

/// The state that the clones of a session share.
pub(super) struct Shared {
    pub(super) store: Arc<dyn TokenStore>,
    /// Over the transport of the application, or else of the first client; empty as long as there is neither.
    pub(super) endpoint: OnceLock<Arc<dyn TokenEndpoint>>,
    pub(super) delegate: Option<Delegate>,
    pub(super) listener: Option<Listener>,
    pub(super) policy: Policy,
    pub(super) clocks: Clocks,
    pub(super) hasher: RandomState,
    pub(super) loading: tokio::sync::Mutex<()>,
    /// Whether the refresh in flight waits, with nothing that would be lost with the process.
    pub(super) resting: watch::Sender<bool>,
    pub(super) state: Mutex<State>,
}

impl Shared {
    pub(super) fn endpoint(&self) -> Arc<dyn TokenEndpoint> {
        self.endpoint.get().map_or_else(|| Arc::new(HttpTokenEndpoint::default()) as _, Arc::clone)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a fingerprint that distinguishes the refresh tokens of records without storing them; without one, the access tokens.
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

    /// The first read of a process, with its epoch. Concurrent callers wait for it instead of reading too.
    pub(super) async fn load(&self) -> Result<(u64, Token), AuthError> {
        let _guard = self.loading.lock().await;
        loop {
            let epoch = {
                let state = self.state();
                if let Some(token) = &state.current {
                    return Ok((state.epoch, token.clone()));
                }
                state.epoch
            };
            let record = self.store.read().await.map_err(AuthError::Store)?.ok_or(AuthError::LoggedOut)?;
            // Read again each time: a new login may have replaced it.
            if let Some(ended) = record.ended {
                return Err(AuthError::Ended(ended));
            }
            let token = self.known(record);
            // A logout may have removed the record after it was read.
            if self.state().publish(epoch, token.clone()) {
                return Ok((epoch, token));
            }
        }
    }

    /// Returns the record as a token; if it is the current one, with its known expiry.
    pub(super) fn known(&self, record: TokenRecord) -> Token {
        let seen = Token::new(record, self.clocks.now(), None);
        match &self.state().current {
            Some(current) if current.same(&seen) => current.with(TokenRecord::clone(&seen.record)),
            _ => seen,
        }
    }

    pub(super) fn unsaved(&self) -> Option<Unsaved> {
        self.state().unsaved.clone()
    }

    pub(super) fn left(&self, token: &Token) -> Duration {
        let rejected = self.state().rejected == Some(token.record.generation);
        if rejected { Duration::ZERO } else { token.left(self.clocks.now()) }
    }
}

/// The error for a lock that could not be acquired.
pub(super) fn lock_error(error: StoreError) -> AuthError {
    match error {
        busy @ StoreError::Busy { .. } => AuthError::Busy(busy),
        other => AuthError::Store(other),
    }
}
