//! A sender's pace: when each request may be sent, based on the service's responses. It never reads a clock.
//!
//! # Why it stays within a limit
//!
//! The state of the GCRA (generic cell rate algorithm) is one instant, `next`: the theoretical arrival time less the tolerance τ. A request may be
//! sent from `next` on, and then `next = max(next, now − τ) + T`. Every request thus advances `next` by at least T, and `next` is never more than τ
//! behind the clock, so at most ⌈(W + τ) / T⌉ requests are sent in any half-open window of length W, wherever it begins. For an announced limit of
//! `n` requests in `w` seconds, T = 1.025 · w / n and τ = 10 ms ≤ w / 100: at most ⌈(1.01 / 1.025) · n⌉ ≤ n requests are sent in any `w` seconds,
//! whether the service counts in fixed or in sliding windows. The other 1.5 % of the window absorb network jitter.
//!
//! # How it learns a limit that the service doesn't announce
//!
//! A new sender has no limit. The first 429 sets the rate to that of the last second, which is too low if the requests before it were sent
//! simultaneously: the rate triples every second until the next 429, and only then counts as measured. From then on, a 429 lowers the rate to just
//! below the one that failed. The rate then stays the same for some time and increases until the next 429: slowly at first, so that few requests
//! exceed the limit, then faster, so that a raised limit is soon used. The time without an increase doubles with every 429 that follows it, up to the
//! number of requests that makes a 429 rare. A 429 during that time shows that the rate is wrong: it is lowered further, to the rate that the service
//! accepted in the last second. A rate that increases without end shows that there is no limit anymore.

use std::time::Duration;

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::announced::AnnouncedLimit;

#[cfg(test)]
mod tests;

/// τ of the GCRA: how late a request may be sent without losing its slot. Absorbs the timer's granularity.
const TOLERANCE: Duration = Duration::from_millis(10);
/// Stretches an announced window: 1 % for the tolerance, 1.5 % for jitter.
const STRETCH: f64 = 1.025;
/// The longest interval between two requests.
pub(super) const MAX_INTERVAL: Duration = Duration::from_secs(24 * 365 * 60 * 60);
/// The rate, in requests per second, above which pacing costs more than it saves.
const UNPACED: f64 = 10_000.0;
/// The lowest rate that 429s can lead to, in requests per second.
const FLOOR: f64 = 0.05;

/// The pause after a 429 without `Retry-After`.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause after such a 429 while the rate triples.
const SHORT_PAUSE: Duration = Duration::from_millis(300);

/// The rate in requests per second at which a slow start begins.
const START: f64 = 5.0;
/// The factor by which the rate grows every second during a slow start, and between the first two 429s.
const GROWTH: f64 = 3.0;
/// The minimum rate at which that growth begins, in requests per second.
const MIN_START: f64 = 3.0;
/// The factor by which the first 429 lowers the rate: the last second may have included two windows' limit.
const BELOW_FIRST: f64 = 0.9;
/// The factor by which another 429 lowers a measured rate.
const BELOW: f64 = 0.95;
/// The lowest share kept of a rate that had been tripling until the 429.
const TRIPLED: f64 = 0.6;
/// The smallest and the largest factor by which an early 429 lowers the rate.
const EARLY: (f64, f64) = (0.5, 0.9);
/// The time at a constant rate after the first measured one.
const WAIT: Duration = Duration::from_secs(4);
/// The longest such time, in seconds and in requests, whichever is longer.
const MAX_WAIT: (f64, f64) = (20.0, 300.0);
/// The first increase, relative to the rate.
const STEP: f64 = 0.01;
/// The time in which the increase doubles, in seconds.
const DOUBLING: f64 = 4.0;

/// What a response says about the request rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateVerdict {
    /// The service accepted the request.
    Admitted,
    /// A 429 because of the request rate.
    Throttled {
        /// How long to pause; if absent, up to 1 s.
        retry_after: Option<Duration>,
    },
    /// Any other response, such as a 5xx or an exhausted quota: only its headers matter.
    Unrelated,
}

