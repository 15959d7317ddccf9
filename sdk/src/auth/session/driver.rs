//! Executes the protocol's commands with a store, a token endpoint and two clocks.

use std::{
    collections::BTreeSet,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use super::{
    event::SessionEvent,
    protocol::{Change, Command, Event, Held, Now, Outcome, Refresh, Verdict},
    shared::Shared,
    state::Unsaved,
    token::Token,
};
use crate::{
    auth::{
        record::{Throttled, TokenRecord},
        store::LockedStore,
        token_endpoint::{RefreshOutcome, Tokens},
    },
    clock::sleep,
    error::{AuthError, EndReason, Ended, StoreError},
};

/// The shortest wait that is reported as an event.
const MIN_REPORTED_WAIT: Duration = Duration::from_secs(2);

/// One refresh. It runs in its own task, so it continues even if its caller stops waiting.
pub(super) struct Run {
    shared: Arc<Shared>,
    /// The epoch in which it began.
    epoch: u64,
    /// The generation whose access token the service rejected, if any.
    rejected: Option<u64>,
    /// The scope that its requests specify.
    scope: Option<String>,
    locked: Option<Box<dyn LockedStore>>,
    token: Option<Token>,
    /// The tokens from the token endpoint, and when they were requested.
    received: Option<(Tokens, Now)>,
    trouble: Option<AuthError>,
    /// The delay that the token endpoint requested, unless this process waits it out; other processes respect it too.
    throttled: Option<Throttled>,
    /// Events to deliver at the end of the refresh: between the response and the save, the store is the only application code that runs.
    events: Vec<SessionEvent>,
}

impl Run {
    pub(super) fn new(shared: Arc<Shared>, epoch: u64, rejected: Option<u64>) -> Self {
        let events = Vec::new();
        let (scope, locked, token, received, trouble, throttled) = (None, None, None, None, None, None);
        Self { shared, epoch, rejected, scope, locked, token, received, trouble, throttled, events }
    }

    /// Refreshes, and returns the token to use and the events to deliver.
    pub(super) async fn run(mut self, token: Token) -> (Result<Token, AuthError>, Vec<SessionEvent>) {
        let mut refresh = Refresh::new(self.shared.policy);
        let (hard, _) = token.limits(&self.shared.clocks);
        let mut event = Event::Wanted { left: self.remaining_lifetime(&token), hard };
        self.token = Some(token);
        loop {
            match refresh.next(event, self.shared.clocks.now()) {
                Command::Finish(verdict) => {
                    let outcome = self.finish(verdict);
                    return (outcome, self.events);
                }
                command => event = self.execute(command).await,
            }
        }
    }

    async fn execute(&mut self, command: Command) -> Event {
        match command {
            Command::Lock { timeout } => match guarded(async { self.shared.store.lock(timeout).await }).await
            {
                Ok(locked) => {
                    self.locked = Some(locked);
                    Event::Locked
                }
                Err(busy @ StoreError::Busy { .. }) => {
                    self.trouble = Some(AuthError::Busy(busy));
                    Event::Busy
                }
                Err(error) => self.store_failure(error),
            },
            Command::Read => {
                let Some(locked) = &mut self.locked else { return Event::Failed };
                match guarded(async { locked.read().await }).await {
                    Ok(found) => Event::Found(found.map(|record| self.newest_record(record))),
                    Err(error) => self.store_failure(error),
                }
            }
            Command::Write(change) => self.write(change).await,
            Command::Exchange => self.exchange().await,
            Command::Pause(pause) => {
                self.throttled = None;
                let resting = &self.shared.resting;
                let is_resting = self.shared.unsaved_record().is_none();
                if is_resting && pause >= MIN_REPORTED_WAIT {
                    let reason = self.trouble.as_ref().map_or_else(
                        || "the response to the previous token refresh was lost".to_owned(),
                        |trouble| crate::error::chain(trouble),
                    );
                    self.shared.notify(&SessionEvent::Waiting { reason, pause });
                }
                resting.send_replace(is_resting);
                sleep(pause).await;
                resting.send_replace(false);
                Event::Resumed
            }
            Command::Unlock => {
                self.locked = None;
                Event::Unlocked
            }
            Command::Finish(_) => Event::Failed,
        }
    }

    fn store_failure(&mut self, error: StoreError) -> Event {
        self.trouble = Some(AuthError::Store(error));
        Event::Failed
    }

    fn remaining_lifetime(&self, token: &Token) -> Duration {
        if self.rejected == Some(token.record.generation) {
            return Duration::ZERO;
        }
        token.remaining_lifetime(self.shared.clocks.now())
    }

    /// Returns the state of the stored record, or of the newer record in memory if an earlier save failed.
    fn newest_record(&mut self, record: TokenRecord) -> Held {
        let stored = self.shared.fingerprint(&record);
        let unsaved = self.shared.unsaved_record().filter(|unsaved| unsaved.spent == stored);
        let token = if let Some(unsaved) = &unsaved {
            unsaved.token.clone()
        } else {
            self.shared.state().unsaved = None;
            self.shared.to_token(record)
        };
        let held = Held {
            token: self.shared.fingerprint(&token.record),
            left: self.remaining_lifetime(&token),
            enough: token.limits(&self.shared.clocks).1,
            pending: token.record.pending.clone(),
            ended: token.record.ended.is_some(),
            unsaved: unsaved.is_some(),
        };
        self.token = Some(token);
        held
    }

    async fn write(&mut self, change: Change) -> Event {
        let (Some(locked), Some(token)) = (&mut self.locked, &self.token) else { return Event::Failed };
        let now = self.shared.clocks.now();
        let mut record = TokenRecord::clone(&token.record);
        let mut asked = None;
        match &change {
            Change::Pending(pending) => {
                record.pending.clone_from(pending);
                record.throttled = self.throttled.take().or(record.throttled);
            }
            Change::Ended(ended) => record.ended = Some(ended.clone()),
            Change::Again => {}
            Change::Tokens | Change::AccessToken => {
                let Some((received, at)) = &self.received else { return Event::Failed };
                record.obtained_at = at.wall;
                record.throttled = None;
                asked = Some(*at);
                record.access_token.clone_from(&received.access_token);
                (record.expires_in, record.served_at) = (received.expires_in, received.served_at);
                if let Some(scope) = &received.scope {
                    record.scope.clone_from(scope);
                }
                if matches!(change, Change::Tokens) {
                    record.generation = record.generation.saturating_add(1);
                    record.refresh_token.clone_from(&received.refresh_token);
                    record.pending = None;
                } else if !is_replaced(&record) {
                    record.pending = None;
                }
            }
        }
        let written = guarded(async { locked.write(&record).await }).await;
        let spent = self.shared.fingerprint(&token.record);
        let next = match asked {
            Some(_) => Token::new(record, now, asked),
            None => token.with_record(record),
        };
        match (&change, written) {
            (Change::Tokens, Err(error)) => {
                self.shared.state().unsaved = Some(Unsaved { token: next, spent });
                self.trouble = Some(AuthError::NotSaved(error));
                Event::Failed
            }
            (Change::Again, Err(error)) => {
                self.trouble = Some(AuthError::NotSaved(error));
                Event::Failed
            }
            // The service's response is authoritative, whether or not it could be saved.
            (Change::Ended(_) | Change::AccessToken, Err(error)) => {
                self.token = Some(next);
                self.store_failure(error)
            }
            // If the mark could not be removed, the earlier error matters more.
            (Change::Pending(_), Err(error)) => {
                self.trouble.get_or_insert(AuthError::Store(error));
                Event::Failed
            }
            (change, Ok(())) => {
                if matches!(change, Change::Tokens | Change::Again) {
                    self.shared.state().unsaved = None;
                }
                self.token = Some(next);
                Event::Written
            }
        }
    }

    async fn exchange(&mut self) -> Event {
        let Some(token) = &self.token else { return Event::Failed };
        let record = Arc::clone(&token.record);
        // The lifetime counts from before the request, so that it is never overestimated.
        let asked = self.shared.clocks.now();
        if record.refresh_token.is_none() {
            let ended = Ended { reason: EndReason::NotRefreshable, at: asked.wall };
            self.trouble = Some(AuthError::Ended(ended));
            return Event::RefreshOutcome(Outcome::Rejected);
        }
        let throttled = record.throttled.as_ref();
        if let Some((status, left)) =
            throttled.and_then(|known| Some((known.status, known.remaining(asked.wall)?)))
        {
            self.trouble = Some(AuthError::Throttled { status, retry_after: Some(left) });
            return Event::RefreshOutcome(Outcome::Throttled { retry_after: Some(left) });
        }
        tracing::debug!(generation = record.generation, "sending the refresh token");
        let requested = self.shared.state().scope.take();
        self.scope = requested.or(self.scope.take());
        let outcome = self.shared.http().refresh(&record, self.scope.as_deref()).await;
        #[cfg(feature = "otel")]
        count_outcome(&outcome);
        let outcome = match outcome {
            RefreshOutcome::Tokens(tokens) => {
                self.receive(tokens, asked, &record.scope);
                Outcome::Tokens
            }
            RefreshOutcome::NotSent(error) => {
                let error = AuthError::Unreachable(error);
                let again = error.is_retryable();
                self.trouble = Some(error);
                Outcome::NotSent { again }
            }
            RefreshOutcome::Throttled { status, retry_after } => {
                self.throttled = retry_after.map(|pause| Throttled {
                    status,
                    since: self.shared.clocks.now().wall,
                    pause,
                });
                self.trouble = Some(AuthError::Throttled { status, retry_after });
                Outcome::Throttled { retry_after }
            }
            RefreshOutcome::NotOAuthEndpoint { status, path } => {
                self.trouble = Some(AuthError::NotOAuthEndpoint { status, path });
                Outcome::Rejected
            }
            RefreshOutcome::Rejected(error) => {
                self.trouble = Some(AuthError::Rejected(error));
                Outcome::Rejected
            }
            RefreshOutcome::InvalidGrant(error) => {
                self.trouble = Some(AuthError::Rejected(error));
                Outcome::InvalidGrant
            }
            RefreshOutcome::Kept(tokens) => {
                if is_replaced(&record) {
                    let reason = "the response contains no new refresh token".to_owned();
                    self.events.push(SessionEvent::ResponseLost { reason });
                }
                let left = tokens.expires_in;
                self.receive(tokens, asked, &record.scope);
                Outcome::Kept { left }
            }
            RefreshOutcome::Unknown { reason } => {
                self.events.push(SessionEvent::ResponseLost { reason });
                Outcome::Unknown
            }
        };
        Event::RefreshOutcome(outcome)
    }

    /// Takes the tokens of a response to a request sent at `asked`; until then, the scope was `before`.
    fn receive(&mut self, mut tokens: Tokens, asked: Now, before: &str) {
        self.events.extend(tokens.deviations.iter().cloned().map(SessionEvent::Deviation));
        // RFC 6749, section 5.1: a response without a scope confirms the requested one.
        tokens.scope = tokens.scope.or_else(|| self.scope.clone());
        // The order of scopes has no meaning (RFC 6749, 3.3).
        let is_same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|scope| scope.split_whitespace().collect::<BTreeSet<_>>());
            one == other
        };
        let requested = self.scope.as_deref();
        let unexpected = |now: &String| {
            !is_same(now, before) && requested.is_none_or(|requested| !is_same(now, requested))
        };
        if let Some(now) = tokens.scope.clone().filter(unexpected) {
            self.events.push(SessionEvent::ScopeChanged { before: before.to_owned(), now });
        }
        self.received = Some((tokens, asked));
    }

    fn finish(&mut self, verdict: Verdict) -> Result<Token, AuthError> {
        let trouble = self.trouble.take();
        match (verdict, self.token.take()) {
            (Verdict::Use, Some(token)) => {
                if let Some(trouble) = trouble {
                    tracing::debug!(
                        trouble = crate::error::chain(&trouble),
                        "continuing with the current tokens"
                    );
                }
                Ok(token)
            }
            (Verdict::UseUnsaved, token) => {
                let unsaved = self.shared.unsaved_record().map(|unsaved| unsaved.token).or(token);
                if let Some(trouble) = trouble {
                    self.events.push(SessionEvent::NotSaved(Arc::new(trouble)));
                }
                unsaved.ok_or(AuthError::LoggedOut)
            }
            (Verdict::Ended, Some(token)) => {
                let ended = token.record.ended.clone();
                self.shared.state().log_out_epoch(self.epoch);
                Err(ended.map_or(AuthError::LoggedOut, AuthError::Ended))
            }
            (Verdict::LoggedOut, _) => {
                let mut state = self.shared.state();
                if state.epoch == self.epoch {
                    state.log_out();
                }
                Err(AuthError::LoggedOut)
            }
            (Verdict::Wait(retry_after), _) => Err(AuthError::OutcomeUnknown { retry_after }),
            (Verdict::Busy | Verdict::Failed | Verdict::Use | Verdict::Ended, _) => Err(trouble
                .unwrap_or_else(|| AuthError::Store(StoreError::unavailable("it responds too slowly")))),
        }
    }
}

