//! The client's rate limiter: a GCRA with a FIFO queue, which [learns](learned) the service's limit.
//!
//! # Why it stays within the limit
//!
//! The state is one instant, `next`: the theoretical arrival time of the GCRA (generic cell rate algorithm), less its
//! tolerance τ. A request may be sent from `next` on, and then `next = max(next, now − τ) + T`. Every request thus advances
//! `next` by at least T, and `next` is never more than τ behind the clock, so at most ⌈(W + τ) / T⌉ requests are sent in any
//! half-open window of length W, wherever it begins. For an announced limit of `n` requests in `w` seconds T = 1.025 · w / n
//! and τ = 10 ms ≤ w / 100: at most ⌈(1.01 / 1.025) · n⌉ ≤ n requests leave in any `w` seconds, whether the service counts in
//! fixed or in sliding windows. The other 1.5 % of the window absorb network jitter.
//!
//! # Why it neither leaks nor idles
//!
//! Nothing is assigned in advance. A waiting call holds a place in a FIFO lock and nothing else; only the head of the
//! queue reads `next`, and `next` moves only when a request is sent. A dropped future therefore returns nothing but its place,
//! which the lock closes in constant time. A [`Permit`] that is dropped before sending restores `next`, unless another request was
//! sent since: then the unused slot is in the past, and using it as well would be a burst. The slot of a new call is
//! `next` + T · (calls waiting), so a call whose slot comes after its deadline fails immediately. Memory is
//! proportional to the waiting calls.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use http::HeaderMap;
use tokio::sync::{Mutex as FifoMutex, Notify};

use self::learned::{Ceiling, Incident, Recent, UNPACED};
use super::announced::AnnouncedLimit;
use crate::{
    clock::{Instant, timeout_at},
    problem::SettingsError,
};

#[cfg(test)]
mod calls;
mod learned;
#[cfg(test)]
mod service;
#[cfg(test)]
mod tests;

/// τ of the GCRA: how late a request may be sent without losing its slot. Absorbs the timer's granularity.
const TOLERANCE: Duration = Duration::from_millis(10);
/// Stretches an announced window: 1 % for the tolerance, 1.5 % for jitter.
const STRETCH: f64 = 1.025;
/// The longest interval between two requests.
const MAX_INTERVAL: Duration = Duration::from_secs(24 * 365 * 60 * 60);

/// The longest pause that a 429 imposes on other calls.
const MAX_HOLD: Duration = Duration::from_secs(60);

/// The rate at which a client sends requests.
///
/// All clones of a client share one limiter. Waiting calls are served in the order in which they were made. A call
/// whose slot comes after its deadline fails immediately, and nothing is sent.
///
/// In every mode but [`Off`](Self::Off), a 429 pauses all calls of the client for the response's `Retry-After` (at most
/// 60 s; without one, at most 1 s) and slows the client down for a while.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum RateLimit {
    /// Adapts to the service's limit. This is the default.
    ///
    /// A limit announced in `ratelimit-policy` (windows of up to 60 s) or `ratelimit-limit` (per second) is never exceeded; the client
    /// sends at 97.5 % of it. While the service announces none, the client sends without limit until a 429, then
    /// stays just below the rate that caused it, and periodically tries a higher one.
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
                Err(SettingsError::new("rate_limit", rule).found(rate.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// The verdict of a response on the request rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The service accepted the request.
    Admitted,
    /// A 429 because of the request rate, however long its `Retry-After`.
    Throttled { retry_after: Option<Duration> },
    /// Any other response, such as a 5xx or an exhausted quota: only its headers count.
    Unrelated,
}

/// The reason why a call isn't sent: its slot comes after its deadline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TooLate {
    /// The time until the slot of a call made now.
    pub(crate) available_in: Duration,
    /// The current rate in requests per second; `None` while the limit is unknown.
    pub(crate) pace: Option<f64>,
}

/// Decides when requests are sent.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: RateLimit,
    /// Whether calls pass without checking the state, because no limit is known.
    open: AtomicBool,
    /// The requests in flight that no limit applied to.
    in_flight: AtomicU32,
    state: Mutex<State>,
    /// The queue: tokio's mutex is FIFO, and the task that holds it is the head.
    queue: FifoMutex<()>,
    /// Wakes the head of the queue when its slot may have moved forward.
    moved: Notify,
}