/// The parts of a response that affect the pace.
#[derive(Clone, Copy, Debug)]
pub struct RateSignal {
    sent_at: Duration,
    verdict: RateVerdict,
    announced: Option<AnnouncedLimit>,
    exhausted: Option<Duration>,
}

impl RateSignal {
    /// Describes the response to a request sent at `sent_at`.
    pub fn new(sent_at: Duration, verdict: RateVerdict, headers: &HeaderMap) -> Self {
        Self {
            sent_at,
            verdict,
            announced: AnnouncedLimit::from_headers(headers),
            exhausted: AnnouncedLimit::reset_if_exhausted(headers),
        }
    }

    /// Returns whether the response is a 429.
    pub fn is_throttled(&self) -> bool {
        matches!(self.verdict, RateVerdict::Throttled { .. })
    }
}

/// The slot of one request. Pass it to [`RateLimiter::return_slot`] if the request isn't sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSlot(Option<(Option<Duration>, Duration)>);

impl RateSlot {
    /// Returns whether no limit applied.
    pub(super) fn is_free(self) -> bool {
        self.0.is_none()
    }
}

/// A sender's pace, without a clock: all instants are durations since a time that the sender chooses.
///
/// A [`Client`](crate::Client) uses one automatically; this type is for senders that pace themselves, individually or through a shared state. It
/// follows the limit that the service announces in its response headers. Without an announced limit, it learns one from 429s; by default, it starts
/// without a limit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RateLimiter {
    /// The maximum set by the application. It isn't part of a state that senders share.
    #[serde(skip)]
    max: Option<f64>,
    announced: Option<AnnouncedLimit>,
    learned: Option<LearnedRate>,
    /// When the next request may be sent; `None` before the first.
    next: Option<Duration>,
    paused: Duration,
    recent: RecentRequests,
}

impl RateLimiter {
    /// Creates the pace of a sender that starts now, with a limit learned earlier ([`limit`](Self::limit)), in requests per second.
    pub fn with_limit(limit: f64, now: Duration) -> Self {
        Self { learned: Some(LearnedRate::new(limit, now, now, WAIT)), ..Self::default() }
    }

    /// Creates the pace of a sender that starts now, slowly: its rate triples every second until the first 429.
    pub fn slow_start(now: Duration) -> Self {
        Self {
            learned: Some(LearnedRate { triples: true, ..LearnedRate::new(START, now, now, WAIT) }),
            ..Self::default()
        }
    }

    /// Sets the maximum in requests per second.
    pub fn set_max(&mut self, max: Option<f64>) {
        self.max = max;
    }

    /// Returns the current rate in requests per second; `None` if unlimited.
    pub fn rate(&self, now: Duration) -> Option<f64> {
        let learned = self.learned.map(|learned| learned.rate(now));
        [self.cap(), learned].into_iter().flatten().reduce(f64::min)
    }

    /// Returns the service's limit as announced or learned, in requests per second; `None` while it is unknown.
    pub fn limit(&self) -> Option<f64> {
        let learned = self.learned.filter(|learned| !learned.triples).map(|learned| learned.rate);
        self.announced.map(AnnouncedLimit::per_second).or(learned)
    }

    /// Returns the end of the pause. If it isn't in the future, there is no pause.
    pub fn paused_until(&self) -> Duration {
        self.paused
    }

    /// Pauses until `until`, unless a longer pause is in effect.
    pub fn pause_until(&mut self, until: Duration) {
        self.paused = self.paused.max(until);
    }

