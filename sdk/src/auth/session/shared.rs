//! What the clones of a session share, and the decision whether a call has to wait for a renewal.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use super::{
    driver::{Run, Unsaved},
    event::{RefreshRequest, SessionEvent},
    protocol::Policy,
    token::{Clocks, Token},
};
use crate::{
    auth::{record::TokenRecord, store::TokenStore, token_endpoint::TokenEndpoint},
    error::AuthError,
    transport::BoxFuture,
};

/// While the old access token is good and getting a new one did not work, it is not tried again for so long.
const QUIET: Duration = Duration::from_secs(30);

pub(super) type Outcome = Result<Token, Arc<AuthError>>;
pub(super) type Elsewhere =
    Arc<dyn Fn(RefreshRequest) -> BoxFuture<'static, Result<(), AuthError>> + Send + Sync>;
pub(super) type Listener = Arc<dyn Fn(&SessionEvent) + Send + Sync>;

/// What the clones of a session share.
pub(super) struct Shared {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) exchange: Arc<dyn TokenEndpoint>,
    pub(super) elsewhere: Option<Elsewhere>,
    pub(super) listener: Option<Listener>,
    pub(super) policy: Policy,
    pub(super) clocks: Clocks,
    pub(super) hasher: RandomState,
    pub(super) loading: tokio::sync::Mutex<()>,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) current: Option<Token>,
    pub(super) unsaved: Option<Unsaved>,
    /// The generation whose access token the service refused.
    pub(super) refused: Option<u64>,
    /// The generation that was refused although it had just been issued.
    pub(super) rejected_when_fresh: Option<u64>,
    /// The renewal under way.
    pub(super) flight: Option<watch::Receiver<Option<Outcome>>>,
    pub(super) quiet_until: Duration,
    /// How often a login was ended here: what was renewed before does not come back after.
    pub(super) ends: u64,
}

/// What a call is to do.
pub(super) enum Ready {
    Now(Token),
    /// With a token that could be used instead of waiting.
    After(watch::Receiver<Option<Outcome>>, Option<Token>),
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the refresh tokens of records apart without keeping them.
    pub(super) fn fingerprint(&self, record: &TokenRecord) -> u64 {
        self.hasher.hash_one(record.refresh_token.expose())
    }

    pub(super) fn tell(&self, notice: &SessionEvent) {
        tracing::warn!("{notice}");
        if let Some(listener) = &self.listener {
            listener(notice);
        }
    }

    /// The first read of a process. Who comes meanwhile waits for it instead of reading too.
    pub(super) async fn load(&self) -> Result<Token, AuthError> {
        let _turn = self.loading.lock().await;
        if let Some(token) = self.state().current.clone() {
            return Ok(token);
        }
        let record = self.store.read().await.map_err(AuthError::Store)?.ok_or(AuthError::LoggedOut)?;
        // What is over is read anew each time: somebody may have logged in meanwhile.
        if let Some(ended) = record.ended {
            return Err(AuthError::Ended(ended));
        }
        let token = self.known(record);
        self.publish(Some(token.clone()));
        Ok(token)
    }

    /// The record as a token; if it is the one at hand, with what is known of that.
    pub(super) fn known(&self, record: TokenRecord) -> Token {
        let seen = Token::new(record, self.clocks.now(), None);
        match &self.state().current {
            Some(current) if current.same(&seen) => current.with(TokenRecord::clone(&seen.record)),
            _ => seen,
        }
    }

    pub(super) fn publish(&self, token: Option<Token>) {
        let mut state = self.state();
        if token.is_none() {
            // What comes next is another login, whose generations mean something else.
            (state.refused, state.rejected_when_fresh) = (None, None);
        }
        state.current = token;
    }

    pub(super) fn unsaved(&self) -> Option<Unsaved> {
        self.state().unsaved.clone()
    }

    pub(super) fn keep_unsaved(&self, unsaved: Unsaved) {
        self.state().unsaved = Some(unsaved);
    }

