//! The limit that a client learns from 429s, because the service announces none.
//!
//! A new client sends without limit. The first 429 sets a ceiling at the rate of the last second, which is too low if the requests before it
//! were sent at once: the rate triples every second until the next 429, and only then is the ceiling a measured one. A service that counts
//! requests in windows has admitted as many in the last second. One that admits them one by one, like nginx's `limit_req`, admits a burst only in
//! part, and then every request at up to its own rate: there the last rate is the measure, a 429 needs no long pause, and no request may
//! make up for a late one. From then on the rate follows CUBIC's curve: just below the ceiling at first, flat around it, then increasing
//! faster above it. A 429 late on the curve confirms the ceiling, and the next attempt to exceed it takes twice as long; an early one shows that
//! the ceiling was wrong, and halves it. A curve that ends without a 429 shows that the limit no longer applies: the client forgets it.

use std::time::Duration;

use crate::clock::Instant;

/// The pause after a 429 without `Retry-After`.
const DEFAULT_HOLD: Duration = Duration::from_secs(1);
/// The same if the service doesn't count in windows, and while the rate triples.
pub(super) const SHORT_HOLD: Duration = Duration::from_millis(300);
/// The rate, in requests per second, above which pacing costs more than it saves.
pub(super) const UNPACED: f64 = 10_000.0;
/// The lowest ceiling that 429s lead to, in requests per second, unless a lower limit is announced or configured.
const FLOOR: f64 = 0.5;

/// How much faster the rate becomes every second between the first two 429s.
const GROWTH: f64 = 3.0;
/// Where that begins at least, in requests per second.
const MIN_START: f64 = 3.0;
/// A service whose second 429 comes at so many times the rate of the first doesn't count in windows: within one, the growth is smaller.
const SPACED: f64 = 8.0;
/// How far the rate has exceeded such a service's limit when the 429 arrives, relative to that rate.
const SPACED_EXCESS: f64 = 0.13;

/// How far a late 429 lowers the ceiling below the rate that exceeded the limit, relative to that rate.
const MIN_CUT: f64 = 0.02;
/// The same for the first 429 while no limit is known: the rate of the last second can be two windows' limit.
const FIRST_CUT: f64 = 0.1;
/// The same for the second, relative to the rate of a second before or that of the last second.
const GROWTH_CUT: f64 = 0.05;
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

/// A limit learned from 429s, and the curve on which the rate approaches and then exceeds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ceiling {
    /// In requests per second.
    pub(super) rate: f64,
    /// How far it was set below the rate that exceeded the limit, relative to that rate.
    pub(super) cut: f64,
    /// When the curve starts: at the end of the pause after the 429.
    pub(super) since: Instant,
    /// The time from there to the ceiling.
    pub(super) span: Duration,
    /// The rate at the first 429. The rate triples every second instead of following the curve, since the ceiling isn't measured yet.
    pub(super) grows_from: Option<f64>,
    /// Whether the service admits requests one by one instead of counting them in windows.
    pub(super) spaced: bool,
}

/// A 429 that doesn't belong to an earlier one.
#[derive(Clone, Copy)]
pub(super) struct Incident {
    /// The rate of the client, in requests per second.
    pub(super) pace: f64,
    /// The rate that the service admitted in the last second.
    pub(super) recent: f64,
    pub(super) now: Instant,
    /// When the client sends again.
    pub(super) since: Instant,
}

impl Ceiling {
    /// Returns the pause after a 429 without `Retry-After`. Another 429 within this time belongs to the same incident.
    pub(super) fn hold(learned: Option<Self>) -> Duration {
        let is_short = learned.is_some_and(|ceiling| ceiling.spaced || ceiling.grows_from.is_some());
        if is_short { SHORT_HOLD } else { DEFAULT_HOLD }
    }

    /// Returns the ceiling after a 429. `cap`: the rate that was announced or configured.
    pub(super) fn after_429(before: Option<Self>, cap: Option<f64>, incident: Incident) -> Self {
        let Incident { pace, recent, now, since } = incident;
        let floor = cap.map_or(FLOOR, |cap| cap.min(FLOOR));
        let learn = |rate: f64, cut: f64, span: Duration| Self {
            rate: (rate * (1.0 - cut)).max(floor),
            cut,
            since,
            span,
            grows_from: None,
            spaced: before.is_some_and(|ceiling| ceiling.spaced),
        };
        match before {
            Some(Self { grows_from: Some(first), .. }) if pace >= SPACED * first => {
                Self { spaced: true, ..learn(pace * (1.0 - SPACED_EXCESS), MIN_CUT, MIN_SPAN) }
            }
            Some(ceiling) if ceiling.grows_from.is_some() => {
                // The rate of a second ago caused no 429.
                let then = now.checked_sub(Recent::SECOND).filter(|then| *then >= ceiling.since);
                let passed = then.map_or(0.0, |then| ceiling.pace(then));
                learn(recent.max(passed), GROWTH_CUT, MIN_SPAN)
            }
            Some(ceiling) if now - ceiling.since < ceiling.span / EARLY => {
                learn(pace, (ceiling.cut * 2.0).min(MAX_CUT), (ceiling.span / 2).max(MIN_SPAN))
            }
            Some(ceiling) => learn(pace, MIN_CUT, (ceiling.span * 2).min(MAX_SPAN)),
            None if cap.is_some() => learn(pace, MIN_CUT, MIN_SPAN),
            None => {
                let first = learn(pace, FIRST_CUT, MIN_SPAN);
                Self { rate: first.rate.max(MIN_START), grows_from: Some(first.rate), ..first }
            }
        }
    }

    /// Returns how much faster the rate becomes every second; `None` on the curve.
    pub(super) fn growth(self) -> Option<f64> {
        self.grows_from.map(|_| GROWTH)
    }

    pub(super) fn pace(self, now: Instant) -> f64 {
        if self.grows_from.is_some() {
            let seconds = now.saturating_duration_since(self.since).as_secs_f64();
            return self.rate * GROWTH.powf(seconds);
        }
        let spans = now.saturating_duration_since(self.since).div_duration_f64(self.span);
        self.rate * (1.0 + DIP * (spans - 1.0).powi(3))
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        if self.grows_from.is_some() {
            return self.pace(now) >= UNPACED;
        }
        now.saturating_duration_since(self.since) >= self.span * SPANS
    }
}

/// Counts the requests that the service admitted in the current second and in the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    pub(super) since: Option<Instant>,
    pub(super) current: u32,
    pub(super) previous: u32,
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

    pub(super) fn count(&mut self, now: Instant) {
        self.roll(now);
        self.current = self.current.saturating_add(1);
    }

    /// Requests per second, at least 1.
    pub(super) fn rate(&mut self, now: Instant) -> f64 {
        self.roll(now);
        f64::from(self.current.max(self.previous).max(1))
    }
}
