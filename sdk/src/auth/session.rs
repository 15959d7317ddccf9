//! A login in use: an access token for each call, renewed when a call needs it, over tasks, processes and crashes.
//!
//! # Why a grant is not lost
//!
//! The service replaces the refresh token at each use, and takes one that comes back for stolen: it revokes the grant (`SPEC.md`,
//! Authentication 4). There is no time of grace. Three things a client can't see of a refresh that got no answer:
//!
//! | world | what happened | what a repetition does |
//! |---|---|---|
//! | W1 | it was not executed | renews |
//! | W2 | it was executed, and nobody has the new token | is a reuse; but the session was lost before it |
//! | W3 | it is still on its way | renews, and then the late original is a reuse that ends a *live* session |
//!
//! So a repetition does harm in W3, and in W2 to what the old access token could still do. It does none once that has expired and the original can
//! no longer arrive. From this follows the whole protocol, which [`protocol`] carries out step by step:
//!
//! 1. **One at a time.** In a process one task renews and all others wait for it; between processes the store's lock decides, which is never
//!    broken by age and never done without. Whoever got the lock *reads again*: if somebody was faster, there is nothing to send. So without a fault
//!    each refresh token is shown once.
//! 2. **A mark before, the outcome after.** Before the request leaves, the record says durably that it is about to. Whoever finds a mark knows that
//!    he may be in W1, W2 or W3, and waits until the access token has expired *and* the settle time is over (60 s: more than the 30 s that a request
//!    may take here, with as much again for one that is stuck on its way). W3 is then impossible, and in W1 and W2 a repetition costs nothing. That
//!    the store took the mark shows as well that it can be written: one that can't fails before anything was sent.
//!    A mark that comes too late (the machine slept) is written anew.
//! 3. **Saved first.** The record with the new refresh token is written before anything else in the answer is looked at. If that fails, this process
//!    keeps it in memory, goes on, says so ([`SessionEvent::NotSaved`]) and offers it to the store again; it never shows the old one again.
//! 4. **Nothing stops it halfway.** The renewal runs in a task of its own; a caller that is dropped or runs out of time leaves it running.
//! 5. **Only `invalid_grant` ends a session**, and only after the record was read once more: a program that keeps no lock may have been faster. A
//!    tombstone is written, so that nobody asks again in vain. Every other refusal leaves the tokens as they are.
//!
//! What is left: an answer that is lost after the service has acted, by the network or by a kill of the process in that moment. That session is
//! lost whatever a client does (W2), and the error says so. `model` searches all interleavings of this very machine for anything else.
//!
//! What rests on assumptions: that a request arrives within the settle time or never; that a process is not stopped for as long between its last look at
//! the clock and its request (one that slept before that writes its mark anew); that the store keeps its [promises](super::TokenStore); that the wall clock is not put forward by more than the settle time between a lost answer and the next attempt.

mod builder;
mod driver;
mod event;
#[cfg(test)]
mod model_check;
mod protocol;
mod shared;
mod token;

pub(crate) use self::token::Token;
pub use self::{
    builder::SessionBuilder,
    event::{RefreshRequest, Revocation, SessionEvent},
};

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::timeout;

use self::shared::{Ready, Shared};
use super::{record::TokenRecord, store::TokenStore};
use crate::{
    error::{ApiError, AuthError, Result, StoreError},
    types::AccessToken,
};

/// How long a call waits for a renewal that it could do without.
const SOFT_PATIENCE: Duration = Duration::from_secs(5);
/// A login in use. Cloning it is cheap; clones share it, and a process should have one for a store.
///
/// Give it to [`ClientBuilder::session`](crate::ClientBuilder::session). Nothing is read before the first call, and while the access token is good
/// the store is read once. A renewal happens when a call needs it and at no other time.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

impl Session {
    /// The login that a store keeps. Nothing is read yet.
    pub fn open(store: impl TokenStore) -> Self {
        Self::builder().open(store)
    }

    /// Begins with the tokens of a new login: they replace what the store had. A renewal under way ends first.
    ///
    /// # Errors
    /// [`AuthError::Busy`] or [`AuthError::Store`]: the store could not be locked, read or written. It is as it was.
    pub async fn start(store: impl TokenStore, tokens: TokenRecord) -> Result<Self> {
        Self::builder().start(store, tokens).await
    }

    /// Settings that differ from the defaults.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// An access token that is good now, for a program that sends it by itself. Renews it if need be.
    ///
    /// # Errors
    /// [`Error::Auth`](crate::Error::Auth).
    pub async fn access_token(&self) -> Result<AccessToken> {
        let token = self.token(None, None).await?;
        token.record.access_token.clone().ok_or_else(|| AuthError::NoAccessToken.into())
    }

    /// What the store has now, without changing it and without asking anybody. `None`: nobody is logged in.
    ///
    /// # Errors
    /// [`AuthError::Store`].
    pub async fn record(&self) -> Result<Option<TokenRecord>> {
        Ok(self.shared.store.read().await.map_err(AuthError::Store)?)
    }

    /// Renews on behalf of another process: see [`SessionBuilder::renew_with`].
    ///
    /// # Errors
    /// [`Error::Auth`](crate::Error::Auth).
    pub async fn renew(&self, order: RefreshRequest) -> Result<()> {
        if order.refused {
            self.shared.state().refused = Some(order.generation);
        }
        self.token(None, None).await.map(drop)
    }