/// Returns whether the server is known to replace refresh tokens (`docs/specification.md`, Authentication 4), because it has replaced one of this
/// login. If so, a response without a new token may have used up the old one; otherwise, it means that the old one remains valid (RFC 6749, section
/// 6).
fn is_replaced(record: &TokenRecord) -> bool {
    record.generation > 1
}

/// Counts a token request of the session.
#[cfg(feature = "otel")]
fn count_outcome(outcome: &RefreshOutcome) {
    let outcome = match outcome {
        RefreshOutcome::Tokens(_) | RefreshOutcome::Kept { .. } => "tokens",
        RefreshOutcome::NotSent(_) => "not_sent",
        RefreshOutcome::Throttled { .. } => "throttled",
        RefreshOutcome::NotOAuthEndpoint { .. } | RefreshOutcome::Rejected(_) => "rejected",
        RefreshOutcome::InvalidGrant(_) => "invalid_grant",
        RefreshOutcome::Unknown { .. } => "unknown",
    };
    opentelemetry::global::meter("idempost")
        .u64_counter("idempost.token.refreshes")
        .with_unit("{refresh}")
        .with_description("Token requests that refresh a session.")
        .build()
        .add(1, &[opentelemetry::KeyValue::new("idempost.outcome", outcome)]);
}

/// Runs a call of the application's store; a panic is an error of the store.
async fn guarded<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let mut call = pin!(call);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Err(StoreError::unavailable("it panicked"))))
    })
    .await
}
