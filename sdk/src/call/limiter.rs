//! The client's rate limiter: a FIFO queue in front of the client's [pace](super::rate_limiter).
//!
//! # Why it never leaks slots or stalls
//!
//! Nothing is assigned in advance. A waiting call holds only its place in a FIFO lock; the head of the queue consults the pace, and the pace
//! changes only when a request is sent. A dropped future therefore gives up nothing but its place, which the lock closes in constant time. A head that
//! isn't polled, for example in a branch of `select!` while another runs, doesn't take its slot; after [`STALLED`], another call does. A call doubles
//! this time whenever it has waited in vain, so calls that wait for long rarely wake. A [`Permit`] dropped before sending returns its slot. A
//! new call's slot is the head's slot plus one interval per waiting call, so a call whose slot comes after its deadline fails immediately. Memory is
//! proportional to the number of waiting calls.

use std::{
    pin::pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use http::HeaderMap;
use tokio::sync::{Mutex as FifoMutex, Notify};

use super::rate_limiter::{MAX_INTERVAL, RateLimiter, RateSignal, RateSlot, RateVerdict};
use crate::{
    clock::{Instant, timeout_at},
    problem::SettingsError,
};

#[cfg(test)]
mod tests;

/// The longest pause that a 429 causes for other calls.
const MAX_HOLD: Duration = Duration::from_secs(60);
/// The time for which a slot is free before a new call takes it out of turn.
const STALLED: Duration = Duration::from_millis(125);

/// The rate at which a client sends requests.
///
/// All clones of a client share one limiter. Waiting calls are served in order; one whose future isn't polled doesn't block the others. A call whose
/// slot comes after its deadline fails immediately, without sending anything.
///
/// In every mode except [`Off`](Self::Off), a 429 pauses all calls of the client for the response's `Retry-After` (at most 60 s; without one, for at
/// most 1 s) and slows the client down for a while.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum RateLimit {
    /// Adapts to the service's limit. This is the default.
    ///
    /// A limit announced in `ratelimit-policy` (windows of up to 60 s) or `ratelimit-limit` (per second) is never exceeded; the client sends at 97.5
    /// % of it. While the service announces no limit, the client sends without limit until a 429, then stays just below the rate that caused it, and
    /// periodically tries a higher one.
    #[default]
    Adaptive,
    /// At most this many requests per second, evenly spaced; fewer if the service announces a lower limit.
    ///
    /// Must be positive and finite: [`ClientBuilder::build`](crate::ClientBuilder::build) rejects other numbers.
    PerSecond(f64),
    /// No limit. A 429 pauses only the call that received it.
    Off,
}