    /// Returns when a request that follows `ahead` others may be sent.
    pub fn ready_at(&self, ahead: u32, now: Duration) -> Duration {
        let head = now.max(self.paused);
        let Some(rate) = self.rate(now) else { return head };
        let head = head.max(self.next.unwrap_or_default());
        if ahead == 0 {
            return head;
        }
        let wait = if self.learned.is_some_and(|learned| learned.triples) {
            // The integral of rate · GROWTHᵗ is the number of requests.
            let requests = f64::from(ahead) * GROWTH.ln() / rate;
            Duration::try_from_secs_f64(requests.ln_1p() / GROWTH.ln()).unwrap_or(MAX_INTERVAL)
        } else {
            interval(rate).saturating_mul(ahead)
        };
        saturating_add(self.base(head), wait)
    }

    /// Takes a slot for a request sent now.
    ///
    /// # Errors
    /// No request may be sent now. Contains when to try again.
    pub fn take(&mut self, now: Duration) -> Result<RateSlot, Duration> {
        self.expire(now);
        let ready_at = self.ready_at(0, now);
        if ready_at > now {
            return Err(ready_at);
        }
        let Some(rate) = self.rate(now) else { return Ok(RateSlot(None)) };
        let before = self.next;
        let after = saturating_add(self.base(now), interval(rate));
        self.next = Some(after);
        Ok(RateSlot(Some((before, after))))
    }

    /// Gives back an unused slot. If a later request has been sent, the slot is in the past, and reusing it would cause a burst.
    pub fn return_slot(&mut self, slot: RateSlot) {
        if let RateSlot(Some((before, after))) = slot
            && self.next == Some(after)
        {
            self.next = before;
        }
    }

    /// Updates the pace from a response. `in_flight` is the number of requests that were sent without a slot and have no response yet.
    pub fn observe(&mut self, signal: &RateSignal, in_flight: u32, now: Duration) {
        self.expire(now);
        if let Some(limit) = signal.announced
            && self.apply_announced(limit, in_flight, now)
            && let Some(reset) = signal.exhausted
        {
            // Only here: once the sender paces itself, every fully used window ends as exhausted.
            self.pause_until(saturating_add(now, reset.min(limit.window())));
        }
        match signal.verdict {
            RateVerdict::Admitted => self.recent.count(now),
            RateVerdict::Throttled { retry_after } => self.record_throttled(signal.sent_at, retry_after, now),
            RateVerdict::Unrelated => {}
        }
    }

    /// Forgets a learned limit that no 429 confirms.
    pub(super) fn expire(&mut self, now: Duration) {
        self.learned.take_if(|learned| learned.rate(now) >= UNPACED);
    }

    /// Returns the maximum rate set by the application or announced by the service.
    fn cap(&self) -> Option<f64> {
        [self.max, self.announced.map(sustained_rate)].into_iter().flatten().reduce(f64::min)
    }

    /// Returns the time at which a request sent at `at` counts: when it was due, but no earlier than the tolerance allows.
    fn base(&self, at: Duration) -> Duration {
        self.next.map_or(at, |next| next.max(at.saturating_sub(TOLERANCE)))
    }

    /// Applies an announced limit. Returns whether it is new.
    fn apply_announced(&mut self, limit: AnnouncedLimit, in_flight: u32, now: Duration) -> bool {
        let announced = Some(limit).filter(|limit| sustained_rate(*limit) < UNPACED);
        if announced == self.announced {
            return false;
        }
        let before = std::mem::replace(&mut self.announced, announced);
        self.learned = None;
        if announced.is_some() {
            // Earlier requests also count toward the service's window, which admits no more than the limit.
            let lowered = before.is_some_and(|before| before.per_second() > limit.per_second());
            let sent = if lowered { limit.requests() } else { in_flight.clamp(1, limit.requests()) };
            let next = saturating_add(now, interval(sustained_rate(limit)).saturating_mul(sent));
            self.next = Some(self.next.map_or(next, |earlier| earlier.max(next)));
        }
        announced.is_some()
    }