    pub(super) fn forget_unsaved(&self) {
        self.state().unsaved = None;
    }

    pub(super) fn left(&self, token: &Token) -> Duration {
        let refused = self.state().refused == Some(token.record.generation);
        if refused { Duration::ZERO } else { token.left(self.clocks.now()) }
    }

    /// Notes that the service refused a token, if it is still the one at hand: of many that were refused at once, the first one counts.
    pub(super) fn refuse(&self, token: &Token) -> Result<(), AuthError> {
        let mut state = self.state();
        if state.current.as_ref().is_some_and(|current| current.same(token)) {
            if state.rejected_when_fresh == Some(token.record.generation) {
                return Err(AuthError::StillRefused { response: None });
            }
            state.refused = Some(token.record.generation);
        }
        Ok(())
    }

    /// The token at hand if it will do; else the renewal to wait for, begun here if it was not under way.
    pub(super) fn ready(self: &Arc<Self>, at_hand: &Token) -> Ready {
        let now = self.clocks.now();
        let mut state = self.state();
        let token = state.current.clone().unwrap_or_else(|| at_hand.clone());
        let refused = state.refused == Some(token.record.generation);
        let left = if refused { Duration::ZERO } else { token.left(now) };
        let (hard, soft) = self.clocks.limits(token.record.expires_in);
        let flight = state.flight.clone().filter(|flight| flight.has_changed().is_ok());
        let idle = flight.is_none() && now.monotonic >= state.quiet_until;
        let wanted = left <= soft || state.unsaved.is_some();
        if left > hard && !(wanted && idle) {
            return Ready::Now(token);
        }
        let meanwhile = (left > hard).then(|| token.clone());
        Ready::After(flight.unwrap_or_else(|| self.take_off(&mut state, token)), meanwhile)
    }

    /// Begins a renewal in a task of its own.
    fn take_off(self: &Arc<Self>, state: &mut State, at_hand: Token) -> watch::Receiver<Option<Outcome>> {
        let (done, flight) = watch::channel(None);
        state.flight = Some(flight.clone());
        let refused = state.refused.filter(|generation| *generation == at_hand.record.generation);
        let (shared, ends) = (Arc::clone(self), state.ends);
        tokio::spawn(async move {
            let before = at_hand.clone();
            let outcome = match &shared.elsewhere {
                Some(elsewhere) => shared.renewed_elsewhere(elsewhere, &before, refused).await,
                None => Run::new(Arc::clone(&shared), refused).carry_through(at_hand).await,
            };
            let outcome = outcome.map_err(Arc::new);
            shared.land(&before, &outcome, ends);
            done.send_replace(Some(outcome));
        });
        flight
    }

    fn land(&self, before: &Token, outcome: &Outcome, ends: u64) {
        let mut state = self.state();
        state.flight = None;
        if let Ok(token) = outcome {
            if token.same(before) {
                state.quiet_until = self.clocks.now().monotonic.saturating_add(QUIET);
            }
            if state.ends == ends {
                state.current = Some(token.clone());
            }
        }
    }

    /// Lets another process renew, and looks at what it wrote.
    async fn renewed_elsewhere(
        &self,
        elsewhere: &Elsewhere,
        before: &Token,
        refused: Option<u64>,
    ) -> Result<Token, AuthError> {
        let order = RefreshRequest { generation: before.record.generation, refused: refused.is_some() };
        let said = elsewhere(order).await;
        let Some(record) = self.store.read().await.map_err(AuthError::Store)? else {
            self.publish(None);
            return Err(AuthError::LoggedOut);
        };
        if let Some(ended) = record.ended {
            self.publish(None);
            return Err(AuthError::Ended(ended));
        }
        let token = self.known(record);
        if self.left(&token).is_zero() {
            said?;
            return Err(match token.record.pending {
                Some(_) => AuthError::OutcomeUnknown { retry_after: self.policy.settle },
                None => AuthError::NoAccessToken,
            });
        }
        Ok(token)
    }
}
