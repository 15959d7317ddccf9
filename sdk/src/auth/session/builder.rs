//! The settings of a session.

use std::{
    future::Future,
    hash::RandomState,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use super::{
    event::{RefreshRequest, SessionEvent},
    handle::Session,
    protocol::Policy,
    shared::{Delegate, Listener, Shared, lock_error},
    token::Clocks,
};
use crate::{
    auth::{oauth::HttpClient, record::TokenRecord, store::TokenStore},
    error::{AuthError, Result, StoreError},
    transport::Transport,
};

impl Session {
    /// Opens the session stored in `store`. Nothing is read yet.
    pub fn open(store: impl TokenStore) -> Self {
        Self::builder().open(store)
    }

    /// Starts a session with the tokens of a new login, which replaces the login in the store. Waits for a refresh in flight first. Until this
    /// succeeds, `tokens` is their only copy.
    ///
    /// # Errors
    /// [`AuthError::Busy`] or [`AuthError::Store`] if the store couldn't be locked, read or written. It is unchanged.
    pub async fn start(store: impl TokenStore, tokens: &TokenRecord) -> Result<Self> {
        Self::builder().start(store, tokens).await
    }

    /// Returns a builder for a session with custom settings.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }
}

/// Builds a [`Session`], from the tokens of a new login or from a store.
///
/// Logging in at an OAuth server takes three steps: find the server, get the user's authorization, start the session.
///
/// | step | with a browser on this machine | without one |
/// |---|---|---|
/// | find the server | [`AuthorizationServer::discover`] by its issuer, or [`Discovery::api`] by the API that names it | the same |
/// | get the user's authorization | [`AuthorizationServer::authorize`], a [`RedirectListener`] or a route of the application, [`AuthorizationServer::exchange`] | [`AuthorizationServer::authorize_device`], [`AuthorizationServer::exchange_device`] |
/// | start the session | [`Session::start`] or [`SessionBuilder::start`] | the same |
///
/// Afterwards, [`SessionBuilder::open`] continues the session from its store, in any process. Sessions work with servers that replace refresh tokens,
/// keep them or issue none. Lifetimes count from the request; if the tokens were obtained by another clock, the server's `Date` is used.
///
/// ```no_run
/// # async fn example() -> idempost::Result<()> {
/// use idempost::{
///     Client,
///     auth::{AuthorizationServer, FileStore, Session},
/// };
///
/// let server = AuthorizationServer::discovery().api("https://api.example.com").await?;
/// let device = server.authorize_device("my-client-id").send().await?;
/// println!("Open {} and enter {}.", device.verification_uri(), device.user_code());
/// let tokens = server.exchange_device(&device).await?;
/// let session = Session::builder()
///     .on_event(|event| eprintln!("{event}"))
///     .start(FileStore::new("/var/lib/shop/login"), &tokens)
///     .await?;
/// let client = Client::builder().base_url("https://api.example.com").session(session).build()?;
/// # Ok(())
/// # }
/// ```
///
/// [`AuthorizationServer::discover`]: crate::auth::AuthorizationServer::discover
/// [`AuthorizationServer::authorize`]: crate::auth::AuthorizationServer::authorize
/// [`AuthorizationServer::exchange`]: crate::auth::AuthorizationServer::exchange
/// [`AuthorizationServer::authorize_device`]: crate::auth::AuthorizationServer::authorize_device
/// [`AuthorizationServer::exchange_device`]: crate::auth::AuthorizationServer::exchange_device
/// [`Discovery::api`]: crate::auth::Discovery::api
#[cfg_attr(feature = "redirect-listener", doc = "[`RedirectListener`]: crate::auth::RedirectListener")]
#[cfg_attr(not(feature = "redirect-listener"), doc = "[`RedirectListener`]: crate::auth")]
#[must_use]
#[derive(Default)]
pub struct SessionBuilder {
    policy: Policy,
    clocks: Clocks,
    http: Option<HttpClient>,
    delegate: Option<Delegate>,
    listener: Option<Listener>,
}

impl SessionBuilder {
    setters! {
        /// Sets the time after which a request without a response can no longer reach the service. Default: 60 s.
        ///
        /// Until then, a refresh token with an unknown state is not sent again. Each further attempt doubles the time, up to ten minutes.
        settle_time(Duration) => policy.settle;
        /// Sets how long the service accepts a replaced refresh token as a retry rather than a theft. Default: zero, as specified.
        ///
        /// Within that time, a refresh without a response is retried immediately.
        grace_period(Duration) => policy.grace;
        /// Sets the maximum time that a refresh waits for another refresh, or for a lost one to settle. Default: 75 s.
        ///
        /// A call's [timeout](crate::ClientBuilder::timeout) ends its own wait earlier; the refresh then continues in the background.
        max_wait(Duration) => policy.max_wait;
    }

    /// Sets the transport for refreshes. Default: the transport of the first client built with the session; without a client, reqwest with default
    /// settings. Token requests require a [new connection](crate::transport::TransportRequest::new_connection).
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.http = Some(HttpClient::new(transport));
        self
    }

    /// Delegates refreshes, for example to a process that outlives this one. The delegate opens the same store and calls
    /// [`Session::refresh`] with the request; when the future completes, this session reads the store again.
    pub fn refresh_with<F, Done>(mut self, refresh: F) -> Self
    where
        F: Fn(RefreshRequest) -> Done + Send + Sync + 'static,
        Done: Future<Output = Result<(), AuthError>> + Send + 'static,
    {
        self.delegate = Some(Arc::new(move |request| Box::pin(refresh(request))));
        self
    }

    /// Registers a callback for events. It runs after the refreshed tokens have been saved and the store's lock has been released, or while a
    /// refresh waits; its panics are caught. Every event is also a `tracing` event.
    pub fn on_event(mut self, listener: impl Fn(&SessionEvent) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Replaces the system's wall clock, for tests. A monotonic clock runs alongside it, and a token has expired as soon as either clock says so.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clocks = Clocks::with_wall_clock(now);
        self
    }

    /// Opens the session stored in `store`. Nothing is read yet.
    pub fn open(self, store: impl TokenStore) -> Session {
        let shared = Shared {
            store: Arc::new(store),
            http: self.http.map_or_else(OnceLock::new, OnceLock::from),
            delegate: self.delegate,
            listener: self.listener,
            policy: self.policy,
            clocks: self.clocks,
            hasher: RandomState::new(),
            loading: tokio::sync::Mutex::default(),
            resting: tokio::sync::watch::Sender::default(),
            state: std::sync::Mutex::default(),
        };
        Session { shared: Arc::new(shared) }
    }

    /// Starts a session with the tokens of a new login, which replaces the login in the store, even an unreadable one. Waits for a refresh in flight
    /// first.
    ///
    /// # Errors
    /// [`AuthError::Busy`] or [`AuthError::Store`] if the store couldn't be locked or written. It is unchanged.
    pub async fn start(self, store: impl TokenStore, tokens: &TokenRecord) -> Result<Session> {
        let session = self.open(store);
        let shared = &session.shared;
        let mut locked = shared.store.lock(shared.policy.max_wait).await.map_err(lock_error)?;
        let before = match locked.read().await {
            Ok(before) => before,
            Err(StoreError::Unreadable { .. }) => None,
            Err(error) => return Err(AuthError::Store(error).into()),
        };
        let mut tokens = tokens.clone();
        // Higher than the previous login's, so that a process still using that login notices.
        let generation = before.map_or(0, |before| before.generation).saturating_add(1);
        tokens.generation = tokens.generation.max(generation);
        locked.write(&tokens).await.map_err(AuthError::Store)?;
        drop(locked);
        let token = shared.to_token(tokens);
        shared.state().publish(0, token);
        Ok(session)
    }
}

partial_debug!(SessionBuilder { policy });
