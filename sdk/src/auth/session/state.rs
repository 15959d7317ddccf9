//! A session's state in memory. Its transitions are atomic, so concurrency can only interleave them.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{
    protocol::Now,
    token::{Clocks, Token},
};
use crate::error::AuthError;

/// The delay before the next refresh after one that changed nothing, while the access token is still valid.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// The outcome of a refresh, shared by all its callers.
pub(super) type Outcome = Result<Token, Arc<AuthError>>;

/// A record that couldn't be saved, and the fingerprint of the refresh token that it replaces.
#[derive(Clone, Debug)]
pub(super) struct Unsaved {
    pub(super) token: Token,
    pub(super) spent: u64,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) current: Option<Token>,
    pub(super) unsaved: Option<Unsaved>,
    /// The generation whose access token the service rejected.
    pub(super) rejected: Option<u64>,
    /// The scope to request with the next token request.
    pub(super) scope: Option<String>,
    /// The generation that was rejected although it had just been issued.
    pub(super) rejected_when_fresh: Option<u64>,
    /// The refresh in flight.
    pub(super) flight: Option<watch::Receiver<Option<Outcome>>>,
    /// The runtime that drives it.
    #[cfg(feature = "blocking")]
    pub(super) flight_runtime: Option<tokio::runtime::Id>,
    retry_at: Duration,
    /// The number of logouts so far. Anything started in one epoch changes nothing in a later one.
    pub(super) epoch: u64,
}

/// The next step of a call.
pub(super) enum Decision {
    /// Use this token.
    Use(Token),
    /// Wait for the refresh in flight; the flag says whether the current token is still valid.
    Wait(watch::Receiver<Option<Outcome>>, bool),
    /// Start a refresh of this token, and wait for it.
    Refresh(Token, bool),
    /// The login has ended in the meantime: start over.
    Stale,
}

impl State {
    /// Ends the login in memory.
    pub(super) fn log_out(&mut self) {
        *self = Self { epoch: self.epoch.wrapping_add(1), ..Self::default() };
    }

    /// Ends the login in memory, unless `epoch` has already ended.
    pub(super) fn log_out_epoch(&mut self, epoch: u64) {
        if self.epoch == epoch {
            let unsaved = self.unsaved.take();
            self.log_out();
            self.unsaved = unsaved;
        }
    }

    /// Sets the current token, unless the login has ended since `epoch`.
    pub(super) fn publish(&mut self, epoch: u64, token: Token) -> bool {
        if self.epoch == epoch {
            self.current = Some(token);
        }
        self.epoch == epoch
    }

    /// Decides whether to use the token or refresh it.
    pub(super) fn decide(&self, epoch: u64, token: &Token, clocks: &Clocks, now: Now) -> Decision {
        if self.epoch != epoch {
            return Decision::Stale;
        }
        let token = self.current.clone().unwrap_or_else(|| token.clone());
        let rejected = self.rejected == Some(token.record.generation);
        let left = if rejected { Duration::ZERO } else { token.remaining_lifetime(now) };
        let (hard, soft) = token.limits(clocks);
        let flight = self.flight.clone().filter(|flight| flight.has_changed().is_ok());
        let may_start = flight.is_none() && now.monotonic >= self.retry_at;
        let wanted = left <= soft || self.unsaved.is_some();
        let is_valid = left > hard;
        if is_valid && !(wanted && may_start) {
            return Decision::Use(token);
        }
        match flight {
            Some(flight) => Decision::Wait(flight, is_valid),
            None => Decision::Refresh(token, is_valid),
        }
    }

    /// Ends the flight that refreshed `before`. Returns the outcome for its callers: after a logout, there is no token.
    pub(super) fn finish_flight(
        &mut self,
        epoch: u64,
        before: &Token,
        outcome: Outcome,
        now: Now,
    ) -> Outcome {
        if self.epoch != epoch {
            return outcome.and(Err(Arc::new(AuthError::LoggedOut)));
        }
        self.flight = None;
        if let Ok(token) = &outcome {
            if token.is_same_as(before) {
                self.retry_at = now.monotonic.saturating_add(RETRY_AFTER);
            }
            self.current = Some(token.clone());
        }
        outcome
    }

    /// Records that the service rejected a token, if it is still the current one: if many calls used the token, only the first rejection counts.
    pub(super) fn reject(&mut self, token: &Token) -> Result<(), AuthError> {
        if self.is_current(token) {
            if self.rejected_when_fresh == Some(token.record.generation) {
                return Err(AuthError::TokenRejected { response: None });
            }
            self.rejected = Some(token.record.generation);
        }
        Ok(())
    }

    /// Records that the service rejected the token that replaced a rejected one. If this process has just requested it, another refresh wouldn't help; if
    /// another process did, the login may have ended since.
    pub(super) fn reject_fresh(&mut self, token: &Token) {
        if self.is_current(token) {
            let generation = Some(token.record.generation);
            let known = if token.own { &mut self.rejected_when_fresh } else { &mut self.rejected };
            *known = generation;
        }
    }

    fn is_current(&self, token: &Token) -> bool {
        self.current.as_ref().is_some_and(|current| current.is_same_as(token))
    }
}
