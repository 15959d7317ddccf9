//! The client's rate limiter: a GCRA with a FIFO queue, which learns the service's limit.
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
//!
//! # How it learns a limit that the service doesn't announce
//!
//! A new client sends without limit. The first 429 sets a ceiling at the rate of the last second, which is too low if the requests before it
//! were sent at once: the rate triples every second until the next 429, and only then is the ceiling a measured one. A service that counts
//! requests in windows has admitted as many in the last second. One that admits them one by one, like nginx's `limit_req`, admits a burst only in
//! part, and then every request at up to its own rate: there the last rate is the measure, a 429 needs no long pause, and no request may
//! make up for a late one. From then on the rate follows CUBIC's curve: just below the ceiling at first, flat around it, then increasing
//! faster above it. A 429 late on the curve confirms the ceiling, and the next attempt to exceed it takes twice as long; an early one shows that
//! the ceiling was wrong, and halves it. A curve that ends without a 429 shows that the limit no longer applies: the client forgets it.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use http::HeaderMap;
use tokio::{
    sync::{Mutex as FifoMutex, Notify},
    time::{Instant, timeout_at},
};

use super::announced::AnnouncedLimit;
use crate::problem::SettingsError;

#[cfg(test)]
mod calls;
#[cfg(test)]
mod service;
#[cfg(test)]
mod tests;

/// τ of the GCRA: how late a request may be sent without losing its slot. Absorbs the timer's granularity.
const TOLERANCE: Duration = Duration::from_millis(10);
/// Stretches an announced window: 1 % for the tolerance, 1.5 % for jitter.
const STRETCH: f64 = 1.025;
/// The rate, in requests per second, above which pacing costs more than it saves.
const UNPACED: f64 = 10_000.0;
/// The longest interval between two requests.
const MAX_INTERVAL: Duration = Duration::from_hours(24 * 365);

/// The pause after a 429 without `Retry-After`. Another 429 within this time or its pause belongs to the same incident.
const DEFAULT_HOLD: Duration = Duration::from_secs(1);
/// The same if the service doesn't count in windows, and while the rate triples.
const SHORT_HOLD: Duration = Duration::from_millis(300);
/// The longest pause that a 429 imposes on other calls.
const MAX_HOLD: Duration = Duration::from_mins(1);

