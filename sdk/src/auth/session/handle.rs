//! A login in use.

use std::{sync::Arc, time::Duration};

use super::{
    event::{RefreshRequest, Revocation},
    flight::Ready,
    shared::{Shared, lock_error},
    token::Token,
};
use crate::{
    auth::{oauth::HttpClient, record::TokenRecord},
    clock::{Instant, spawn, timeout, timeout_at},
    error::{AuthError, EndReason, Ended, Error, Result, StoreError},
    transport::Transport,
    types::AccessToken,
};

/// The maximum time that a call waits for a refresh that it doesn't need.
const SOFT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of refreshes to wait for when a scope is requested.
const MAX_ROUNDS: u32 = 5;

/// A login in use. Clones share it; a process should have one session per store.
///
/// Pass it to [`ClientBuilder::session`](crate::ClientBuilder::session). It reads the store at the first call, and later only to refresh. It
/// refreshes only when a call needs it.
#[derive(Clone)]
pub struct Session {
    pub(super) shared: Arc<Shared>,
}

impl Session {
    /// Uses a client's transport for refreshes, unless the application or an earlier client has already provided one.
    pub(in crate::auth) fn inherit_transport(&self, transport: &Arc<dyn Transport>) {
        self.shared.http.get_or_init(|| HttpClient::new(Arc::clone(transport)));
    }

    /// Returns a valid access token, refreshed if needed, for programs that send it themselves.
    ///
    /// Dropping the future doesn't stop a refresh, so a timeout around it is safe.
    ///
    /// # Errors
    /// [`Error::Auth`](crate::Error::Auth).
    pub async fn access_token(&self) -> Result<AccessToken> {
        let token = self.token(None).await.map_err(Error::Auth)?;
        token.record.access_token.clone().ok_or_else(|| AuthError::NoAccessToken.into())
    }

    /// Reads the record in the store; `None` if it holds no login. Changes nothing and sends nothing.
    ///
    /// # Errors
    /// [`AuthError::Store`].
    pub async fn record(&self) -> Result<Option<TokenRecord>> {
        Ok(self.shared.store.read().await.map_err(AuthError::Store)?)
    }

    /// Refreshes with a narrower scope ([`RefreshRequest::with_scope`]), or on behalf of another process: see
    /// [`SessionBuilder::refresh_with`](super::SessionBuilder::refresh_with).
    ///
    /// # Errors
    /// [`Error::Auth`](crate::Error::Auth). A scope beyond the grant is [`AuthError::Rejected`] with `invalid_scope`; the tokens are unchanged.
    pub async fn refresh(&self, request: RefreshRequest) -> Result<()> {
        if request.rejected {
            self.shared.state().rejected = Some(request.generation);
        }
        let outcome = match request.scope {
            Some(scope) => self.refresh_scope(scope).await,
            None => self.token(None).await.map(drop),
        };
        outcome.map_err(Error::Auth)
    }

    /// Refreshes until a token request has requested the scope: a refresh in flight may have been sent before, and other processes may be faster.
    async fn refresh_scope(&self, scope: String) -> Result<(), Arc<AuthError>> {
        self.shared.load().await?;
        self.shared.state().scope = Some(scope);
        for _ in 0..MAX_ROUNDS {
            let before = {
                let mut state = self.shared.state();
                let current = state.current.as_ref().map(|token| token.record.generation);
                let before = state.rejected;
                // An unexpired token is refreshed only if it counts as rejected.
                state.rejected = current;
                before
            };
            let outcome = self.token(None).await;
            let mut state = self.shared.state();
            match outcome {
                Ok(_) if state.scope.is_some() => {}
                Ok(_) => return Ok(()),
                Err(error) => {
                    (state.scope, state.rejected) = (None, before);
                    return Err(error);
                }
            }
        }
        self.shared.state().scope = None;
        Err(Arc::new(AuthError::RefreshTimeout))
    }

    /// Waits until no refresh of this process is in flight, at most a minute longer than [`max_wait`](super::SessionBuilder::max_wait). Await it
    /// before the program or its runtime ends: a call doesn't always wait for the refresh that it started, and if the tokens arrive after that, they
    /// are lost, and the login with them. The session can still be used afterwards. `blocking()` awaits the refreshes that it starts.
    pub async fn close(&self) {
        self.shared.wait_idle().await;
    }

    /// Logs out: waits for a refresh in flight, revokes the grant, and removes the record. If the grant can't be revoked, the record remains, marked
    /// as ended: see [`Revocation::NotRevoked`]. Refreshes and calls that started earlier can't restore the login.
    ///
    /// Dropping the future doesn't stop the logout.
    ///
    /// # Errors
    /// [`AuthError::Busy`] or [`AuthError::Store`]: nothing has changed, unless the store failed to remove the record of a grant that was revoked. The
    /// message then says so, the record is marked as [ended](EndReason::Revoked) if the store can write it, and another logout removes it.
    pub async fn logout(&self) -> Result<Revocation> {
        self.end_login(true).await
    }

    /// Logs out of this machine only: removes the record without revoking the grant, whose tokens stay valid until they expire.
    ///
    /// # Errors
    /// [`AuthError::Busy`] or [`AuthError::Store`]: nothing has changed.
    pub async fn discard(&self) -> Result<()> {
        self.end_login(false).await.map(drop)
    }

    async fn end_login(&self, revokes: bool) -> Result<Revocation> {
        let shared = Arc::clone(&self.shared);
        let done = spawn(async move { shared.log_out(revokes).await }).await;
        Ok(done.unwrap_or_else(|_| {
            Err(AuthError::Store(StoreError::unavailable("the logout was interrupted")))
        })?)
    }