    /// Pauses, and lowers the rate once per congestion event: 429s in response to requests sent before the first 429 belong to the same event.
    fn record_throttled(&mut self, sent_at: Duration, retry_after: Option<Duration>, now: Duration) {
        let triples = self.learned.is_some_and(|learned| learned.triples);
        self.pause_until(saturating_add(
            now,
            retry_after.unwrap_or(if triples { SHORT_PAUSE } else { PAUSE }),
        ));
        let since = self.paused;
        if let Some(learned) = self.learned.as_mut().filter(|learned| sent_at <= learned.at) {
            learned.since = learned.since.max(since);
            return;
        }
        let recent = self.recent.rate(now);
        let failed = self.rate(sent_at).unwrap_or(recent);
        let learn = |rate, wait| LearnedRate::new(rate, now, since, wait);
        self.learned = Some(match self.learned {
            None if self.cap().is_none() => {
                LearnedRate { triples: true, ..learn((failed * BELOW_FIRST).max(MIN_START), WAIT) }
            }
            None => learn(failed * BELOW, WAIT),
            Some(learned) if learned.triples => learn((recent * BELOW).max(failed * TRIPLED), WAIT),
            Some(learned) if sent_at < learned.increases_at() => {
                learn((recent * BELOW).clamp(failed * EARLY.0, failed * EARLY.1), learned.wait)
            }
            Some(learned) => {
                let max = Duration::from_secs_f64(MAX_WAIT.0.max(MAX_WAIT.1 / failed));
                learn(failed * BELOW, (learned.wait * 2).min(max))
            }
        });
    }
}

/// A limit learned from 429 responses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LearnedRate {
    /// In requests per second.
    rate: f64,
    /// When the 429 arrived.
    at: Duration,
    /// The end of the pause that followed.
    since: Duration,
    /// The time between that and the first increase.
    wait: Duration,
    /// Whether the rate triples every second instead, because it hasn't been measured yet.
    triples: bool,
}

impl LearnedRate {
    fn new(rate: f64, at: Duration, since: Duration, wait: Duration) -> Self {
        Self { rate: rate.max(FLOOR), at, since, wait, triples: false }
    }

    fn rate(self, now: Duration) -> f64 {
        if self.triples {
            return self.rate * GROWTH.powf(now.saturating_sub(self.since).as_secs_f64());
        }
        let doublings = now.saturating_sub(self.increases_at()).as_secs_f64() / DOUBLING;
        self.rate * (1.0 + STEP * (doublings.exp2() - 1.0))
    }

    fn increases_at(self) -> Duration {
        saturating_add(self.since, self.wait)
    }
}

/// Counts the requests that the service admitted in the current second and in the previous one.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct RecentRequests {
    since: Duration,
    current: u32,
    previous: u32,
}

impl RecentRequests {
    const SECOND: Duration = Duration::from_secs(1);

    fn advance_window(&mut self, now: Duration) {
        let age = now.saturating_sub(self.since);
        if age >= Self::SECOND {
            let previous = if age < Self::SECOND * 2 { self.current } else { 0 };
            *self = Self { since: now, current: 0, previous };
        }
    }

    fn count(&mut self, now: Duration) {
        self.advance_window(now);
        self.current = self.current.saturating_add(1);
    }

    /// Returns the requests per second, at least 1.
    fn rate(&mut self, now: Duration) -> f64 {
        self.advance_window(now);
        f64::from(self.current.max(self.previous).max(1))
    }
}

/// Returns the rate, in requests per second, that never exceeds the limit.
fn sustained_rate(limit: AnnouncedLimit) -> f64 {
    limit.per_second() / STRETCH
}

fn interval(rate: f64) -> Duration {
    Duration::try_from_secs_f64(rate.recip()).map_or(MAX_INTERVAL, |interval| interval.min(MAX_INTERVAL))
}

fn saturating_add(instant: Duration, by: Duration) -> Duration {
    instant.saturating_add(by.min(MAX_INTERVAL))
}