/// The lowest ceiling that 429s lead to, in requests per second, unless a lower limit is announced or configured.
const FLOOR: f64 = 0.5;
/// How far a late 429 lowers the ceiling below the rate that exceeded the limit, relative to that rate.
const MIN_CUT: f64 = 0.02;
/// The same for the first 429 while no limit is known: the rate of the last second can be two windows' limit.
const FIRST_CUT: f64 = 0.1;
/// How much faster the rate becomes every second until the second 429.
const GROWTH: f64 = 3.0;
/// Where that begins at least, in requests per second.
const MIN_START: f64 = 3.0;
/// The same for the 429 that ends this growth, relative to the rate of a second before or that of the last second.
const GROWTH_CUT: f64 = 0.05;
/// A service whose second 429 comes at so many times the rate of the first doesn't count in windows: within one, the growth is smaller.
const SPACED: f64 = 8.0;
/// How far the rate has exceeded such a service's limit when the 429 arrives, relative to that rate.
const SPACED_EXCESS: f64 = 0.13;
/// The same for a series of early 429s, each of which doubles the cut.
const MAX_CUT: f64 = 0.5;
/// How far below the ceiling the curve starts, relative to the ceiling.
const DIP: f64 = 0.05;
/// The time from the start of the first curve to its ceiling.
const MIN_SPAN: Duration = Duration::from_secs(8);
/// The same for the longest curve.
const MAX_SPAN: Duration = Duration::from_secs(256);
/// Where the curve ends, in spans.
const SPANS: u32 = 4;
/// A 429 in the first quarter of a curve's first span is early.
const EARLY: u32 = 4;

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
        if let Some(limit) = announced
            && state.announce(limit, self.in_flight.load(Ordering::Relaxed), now)
            && let Some(reset) = AnnouncedLimit::reset_if_exhausted(headers)
        {
            // Only here: once the client paces itself, an exhausted window is what a full one ends with.
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
        let wait = match self.learned {
            Some(Ceiling { grows_from: Some(_), .. }) => {
                // The integral of pace · GROWTHᵗ is the number of calls.
                let calls = f64::from(ahead) * GROWTH.ln() / pace;
                Duration::try_from_secs_f64(calls.ln_1p() / GROWTH.ln()).unwrap_or(MAX_INTERVAL)
            }
            _ => interval(pace).saturating_mul(ahead),
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
        let grows = |ceiling: Ceiling| ceiling.spaced || ceiling.grows_from.is_some();
        let hold = if self.learned.is_some_and(grows) { SHORT_HOLD } else { DEFAULT_HOLD };
        let held = self.hold(retry_after.unwrap_or(hold), now);
        let since = held.max(later(now, hold));
        let pace = self.pace(now).unwrap_or_else(|| self.recent.rate(now));
        let cap = self.cap();
        let floor = cap.map_or(FLOOR, |cap| cap.min(FLOOR));
        let learn = |rate: f64, cut: f64, span| Ceiling {
            rate: (rate * (1.0 - cut)).max(floor),
            cut,
            since,
            span,
            grows_from: None,
            spaced: false,
        };
        self.learned = Some(match &mut self.learned {
            Some(ceiling) if now < ceiling.since => {
                ceiling.since = ceiling.since.max(held);
                return;
            }
            Some(Ceiling { grows_from: Some(first), .. }) if pace >= SPACED * *first => {
                Ceiling { spaced: true, ..learn(pace * (1.0 - SPACED_EXCESS), MIN_CUT, MIN_SPAN) }
            }
            // The rate of a second ago caused no 429.
            Some(ceiling) if ceiling.grows_from.is_some() => {
                let then = now.checked_sub(Recent::SECOND).filter(|then| *then >= ceiling.since);
                let passed = then.map_or(0.0, |then| ceiling.pace(then));
                learn(self.recent.rate(now).max(passed), GROWTH_CUT, MIN_SPAN)
            }
            Some(ceiling) if now - ceiling.since < ceiling.span / EARLY => {
                let span = (ceiling.span / 2).max(MIN_SPAN);
                Ceiling { spaced: ceiling.spaced, ..learn(pace, (ceiling.cut * 2.0).min(MAX_CUT), span) }
            }
            Some(ceiling) => {
                Ceiling { spaced: ceiling.spaced, ..learn(pace, MIN_CUT, (ceiling.span * 2).min(MAX_SPAN)) }
            }
            None if cap.is_some() => learn(pace, MIN_CUT, MIN_SPAN),
            None => {
                let first = learn(pace, FIRST_CUT, MIN_SPAN);
                Ceiling { rate: first.rate.max(MIN_START), grows_from: Some(first.rate), ..first }
            }
        });
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

/// A limit learned from 429s, and the curve on which the rate approaches and then exceeds it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ceiling {
    /// In requests per second.
    rate: f64,
    /// How far it was set below the rate that exceeded the limit, relative to that rate.
    cut: f64,
    /// When the curve starts: at the end of the pause after the 429.
    since: Instant,
    /// The time from there to the ceiling.
    span: Duration,
    /// The rate at the first 429. The rate triples every second instead of following the curve, since the ceiling isn't measured yet.
    grows_from: Option<f64>,
    /// Whether the service admits requests one by one instead of counting them in windows.
    spaced: bool,
}

impl Ceiling {
    fn pace(self, now: Instant) -> f64 {
        if self.grows_from.is_some() {
            let seconds = now.saturating_duration_since(self.since).as_secs_f64();
            return self.rate * GROWTH.powf(seconds);
        }
        let spans = now.saturating_duration_since(self.since).div_duration_f64(self.span);
        self.rate * (1.0 + DIP * (spans - 1.0).powi(3))
    }

    fn is_over(self, now: Instant) -> bool {
        if self.grows_from.is_some() {
            return self.pace(now) >= UNPACED;
        }
        now.saturating_duration_since(self.since) >= self.span * SPANS
    }
}

/// Counts the requests that the service admitted in the current second and in the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    since: Option<Instant>,
    current: u32,
    previous: u32,
}

impl Recent {
    const SECOND: Duration = Duration::from_secs(1);

    fn roll(&mut self, now: Instant) {
        let age = self.since.map_or(Duration::MAX, |since| now.saturating_duration_since(since));
        if age >= Self::SECOND {
            let previous = if age < Self::SECOND * 2 { self.current } else { 0 };
            *self = Self { since: Some(now), current: 0, previous };
        }
    }

    fn count(&mut self, now: Instant) {
        self.roll(now);
        self.current = self.current.saturating_add(1);
    }

    /// Requests per second, at least 1.
    fn rate(&mut self, now: Instant) -> f64 {
        self.roll(now);
        f64::from(self.current.max(self.previous).max(1))
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
