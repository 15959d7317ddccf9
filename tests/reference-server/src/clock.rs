//! Time that a test can move, and work that falls due.
//!
//! Nothing in the service sleeps. What should happen later is noted on an [`Scheduler`] with the instant at which it is
//! due, and done when the clock is found to have passed it: whenever a test moves the clock, on the tick of the
//! long-running mount, and, unless it is much, at the start of every request. So a test sees a day pass without waiting, and a sandbox on the
//! real clock does its work on time.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::lock::lock;

/// The service's clock. It runs with the system's time until it is moved, stopped or made faster.
pub struct Clock {
    reading: Mutex<Reading>,
    moved: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Clone, Copy)]
struct Reading {
    /// What it showed when it was last touched.
    shown: Timestamp,
    /// The system's time at that moment.
    touched: Timestamp,
    /// How many seconds go by on it in one of the system's, while it runs.
    scale: f64,
    frozen: bool,
}

/// What is kept of a clock. Without an instant it is the system's own.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    shown: Option<Timestamp>,
    touched: Timestamp,
    scale: f64,
    frozen: bool,
}

impl Reading {
    fn at(shown: Timestamp, frozen: bool) -> Self {
        Self { shown, touched: Timestamp::now(), scale: 1.0, frozen }
    }

    fn now(self) -> Timestamp {
        if self.frozen {
            return self.shown;
        }
        let passed = Timestamp::now().duration_since(self.touched);
        plus(self.shown, scaled(passed, self.scale))
    }

    /// The same clock, which shows this instant from now on.
    fn showing(self, shown: Timestamp) -> Self {
        Self { shown, touched: Timestamp::now(), ..self }
    }
}

/// A time that is so many times as long, or the longest there is.
fn scaled(time: SignedDuration, scale: f64) -> SignedDuration {
    // Exact as it is for a clock that nobody has made faster.
    if scale.total_cmp(&1.0).is_eq() {
        return time;
    }
    SignedDuration::try_from_secs_f64(time.as_secs_f64() * scale).unwrap_or(SignedDuration::MAX)
}

impl Clock {
    pub(crate) fn new(start: ClockStart) -> Self {
        let reading = match start {
            ClockStart::Real => Reading::at(Timestamp::now(), false),
            ClockStart::Running(instant) => Reading::at(instant, false),
            ClockStart::Frozen(instant) => Reading::at(instant, true),
        };
        Self { reading: Mutex::new(reading), moved: OnceLock::new() }
    }

    /// What the clock is to do after each move: run the work that has fallen due.
    pub(crate) fn on_move(&self, work: impl Fn() + Send + Sync + 'static) {
        // The service sets this once, when it is made.
        let _ = self.moved.set(Box::new(work));
    }

    /// The time as the service sees it.
    pub fn now(&self) -> Timestamp {
        lock(&self.reading).now()
    }

    /// Whether it stands still.
    pub fn is_frozen(&self) -> bool {
        lock(&self.reading).frozen
    }

    /// How many seconds go by on it in one of the system's, while it runs.
    pub fn scale(&self) -> f64 {
        lock(&self.reading).scale
    }

    /// Moves the clock forward, and does everything that falls due on the way, in order.
    pub fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        self.change(|reading| reading.showing(plus(reading.now(), by)));
    }

    /// Sets the clock to an instant, also to an earlier one. A running clock runs on from there.
    pub fn set(&self, to: Timestamp) {
        self.change(|reading| reading.showing(to));
    }

    /// Stops the clock at the time that it shows now. [`advance`](Self::advance) and [`set`](Self::set) still move it.
    pub fn freeze(&self) {
        self.change(|reading| Reading { frozen: true, ..reading.showing(reading.now()) });
    }

    /// Lets a stopped clock run on from the time that it shows.
    pub fn resume(&self) {
        self.change(|reading| Reading { frozen: false, ..reading.showing(reading.now()) });
    }

    /// Makes the clock run so many times as fast as the system's, from the time that it shows. A clock that stands still goes on
    /// standing still; it runs at this pace once it is [resumed](Self::resume). What falls due is done in order and
    /// whole, however much of it comes at once.
    ///
    /// # Panics
    /// If `scale` is not a number above 0.
    pub fn run_at(&self, scale: f64) {
        assert!(scale.is_finite() && scale > 0.0, "a clock runs forward");
        self.change(|reading| Reading { scale, ..reading.showing(reading.now()) });
    }

    /// How it stands beside the system's, to be kept.
    pub(crate) fn kept(&self) -> Kept {
        let reading = *lock(&self.reading);
        // Within a second it is the system's own.
        let own = !reading.frozen
            && reading.scale.total_cmp(&1.0).is_eq()
            && reading.now().duration_since(Timestamp::now()).abs() < SignedDuration::from_secs(1);
        Kept {
            shown: (!own).then_some(reading.shown),
            touched: reading.touched,
            scale: reading.scale,
            frozen: reading.frozen,
        }
    }

    /// Stands again as it was kept; it has run on meanwhile, unless it stood still.
    pub(crate) fn stand(&self, kept: &Kept) {
        if let Some(shown) = kept.shown {
            *lock(&self.reading) =
                Reading { shown, touched: kept.touched, scale: kept.scale, frozen: kept.frozen };
        }
    }

    fn change(&self, change: impl FnOnce(Reading) -> Reading) {
        {
            let mut reading = lock(&self.reading);
            *reading = change(*reading);
        }
        if let Some(work) = self.moved.get() {
            work();
        }
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

/// An instant so much later, or the last one that can be written.
pub(crate) fn plus(instant: Timestamp, by: SignedDuration) -> Timestamp {
    instant.checked_add(by).unwrap_or(if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX })
}

/// What a service's clock shows when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockStart {
    /// The system's time, running.
    #[default]
    Real,
    /// This time, running from there.
    Running(Timestamp),
    /// This time, standing still until it is moved.
    Frozen(Timestamp),
}
