//! A session's settings.

use std::{
    fmt,
    future::Future,
    hash::RandomState,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    RefreshRequest, Session, SessionEvent,
    protocol::Policy,
    shared::{Elsewhere, Listener, Shared},
    store_error,
    token::Clocks,
};
use crate::{
    auth::{
        oauth::{HttpTokenEndpoint, Wire},
        record::TokenRecord,
        store::TokenStore,
        token_endpoint::TokenEndpoint,
    },
    error::Result,
    error::{AuthError, StoreError},
    transport::Transport,
};

/// Collects a session's settings.
#[must_use]
#[derive(Default)]
pub struct SessionBuilder {
    policy: Policy,
    clocks: Clocks,
    exchange: Option<Arc<dyn TokenEndpoint>>,
    elsewhere: Option<Elsewhere>,
    listener: Option<Listener>,
}

impl SessionBuilder {
    /// After how long a request that got no answer can no longer arrive at the service. Default: 60 s.
    ///
    /// A refresh token whose fate is unknown is not shown again before; repeated attempts wait twice as long each time, up to ten minutes.
    pub fn settle(mut self, time: Duration) -> Self {
        self.policy.settle = time;
        self
    }

    /// For how long the service takes a replaced refresh token for a repetition instead of a theft. Default: not at all, as the specification says.
    ///
    /// Within that time a renewal that got no answer is repeated at once.
    pub fn grace(mut self, time: Duration) -> Self {
        self.policy.grace = time;
        self
    }

    /// The longest that a renewal waits for another one, in this process or elsewhere. Default: 75 s.
    pub fn patience(mut self, time: Duration) -> Self {
        self.policy.patience = time;
        self
    }

    /// Sends renewals over the application's own HTTP stack. It must open a fresh connection for each request: an idle one that breaks can lose
    /// the answer.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.exchange = Some(Arc::new(HttpTokenEndpoint { wire: Wire::over(Arc::new(transport)) }));
        self
    }

    /// Lets something else do the renewal, such as a process that outlives this one. It opens the same store and calls
    /// [`Session::renew`] with the order; when the future is done, the session reads the store again.
    pub fn renew_with<F, Done>(mut self, renew: F) -> Self
    where
        F: Fn(RefreshRequest) -> Done + Send + Sync + 'static,
        Done: Future<Output = Result<(), AuthError>> + Send + 'static,
    {
        self.elsewhere = Some(Arc::new(move |order| Box::pin(renew(order))));
        self
    }

    /// Is told what a person may want to know although calls go on. Without it, it is a `tracing` event alone.
    pub fn on_event(mut self, listener: impl Fn(&SessionEvent) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Reads the time elsewhere than from the system, for tests that move it. A clock that is never set runs beside it, and a token is expired when
    /// either says so.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clocks = Clocks::with(now);
        self
    }

    /// The login that a store keeps. Nothing is read yet.
    pub fn open(self, store: impl TokenStore) -> Session {
        let shared = Shared {
            store: Arc::new(store),
            exchange: self.exchange.unwrap_or_else(|| Arc::new(HttpTokenEndpoint::default())),
            elsewhere: self.elsewhere,
            listener: self.listener,
            policy: self.policy,
            clocks: self.clocks,
            hasher: RandomState::new(),
            loading: tokio::sync::Mutex::default(),
            state: std::sync::Mutex::default(),
        };
        Session { shared: Arc::new(shared) }
    }

    /// Begins with the tokens of a new login: they replace what the store had, also what can't be read. A renewal under way ends first.
    ///
    /// # Errors
    /// [`AuthError::Busy`] or [`AuthError::Store`]: the store could not be locked or written. It is as it was.
    pub async fn start(self, store: impl TokenStore, mut tokens: TokenRecord) -> Result<Session> {
        let session = self.open(store);
        let shared = &session.shared;
        let mut locked = shared.store.lock(shared.policy.patience).await.map_err(store_error)?;
        let before = match locked.read().await {
            Ok(before) => before,
            Err(StoreError::Unreadable { .. }) => None,
            Err(error) => return Err(AuthError::Store(error).into()),
        };
        // Later than what was there, so that nobody who holds that takes this for it.
        let generation = before.map_or(0, |before| before.generation).saturating_add(1);
        tokens.generation = tokens.generation.max(generation);
        locked.write(&tokens).await.map_err(AuthError::Store)?;
        drop(locked);
        shared.publish(Some(shared.known(tokens)));
        Ok(session)
    }
}

impl fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBuilder").field("policy", &self.policy).finish_non_exhaustive()
    }
}