    /// Returns a token for a request to `origin`. Waits for a refresh until `deadline` at the latest, then falls back to the current token if it is
    /// still valid.
    pub(crate) async fn token_for(
        &self,
        origin: &str,
        deadline: Option<Instant>,
    ) -> Result<Token, Arc<AuthError>> {
        let token = self.token(Some(origin));
        match deadline {
            None => token.await,
            // The refresh continues, and the next caller gets its outcome.
            Some(deadline) => match timeout_at(deadline, token).await {
                Ok(token) => token,
                Err(_) => self.valid_token(origin).ok_or_else(|| Arc::new(AuthError::RefreshTimeout)),
            },
        }
    }

    /// Records that the service rejected a token, so that the next call requests a new one. Fails if the token had just been issued.
    pub(crate) fn reject(&self, token: &Token) -> Result<(), AuthError> {
        self.shared.state().reject(token)
    }

    /// Records that the service rejected a token that had just been issued.
    pub(crate) fn reject_fresh(&self, token: &Token) {
        self.shared.state().reject_fresh(token);
    }

    async fn token(&self, origin: Option<&str>) -> Result<Token, Arc<AuthError>> {
        #[cfg(feature = "blocking")]
        super::used_sessions::add(&self.shared);
        let shared = &self.shared;
        loop {
            let current = {
                let state = shared.state();
                state.current.clone().map(|token| (state.epoch, token))
            };
            let (epoch, token) = match current {
                Some(current) => current,
                None => shared.load().await?,
            };
            check_origin(&token, origin)?;
            let (mut flight, is_valid) = match shared.ready(epoch, &token) {
                Ready::Stale => continue,
                Ready::Now(token) => {
                    check_origin(&token, origin)?;
                    return Ok(token);
                }
                Ready::After(flight, is_valid) => (flight, is_valid),
            };
            let landed = flight.wait_for(Option::is_some);
            let landed = if is_valid {
                match timeout(SOFT_TIMEOUT, landed).await {
                    Ok(landed) => landed,
                    // In the meantime, the token may have expired, or the login may have ended.
                    Err(_) => continue,
                }
            } else {
                timeout(shared.max_flight(), landed).await.map_err(|_| AuthError::RefreshTimeout)?
            };
            let outcome = match landed {
                Ok(outcome) => outcome.clone(),
                // The task ended without an outcome, because of a panic or because its runtime ended.
                Err(_) => None,
            };
            let unknown = || Arc::new(AuthError::OutcomeUnknown { retry_after: shared.policy.settle });
            let token = outcome.ok_or_else(unknown)??;
            check_origin(&token, origin)?;
            if shared.remaining_lifetime(&token).is_zero() {
                return Err(AuthError::NoAccessToken.into());
            }
            return Ok(token);
        }
    }

    /// Returns the current token if it is still valid, for a call without time to wait for another one.
    fn valid_token(&self, origin: &str) -> Option<Token> {
        let token = self.shared.state().current.clone()?;
        let valid =
            check_origin(&token, Some(origin)).is_ok() && !self.shared.remaining_lifetime(&token).is_zero();
        valid.then_some(token)
    }
}

impl Shared {
    async fn log_out(&self, revokes: bool) -> Result<Revocation, AuthError> {
        let mut locked = self.store.lock(self.policy.max_wait).await.map_err(lock_error)?;
        let has_ended = |record: &TokenRecord| {
            record.ended.as_ref().is_some_and(|ended| ended.reason != EndReason::LoggedOut)
        };
        // The record of a revoked grant.
        let mut left = None;
        let revocation = match locked.read().await {
            _ if !revokes => Revocation::NoGrant,
            Ok(None) => Revocation::NoGrant,
            Ok(Some(record)) if has_ended(&record) => Revocation::NoGrant,
            Ok(Some(record)) => {
                let stored = self.fingerprint(&record);
                let unsaved = self.unsaved_record().filter(|unsaved| unsaved.spent == stored);
                let mut record = unsaved.map_or(record, |unsaved| TokenRecord::clone(&unsaved.token.record));
                match self.http().revoke(&record).await {
                    Ok(()) => {
                        left = Some(record);
                        Revocation::Revoked
                    }
                    Err(error) => {
                        let at = self.clocks.now().wall;
                        record.ended.get_or_insert(Ended { reason: EndReason::LoggedOut, at });
                        locked.write(&record).await.map_err(AuthError::Store)?;
                        Revocation::NotRevoked(error)
                    }
                }
            }
            Err(error @ StoreError::Unreadable { .. }) => Revocation::NotRevoked(AuthError::Store(error)),
            Err(error) => return Err(AuthError::Store(error)),
        };
        if !matches!(revocation, Revocation::NotRevoked(_))
            && let Err(error) = locked.remove().await
        {
            let Some(mut record) = left else { return Err(AuthError::Store(error)) };
            record.ended = Some(Ended { reason: EndReason::Revoked, at: self.clocks.now().wall });
            // A store that can't remove may be unable to write, too.
            let _ = locked.write(&record).await;
            self.state().log_out();
            return Err(AuthError::Store(error.after("the grant is revoked, but its record stays")));
        }
        // A single step while the lock is held: any read, refresh or call that started earlier belongs to an earlier epoch.
        self.state().log_out();
        drop(locked);
        Ok(revocation)
    }
}

/// Checks that a token is sent only to the origin it is bound to.
fn check_origin(token: &Token, origin: Option<&str>) -> Result<(), AuthError> {
    match origin {
        Some(requested) if requested != token.record.origin => Err(AuthError::OriginMismatch {
            stored: token.record.origin.clone(),
            requested: requested.to_owned(),
        }),
        _ => Ok(()),
    }
}

partial_debug! {
    /// `Debug` shows no tokens.
    Session { policy = [shared.policy] }
}
