//! A clock that tests can move.
//!
//! The service never sleeps. Future work is put on a `Scheduler` with its due time, and runs when the clock has passed it: whenever a test moves
//! the clock, on the tick of a long-running mount, and, for little work, at the start of every request. So a test can skip a day without
//! waiting, and a sandbox on the real clock is on time.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::lock::lock;

/// The service's clock. It follows the system's time until it is moved, stopped or accelerated.
pub struct Clock {
    reading: Mutex<Reading>,
    moved: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Clone, Copy)]
struct Reading {
    /// The time that it showed at the last change.
    shown: Timestamp,
    /// The system's time at the last change.
    changed_at: Timestamp,
    /// Seconds on this clock per second of the system's, while it runs.
    scale: f64,
    frozen: bool,
}

/// A persisted clock. Without an instant it follows the system's time.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredClock {
    shown: Option<Timestamp>,
    changed_at: Timestamp,
    scale: f64,
    frozen: bool,
}

impl Reading {
    fn at(shown: Timestamp, frozen: bool) -> Self {
        Self { shown, changed_at: Timestamp::now(), scale: 1.0, frozen }
    }

    fn now(self) -> Timestamp {
        if self.frozen {
            return self.shown;
        }
        let passed = Timestamp::now().duration_since(self.changed_at);
        saturating_add(self.shown, scaled(passed, self.scale))
    }

    /// The same clock, set to this instant.
    fn showing(self, shown: Timestamp) -> Self {
        Self { shown, changed_at: Timestamp::now(), ..self }
    }
}

/// Multiplies a duration, saturating at the maximum.
fn scaled(time: SignedDuration, scale: f64) -> SignedDuration {
    // Exact for a clock at normal speed.
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

    /// Sets the callback of each move: it runs the due jobs.
    pub(crate) fn on_move(&self, work: impl Fn() + Send + Sync + 'static) {
        // The service sets this once, when it is created.
        let _ = self.moved.set(Box::new(work));
    }

    /// The current time of the service.
    pub fn now(&self) -> Timestamp {
        lock(&self.reading).now()
    }

    /// Whether the clock is stopped.
    pub fn is_frozen(&self) -> bool {
        lock(&self.reading).frozen
    }

    /// Seconds on this clock per second of the system's, while it runs.
    pub fn scale(&self) -> f64 {
        lock(&self.reading).scale
    }

    /// Moves the clock forward, and runs the jobs that become due, in order.
    pub fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        self.change(|reading| reading.showing(saturating_add(reading.now(), by)));
    }

    /// Sets the clock to an instant, even an earlier one. A running clock continues from there.
    pub fn set(&self, to: Timestamp) {
        self.change(|reading| reading.showing(to));
    }

    /// Stops the clock at its current time. [`advance`](Self::advance) and [`set`](Self::set) still move it.
    pub fn freeze(&self) {
        self.change(|reading| Reading { frozen: true, ..reading.showing(reading.now()) });
    }

    /// Resumes a stopped clock from its current time.
    pub fn resume(&self) {
        self.change(|reading| Reading { frozen: false, ..reading.showing(reading.now()) });
    }

    /// Sets the speed of the clock relative to the system's, from its current time. A stopped clock stays stopped; the speed applies once
    /// it is [resumed](Self::resume). Due jobs run completely and in order, however many become due together.
    ///
    /// # Panics
    /// If `scale` isn't a positive number.
    pub fn run_at(&self, scale: f64) {
        assert!(scale.is_finite() && scale > 0.0, "a clock runs forward");
        self.change(|reading| Reading { scale, ..reading.showing(reading.now()) });
    }

    /// The clock relative to the system's, for persistence.
    #[doc(hidden)]
    pub fn stored(&self) -> StoredClock {
        let reading = *lock(&self.reading);
        // Within a second it counts as the system's own.
        let own = !reading.frozen
            && reading.scale.total_cmp(&1.0).is_eq()
            && reading.now().duration_since(Timestamp::now()).abs() < SignedDuration::from_secs(1);
        StoredClock {
            shown: (!own).then_some(reading.shown),
            changed_at: reading.changed_at,
            scale: reading.scale,
            frozen: reading.frozen,
        }
    }

    /// Restores a persisted clock; a running clock has advanced since.
    #[doc(hidden)]
    pub fn restore(&self, stored: &StoredClock) {
        if let Some(shown) = stored.shown {
            *lock(&self.reading) =
                Reading { shown, changed_at: stored.changed_at, scale: stored.scale, frozen: stored.frozen };
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

/// Adds a duration, saturating at the last valid timestamp.
pub fn saturating_add(instant: Timestamp, by: SignedDuration) -> Timestamp {
    instant.checked_add(by).unwrap_or(if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX })
}

/// The initial time of a service's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockStart {
    /// The system's time, running.
    #[default]
    Real,
    /// This time, running from there.
    Running(Timestamp),
    /// This time, stopped until it is moved.
    Frozen(Timestamp),
}