    /// Waits until no renewal is under way here. A program that ends awaits it first, or it takes the answer to a renewal with it: a call does not always
    /// wait for the renewal that it began.
    pub async fn wait_idle(&self) {
        let flight = self.shared.state().flight.clone();
        if let Some(mut flight) = flight {
            // An error means that it is over too.
            let _ = flight.wait_for(Option::is_some).await;
        }
    }

    /// Logs out: waits for a renewal under way, revokes the grant at the service if that has a place for it, and removes the record, whatever the
    /// service said. Nobody who renews later brings it back.
    ///
    /// # Errors
    /// [`AuthError::Busy`] or [`AuthError::Store`]: nothing was changed.
    pub async fn logout(&self) -> Result<Revocation> {
        let shared = &self.shared;
        let mut locked = shared.store.lock(shared.policy.patience).await.map_err(store_error)?;
        let revocation = match locked.read().await {
            Ok(None) => Revocation::Nothing,
            Ok(Some(record)) if record.ended.is_some() => Revocation::Nothing,
            Ok(Some(record)) => {
                let stored = shared.fingerprint(&record);
                let unsaved = shared.unsaved().filter(|unsaved| unsaved.spent == stored);
                let record = unsaved.map_or_else(|| Arc::new(record), |unsaved| unsaved.token.record);
                match shared.exchange.revoke(&record).await {
                    Ok(()) => Revocation::Revoked,
                    Err(error) => Revocation::NotRevoked(error),
                }
            }
            // Whoever logs out wants it gone, readable or not.
            Err(error @ StoreError::Unreadable { .. }) => Revocation::NotRevoked(AuthError::Store(error)),
            Err(error) => return Err(AuthError::Store(error).into()),
        };
        locked.remove().await.map_err(AuthError::Store)?;
        shared.forget_unsaved();
        shared.publish(None);
        shared.state().ends += 1;
        Ok(revocation)
    }

    /// A token for this origin; another one than `refused`, if the service refused that.
    pub(crate) async fn token(&self, origin: Option<&str>, refused: Option<&Token>) -> Result<Token> {
        let shared = &self.shared;
        if let Some(refused) = refused {
            shared.refuse(refused)?;
        }
        let current = shared.state().current.clone();
        let at_hand = match current {
            Some(token) => token,
            None => shared.load().await?,
        };
        bound(&at_hand, origin)?;
        let (mut flight, meanwhile) = match shared.ready(&at_hand) {
            Ready::Now(token) => {
                bound(&token, origin)?;
                return Ok(token);
            }
            Ready::After(flight, meanwhile) => (flight, meanwhile),
        };
        let landed = flight.wait_for(Option::is_some);
        let landed = match meanwhile {
            None => landed.await,
            Some(token) => match timeout(SOFT_PATIENCE, landed).await {
                Ok(landed) => landed,
                Err(_) => return Ok(bound(&token, origin).map(|()| token)?),
            },
        };
        let outcome = match landed {
            Ok(outcome) => outcome.clone(),
            // The task ended without a word: with its runtime, or in a panic.
            Err(_) => None,
        };
        match outcome {
            Some(Ok(token)) => {
                bound(&token, origin)?;
                if token.header.is_none() || shared.left(&token).is_zero() {
                    return Err(AuthError::NoAccessToken.into());
                }
                Ok(token)
            }
            Some(Err(error)) => Err(crate::Error::Auth(error)),
            None => Err(AuthError::OutcomeUnknown { retry_after: shared.policy.settle }.into()),
        }
    }

    /// The token at hand, if it is still good: for a call that has no time to wait for another one.
    pub(crate) fn at_hand(&self, origin: &str) -> Option<Token> {
        let token = self.shared.state().current.clone()?;
        let good = bound(&token, Some(origin)).is_ok() && !self.shared.left(&token).is_zero();
        good.then_some(token)
    }

    /// Remembers that the service refuses even a token that it has just issued.
    pub(crate) fn give_up(&self, refused: &Token, response: Box<ApiError>) -> AuthError {
        self.shared.state().rejected_when_fresh = Some(refused.record.generation);
        AuthError::StillRefused { response: Some(response) }
    }

    /// Notes that the service refused a token, so that the next call renews it.
    pub(crate) fn reject(&self, token: &Token) {
        // That it was refused when it was new is an error of the next call.
        let _ = self.shared.refuse(token);
    }
}

/// The tokens go to the origin that they are for, and to no other.
fn bound(token: &Token, origin: Option<&str>) -> Result<(), AuthError> {
    match origin {
        Some(asked) if asked != token.record.origin => {
            Err(AuthError::OtherOrigin { stored: token.record.origin.clone(), asked: asked.to_owned() })
        }
        _ => Ok(()),
    }
}

fn store_error(error: StoreError) -> AuthError {
    match error {
        busy @ StoreError::Busy { .. } => AuthError::Busy(busy),
        other => AuthError::Store(other),
    }
}

/// `Debug` shows nothing of the tokens.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("policy", &self.shared.policy).finish_non_exhaustive()
    }
}