impl Limiter {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let configured = match limit {
            RateLimit::PerSecond(rate) => Some(rate),
            RateLimit::Adaptive | RateLimit::Off => None,
        };
        Self {
            limit,
            open: AtomicBool::new(configured.is_none()),
            in_flight: AtomicU32::new(0),
            state: Mutex::new(State { configured, ..State::default() }),
            queue: FifoMutex::default(),
            moved: Notify::new(),
        }
    }

    /// Waits for this call's slot.
    ///
    /// Call it right before sending, and hold the permit until the response was [learned from](Self::learn). Without a limit it neither waits
    /// nor locks nor allocates. Dropping the future gives up the place in the queue.
    ///
    /// # Errors
    /// The slot comes after `deadline`: returned immediately if that is known, or at `deadline` if the rate dropped meanwhile. No slot is taken.
    pub(crate) async fn acquire(&self, deadline: Option<Instant>) -> Result<Permit<'_>, TooLate> {
        if self.open.load(Ordering::Relaxed) {
            return Ok(self.permit(Slot::Free));
        }
        let place = {
            let now = Instant::now();
            let mut state = self.lock();
            self.expire(&mut state, now);
            if state.waiting == 0
                && let Ok(slot) = state.admit(now)
            {
                return Ok(self.permit(slot));
            }
            let turn = state.turn(state.waiting, now);
            if deadline.is_some_and(|deadline| deadline <= turn) {
                return Err(TooLate { available_in: turn - now, pace: state.pace(now) });
            }
            state.waiting = state.waiting.saturating_add(1);
            Place(self)
        };
        // Boxed, so that calls that don't wait don't carry the size of the waiting future.
        Box::pin(self.wait(place, deadline)).await
    }

    fn permit(&self, slot: Slot) -> Permit<'_> {
        if let Slot::Free = slot {
            self.in_flight.fetch_add(1, Ordering::Relaxed);
        }
        Permit { limiter: self, slot, sent: false }
    }

    async fn wait(&self, place: Place<'_>, deadline: Option<Instant>) -> Result<Permit<'_>, TooLate> {
        let head = match deadline {
            None => Some(self.queue.lock().await),
            Some(deadline) => timeout_at(deadline, self.queue.lock()).await.ok(),
        };
        while head.is_some() {
            let now = Instant::now();
            let turn = {
                let mut state = self.lock();
                self.expire(&mut state, now);
                match state.admit(now) {
                    Ok(slot) => return Ok(self.permit(slot)),
                    Err(turn) => turn,
                }
            };
            if deadline.is_some_and(|deadline| deadline <= now) {
                break;
            }
            let until = deadline.map_or(turn, |deadline| deadline.min(turn));
            let _moved_or_due = timeout_at(until, self.moved.notified()).await;
        }
        drop(place);
        let now = Instant::now();
        let state = self.lock();
        Err(TooLate { available_in: state.turn(state.waiting, now) - now, pace: state.pace(now) })
    }

    /// Learns from a response. Call it before dropping the permit.
    pub(crate) fn learn(&self, headers: &HeaderMap, verdict: Verdict) {
        if self.limit == RateLimit::Off {
            return;
        }
        let announced = AnnouncedLimit::from_headers(headers);
        let now = Instant::now();
        let mut state = self.lock();
        self.expire(&mut state, now);
        let begins =
            announced.is_some_and(|limit| state.announce(limit, self.in_flight.load(Ordering::Relaxed), now));
        // Only here: once the client paces itself, an exhausted window is what a full one ends with.
        if let Some(reset) = begins.then(|| AnnouncedLimit::reset_if_exhausted(headers)).flatten() {
            state.hold(reset, now);
        }
        match verdict {
            Verdict::Admitted => state.admitted(now),
            Verdict::Throttled { retry_after } => state.throttled(retry_after, now),
            Verdict::Unrelated => {}
        }
        self.settle(&state, now);
    }

    /// Removes expired state.
    fn expire(&self, state: &mut State, now: Instant) {
        if state.expire(now) {
            self.settle(state, now);
        }
    }

    /// Publishes a changed state to later calls and to the head of the queue.
    fn settle(&self, state: &State, now: Instant) {
        self.open.store(state.pace(now).is_none(), Ordering::Relaxed);
        self.wake(state);
    }

    /// Makes the head of the queue check the state again.
    fn wake(&self, state: &State) {
        if state.waiting > 0 {
            self.moved.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to send one request.
///
/// Dropping it before sending returns the slot to the next waiting call.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit<'a> {
    limiter: &'a Limiter,
    slot: Slot,
    sent: bool,
}

impl Permit<'_> {
    /// Consumes the slot: from now on the request may reach the service, even if the call is canceled.
    pub(crate) fn sent(&mut self) {
        self.sent = true;
    }

    /// Returns the slot after all: the request did not reach the service, for example because the connection was refused.
    pub(crate) fn give_back(mut self) {
        self.sent = false;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        match self.slot {
            Slot::Free => {
                self.limiter.in_flight.fetch_sub(1, Ordering::Relaxed);
            }
            Slot::Paced { .. } if self.sent => {}
            Slot::Paced { before, after } => {
                let mut state = self.limiter.lock();
                state.give_back(before, after);
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

#[derive(Clone, Copy, Debug)]
enum Slot {
    /// No limit applied.
    Free,
    /// One interval of the GCRA, with `next` before and after it.
    Paced { before: Option<Instant>, after: Instant },
}

#[derive(Debug, Default)]
struct State {
    /// The rate set by the application.
    configured: Option<f64>,
    /// The limit announced by the service.
    announced: Option<AnnouncedLimit>,
    /// The limit learned from 429s.
    learned: Option<Ceiling>,
    /// When the next request may be sent; `None` before the first.
    next: Option<Instant>,
    /// The end of the pause after a 429.
    held: Option<Instant>,
    /// The calls in the queue.
    waiting: u32,
    recent: Recent,
}

impl State {
    /// The maximum rate, from the configured and the announced limit.
    fn cap(&self) -> Option<f64> {
        let announced = self.announced.map(pace);
        [self.configured, announced].into_iter().flatten().reduce(f64::min)
    }

    fn pace(&self, now: Instant) -> Option<f64> {
        let learned = self.learned.map(|ceiling| ceiling.pace(now));
        [self.cap(), learned].into_iter().flatten().reduce(f64::min)
    }

    /// Takes a slot, or returns when to check again.
    fn admit(&mut self, now: Instant) -> Result<Slot, Instant> {
        if let Some(pace) = self.pace(now) {
            let turn = self.turn(0, now);
            if turn > now {
                return Err(turn);
            }
            let before = self.next;
            let after = later(self.base(now), interval(pace));
            self.next = Some(after);
            return Ok(Slot::Paced { before, after });
        }
        Ok(Slot::Free)
    }

    /// The time that a request sent at `at` counts from: when it was due, unless that is longer ago than the tolerance. After a longer time, an
    /// announced or a configured limit permits the next request to be early by the tolerance; a service whose limit was learned may not.
    fn base(&self, at: Instant) -> Instant {
        let earliest = at.checked_sub(TOLERANCE).unwrap_or(at);
        match self.next {
            Some(next) if next >= earliest => next,
            Some(_) if self.learned.is_none() => earliest,
            _ => at,
        }
    }

    /// The slot of a call with `ahead` calls before it.
    fn turn(&self, ahead: u32, now: Instant) -> Instant {
        let Some(pace) = self.pace(now) else { return now };
        let head = [self.next, self.held].into_iter().flatten().fold(now, Instant::max);
        if ahead == 0 {
            return head;
        }
        let wait = match self.learned.and_then(Ceiling::growth) {
            Some(growth) => {
                // The integral of pace · growthᵗ is the number of calls.
                let calls = f64::from(ahead) * growth.ln() / pace;
                Duration::try_from_secs_f64(calls.ln_1p() / growth.ln()).unwrap_or(MAX_INTERVAL)
            }
            None => interval(pace).saturating_mul(ahead),
        };
        later(self.base(head), wait)
    }

    /// Returns an interval that wasn't used. If a later request was sent, the slot is in the past.
    fn give_back(&mut self, before: Option<Instant>, after: Instant) {
        if self.next == Some(after) {
            self.next = before;
        }
    }

    /// Applies an announced limit; returns whether it changed.
    fn announce(&mut self, limit: AnnouncedLimit, in_flight: u32, now: Instant) -> bool {
        let announced = Some(limit).filter(|limit| pace(*limit) < UNPACED);
        if announced == self.announced {
            return false;
        }
        self.announced = announced;
        self.learned = None;
        if let Some(limit) = announced {
            // Requests sent before count in the service's window, which admits no more than the limit.
            let sent = interval(pace(limit)).saturating_mul(in_flight.min(limit.requests()).max(1));
            let next = later(now, sent);
            self.next = Some(self.next.map_or(next, |earlier| earlier.max(next)));
        }
        announced.is_some()
    }

    fn admitted(&mut self, now: Instant) {
        self.recent.count(now);
    }

    fn throttled(&mut self, retry_after: Option<Duration>, now: Instant) {
        let pause = Ceiling::hold(self.learned);
        let held = self.hold(retry_after.unwrap_or(pause), now);
        if let Some(ceiling) = self.learned.as_mut().filter(|ceiling| now < ceiling.since) {
            ceiling.since = ceiling.since.max(held);
            return;
        }
        let recent = self.recent.rate(now);
        let (pace, since) = (self.pace(now).unwrap_or(recent), held.max(later(now, pause)));
        self.learned =
            Some(Ceiling::after_429(self.learned, self.cap(), Incident { pace, recent, now, since }));
    }

    /// Pauses all calls; returns the end of the pause.
    fn hold(&mut self, pause: Duration, now: Instant) -> Instant {
        let until = later(now, pause.min(MAX_HOLD));
        let until = self.held.map_or(until, |held| held.max(until));
        self.held = Some(until);
        until
    }

    /// Forgets a learned limit at the end of its curve; returns whether it did.
    fn expire(&mut self, now: Instant) -> bool {
        self.learned.take_if(|ceiling| ceiling.is_over(now)).is_some()
    }
}

/// Returns the rate, in requests per second, that never exceeds the limit.
fn pace(limit: AnnouncedLimit) -> f64 {
    limit.per_second() / STRETCH
}

fn interval(pace: f64) -> Duration {
    Duration::try_from_secs_f64(pace.recip()).map_or(MAX_INTERVAL, |interval| interval.min(MAX_INTERVAL))
}

/// Adds without overflow, at most a year.
fn later(instant: Instant, by: Duration) -> Instant {
    instant.checked_add(by).unwrap_or(instant + MAX_INTERVAL)
}
