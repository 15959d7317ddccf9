//! Refreshes in flight: one at a time, in a separate task, with an outcome shared by all callers.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::future::select;
use tokio::sync::watch;

use super::{
    driver::Run,
    event::RefreshRequest,
    shared::{Delegate, Shared},
    state::{Decision, Outcome},
    token::Token,
};
use crate::{auth::record::TokenRecord, clock, error::AuthError};

/// The maximum time of a refresh after it has waited for another one.
const MAX_EXCHANGE: Duration = Duration::from_secs(60);

/// The next step of a call.
pub(super) enum Ready {
    Now(Token),
    /// Wait for the refresh; the flag says whether the current token is still valid.
    After(watch::Receiver<Option<Outcome>>, bool),
    Stale,
}

impl Shared {
    /// Returns the token if it stays valid for long enough; otherwise returns the refresh to wait for, starting one if none is in flight.
    pub(super) fn ready(self: &Arc<Self>, epoch: u64, token: &Token) -> Ready {
        let now = self.clocks.now();
        let mut state = self.state();
        match state.decide(epoch, token, &self.clocks, now) {
            Decision::Use(token) => Ready::Now(token),
            Decision::Stale => Ready::Stale,
            Decision::Wait(flight, is_valid) => Ready::After(flight, is_valid),
            Decision::Refresh(token, is_valid) => {
                let (done, flight) = watch::channel(None);
                let rejected = state.rejected.filter(|generation| *generation == token.record.generation);
                state.flight = Some(flight.clone());
                #[cfg(feature = "blocking")]
                {
                    state.flight_runtime =
                        tokio::runtime::Handle::try_current().map(|runtime| runtime.id()).ok();
                }
                clock::spawn(Arc::clone(self).refresh(epoch, token, rejected, done));
                Ready::After(flight, is_valid)
            }
        }
    }

    /// Waits until no refresh is in flight.
    pub(super) async fn wait_idle(&self) {
        let flight = self.state().flight.clone();
        let Some(mut flight) = flight else { return };
        let mut resting = self.resting.subscribe();
        // An error also means that the flight has ended.
        let (landed, rests) = (flight.wait_for(Option::is_some), resting.wait_for(|resting| *resting));
        let _ = clock::timeout(self.max_flight(), select(pin!(landed), pin!(rests))).await;
    }

    /// Returns how long a refresh can take: it waits, and then sends and saves. Only a stalled runtime, store or delegate takes longer.
    pub(super) fn max_flight(&self) -> Duration {
        self.policy.max_wait.saturating_add(MAX_EXCHANGE)
    }

    async fn refresh(
        self: Arc<Self>,
        epoch: u64,
        token: Token,
        rejected: Option<u64>,
        done: watch::Sender<Option<Outcome>>,
    ) {
        let before = token.clone();
        let (outcome, events) = match &self.delegate {
            Some(delegate) => {
                (self.refresh_by_delegate(delegate, epoch, &before, rejected).await, Vec::new())
            }
            None => Run::new(Arc::clone(&self), epoch, rejected).run(token).await,
        };
        let now = self.clocks.now();
        let outcome = self.state().finish_flight(epoch, &before, outcome.map_err(Arc::new), now);
        for event in &events {
            self.notify(event);
        }
        done.send_replace(Some(outcome));
    }

    /// Asks the delegate to refresh, and reads the record that it wrote.
    async fn refresh_by_delegate(
        &self,
        delegate: &Delegate,
        epoch: u64,
        before: &Token,
        rejected: Option<u64>,
    ) -> Result<Token, AuthError> {
        let request = RefreshRequest {
            generation: before.record.generation,
            rejected: rejected.is_some(),
            scope: self.state().scope.take(),
        };
        let asked = self.clocks.now().wall;
        let reported = delegate(request).await;
        // The new tokens are lost with the delegate, and the stored refresh token has been used up: no later call can succeed either.
        if let Err(error @ AuthError::NotSaved(_)) = reported {
            return Err(error);
        }
        let Some(record) = self.store.read().await.map_err(AuthError::Store)? else {
            self.state().log_out_epoch(epoch);
            return Err(AuthError::LoggedOut);
        };
        if let Some(ended) = record.ended {
            self.state().log_out_epoch(epoch);
            return Err(AuthError::Ended(ended));
        }
        let mut token = self.to_token(record);
        // Another process may have refreshed before the delegate.
        token.own = reported.is_ok() && token.record.obtained_at >= asked;
        if self.remaining_lifetime(&token).is_zero() {
            reported?;
            // The delegate has just refreshed, but its clock is ahead of this one.
            if !token.is_same_as(before) && token.header.is_some() {
                let now = self.clocks.now();
                return Ok(Token::new(TokenRecord::clone(&token.record), now, Some(now)));
            }
            return Err(match token.record.pending {
                Some(_) => AuthError::OutcomeUnknown { retry_after: self.policy.settle },
                None => AuthError::NoAccessToken,
            });
        }
        Ok(token)
    }
}