impl RateLimit {
    /// Validates the setting.
    ///
    /// # Errors
    /// The rate is zero, negative, infinite or not a number.
    pub(crate) fn validate(self) -> Result<(), SettingsError> {
        match self {
            Self::PerSecond(rate) if !(rate.is_finite() && rate > 0.0) => {
                let rule = "must be a positive, finite number of requests per second";
                Err(SettingsError::new("rate_limit", rule).with_value(rate.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// Why a call isn't sent: its slot comes after its deadline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TooLate {
    /// The time until the slot of a call made now.
    pub(crate) available_in: Duration,
    /// The current rate in requests per second; `None` while the limit is unknown.
    pub(crate) rate: Option<f64>,
}

/// Decides when requests are sent.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: RateLimit,
    /// The instant from which the pace's times are measured.
    start: Instant,
    /// Whether calls pass without checking the state, because no limit is known.
    open: AtomicBool,
    /// The number of requests in flight to which no limit applied.
    in_flight: AtomicU32,
    state: Mutex<State>,
    /// The queue: tokio's mutex is FIFO, and the task that holds it is the head.
    queue: FifoMutex<()>,
    /// Wakes the head of the queue when its slot may have moved forward.
    moved: Notify,
}

#[derive(Debug, Default)]
struct State {
    pace: RateLimiter,
    /// The number of calls in the queue.
    waiting: u32,
}

impl Limiter {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let mut state = State::default();
        if let RateLimit::PerSecond(rate) = limit {
            state.pace.set_max(Some(rate));
        }
        Self {
            limit,
            start: Instant::now(),
            open: AtomicBool::new(state.pace.rate(Duration::ZERO).is_none()),
            in_flight: AtomicU32::new(0),
            state: Mutex::new(state),
            queue: FifoMutex::default(),
            moved: Notify::new(),
        }
    }

    /// Waits for this call's slot.
    ///
    /// Call it right before sending, and hold the permit until its response has been passed to [`observe_response`](Self::observe_response). Without a limit, it doesn't
    /// wait, lock or allocate. Dropping the future gives up the place in the queue.
    ///
    /// # Errors
    /// The slot comes after `deadline`. Returned immediately if that is known, or at `deadline` if the rate has dropped in the meantime. No slot is
    /// taken.
    pub(crate) async fn acquire(&self, deadline: Option<Instant>) -> Result<Permit<'_>, TooLate> {
        if self.open.load(Ordering::Relaxed) {
            return Ok(self.permit(None));
        }
        let place = {
            let now = self.now();
            let mut state = self.lock();
            if state.waiting == 0
                && let Ok(slot) = self.take(&mut state, now)
            {
                return Ok(self.permit(Some(slot)));
            }
            let late = state.too_late_error(now);
            if deadline.is_some_and(|deadline| deadline <= Instant::now() + late.available_in) {
                return Err(late);
            }
            state.waiting = state.waiting.saturating_add(1);
            Place(self)
        };
        // Boxed, so that calls that don't wait don't include the waiting future's size.
        Box::pin(self.wait(place, deadline)).await
    }

    fn permit(&self, slot: Option<RateSlot>) -> Permit<'_> {
        let slot = slot.filter(|slot| !slot.is_free());
        if slot.is_none() {
            self.in_flight.fetch_add(1, Ordering::Relaxed);
        }
        Permit { limiter: self, slot, sent: false }
    }

    async fn wait(&self, place: Place<'_>, deadline: Option<Instant>) -> Result<Permit<'_>, TooLate> {
        let mut queue = pin!(self.queue.lock());
        let mut head = None;
        let mut patience = STALLED;
        loop {
            if head.is_some() {
                patience = Duration::ZERO;
            }
            let turn = match self.take_overdue(patience) {
                Ok(slot) => return Ok(self.permit(Some(slot))),
                Err(turn) => self.start + turn + patience,
            };
            patience *= 2;
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                break;
            }
            let until = deadline.map_or(turn, |deadline| deadline.min(turn));
            if head.is_some() {
                let _moved_or_due = timeout_at(until, self.moved.notified()).await;
            } else {
                head = timeout_at(until, queue.as_mut()).await.ok();
            }
        }
        drop(place);
        Err(self.lock().too_late_error(self.now()))
    }

    /// Takes a slot that has been free for `patience`.
    ///
    /// # Errors
    /// No slot has been free for that long. Contains when to try again.
    fn take_overdue(&self, patience: Duration) -> Result<RateSlot, Duration> {
        let (mut state, now) = (self.lock(), self.now());
        let overdue = state.pace.ready_at(0, Duration::ZERO).saturating_add(patience);
        if overdue > now { Err(overdue) } else { self.take(&mut state, now) }
    }

    /// Updates the pace from the response to a request sent at `sent_at`. Call it before dropping the permit.
    pub(crate) fn observe_response(&self, sent_at: Duration, headers: &HeaderMap, verdict: RateVerdict) {
        if self.limit == RateLimit::Off {
            return;
        }
        let verdict = match verdict {
            RateVerdict::Throttled { retry_after: Some(retry_after) } => {
                RateVerdict::Throttled { retry_after: Some(retry_after.min(MAX_HOLD)) }
            }
            verdict => verdict,
        };
        let (signal, now) = (RateSignal::new(sent_at, verdict, headers), self.now());
        let mut state = self.lock();
        state.pace.observe(&signal, self.in_flight.load(Ordering::Relaxed), now);
        self.open.store(state.pace.rate(now).is_none(), Ordering::Relaxed);
        self.wake(&state);
    }

    fn take(&self, state: &mut State, now: Duration) -> Result<RateSlot, Duration> {
        let slot = state.pace.take(now);
        if slot.is_ok_and(RateSlot::is_free) {
            self.open.store(true, Ordering::Relaxed);
        }
        slot
    }

    /// Makes the head of the queue check the state again.
    fn wake(&self, state: &State) {
        if state.waiting > 0 {
            self.moved.notify_one();
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the error for a call made now, with the time until its slot.
    fn too_late_error(&self, now: Duration) -> TooLate {
        let available_in = self.pace.ready_at(self.waiting, now).saturating_sub(now);
        TooLate { available_in: available_in.min(MAX_INTERVAL), rate: self.pace.rate(now) }
    }
}

/// The right to send one request.
///
/// Dropping it before sending passes the slot to the next waiting call.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit<'a> {
    limiter: &'a Limiter,
    /// `None` if no limit applied.
    slot: Option<RateSlot>,
    sent: bool,
}

impl Permit<'_> {
    /// Consumes the slot: from now on, the request may reach the service, even if the call is canceled. Returns the time, for [`Limiter::observe_response`].
    pub(crate) fn mark_sent(&mut self) -> Duration {
        self.sent = true;
        self.limiter.now()
    }

    /// Gives the slot back: the request didn't reach the service, for example because the connection was refused.
    pub(crate) fn release(mut self) {
        self.sent = false;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        match self.slot {
            None => {
                self.limiter.in_flight.fetch_sub(1, Ordering::Relaxed);
            }
            Some(_) if self.sent => {}
            Some(slot) => {
                let mut state = self.limiter.lock();
                state.pace.return_slot(slot);
                self.limiter.wake(&state);
            }
        }
    }
}

/// A place in the queue.
struct Place<'a>(&'a Limiter);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}
