//! A clock that tests can move.
//!
//! The service never sleeps. Future work is put on a `Scheduler` with its due time, and runs when the clock has passed it: whenever a test moves
//! the clock, on the tick of a long-running mount, and, if little is due, at the start of every request. So a test can skip a day without
//! waiting, and a sandbox on the real clock is on time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::lock::lock;

/// The clock of a service, or of one of its accounts. It follows the system's time until it is moved, stopped or accelerated.
///
/// An account follows the service's clock until its own is changed. From then on, the account has a separate clock, to which changes of the service's
/// clock also apply.
#[derive(Clone)]
pub struct Clock {
    shared: Arc<Shared>,
    /// The name of the account; `None` for the clock of the service.
    account: Option<Arc<str>>,
}

struct Shared {
    readings: Mutex<Readings>,
    moved: OnceLock<Box<OnMove>>,
}

/// Runs the due jobs after a move of the clock of an account, or of all.
type OnMove = dyn Fn(Option<&str>) + Send + Sync;

struct Readings {
    service: Reading,
    /// The clocks of accounts that no longer follow the service's.
    own: BTreeMap<String, Reading>,
}

/// The state of a clock at its last change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// The time that it showed at the last change.
    shown: Timestamp,
    /// The system's time at the last change.
    changed_at: Timestamp,
    /// Seconds on this clock per second of system time, while it runs.
    scale: f64,
    frozen: bool,
    /// The time to which it was last advanced or set.
    #[serde(skip)]
    moved_to: Option<Timestamp>,
}

/// The persisted clocks of a service and its accounts. Without an instant, the service's clock follows the system's time.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredClock {
    shown: Option<Timestamp>,
    changed_at: Timestamp,
    scale: f64,
    frozen: bool,
    own: BTreeMap<String, Reading>,
}

/// The current time of a service's clock and of the system's.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub service: Timestamp,
    pub system: Timestamp,
}

impl Readings {
    fn reading(&self, account: Option<&str>) -> Reading {
        let own = account.filter(|_| !self.own.is_empty()).and_then(|account| self.own.get(account));
        own.copied().unwrap_or(self.service)
    }
}

impl Reading {
    /// `None` stands for the system's time.
    fn new(shown: Option<Timestamp>, frozen: bool) -> Self {
        let changed_at = Timestamp::now();
        Self { shown: shown.unwrap_or(changed_at), changed_at, scale: 1.0, frozen, moved_to: None }
    }

    pub(crate) fn now(self) -> Timestamp {
        self.to_clock_time(Timestamp::now())
    }

    /// Whether it shows the system's time, within a second.
    pub(crate) fn is_system_time(self) -> bool {
        let ahead = self.shown.duration_since(self.changed_at);
        !self.frozen && self.is_unscaled() && ahead.abs() < SignedDuration::from_secs(1)
    }

    fn is_unscaled(self) -> bool {
        self.scale.total_cmp(&1.0).is_eq()
    }

    /// The time shown at a given system time.
    fn to_clock_time(self, system: Timestamp) -> Timestamp {
        if self.frozen {
            return self.shown;
        }
        if self.shown == self.changed_at && self.is_unscaled() {
            return system;
        }
        saturating_add(self.shown, scale_duration(system.duration_since(self.changed_at), self.scale))
    }

    /// The system time at which the clock shows this instant; the latest timestamp if it never does.
    fn to_system_time(self, instant: Timestamp) -> Timestamp {
        if instant <= self.shown {
            return self.changed_at;
        }
        if self.frozen {
            return Timestamp::MAX;
        }
        saturating_add(self.changed_at, scale_duration(instant.duration_since(self.shown), 1.0 / self.scale))
    }

    /// The same clock, set to this instant.
    fn with_time(self, shown: Timestamp) -> Self {
        Self { shown, changed_at: Timestamp::now(), ..self }
    }

    /// The same clock, moved to this instant.
    fn moved_to(self, shown: Timestamp) -> Self {
        Self { moved_to: Some(shown), ..self.with_time(shown) }
    }
}

/// Multiplies a duration, saturating at the maximum.
fn scale_duration(time: SignedDuration, scale: f64) -> SignedDuration {
    // Exact for a clock at normal speed.
    if scale.total_cmp(&1.0).is_eq() {
        return time;
    }
    SignedDuration::try_from_secs_f64(time.as_secs_f64() * scale).unwrap_or(SignedDuration::MAX)
}

impl Clock {
    pub(crate) fn new(start: ClockStart) -> Self {
        let service = match start {
            ClockStart::Real => Reading::new(None, false),
            ClockStart::Running(instant) => Reading::new(Some(instant), false),
            ClockStart::Frozen(instant) => Reading::new(Some(instant), true),
        };
        let readings = Mutex::new(Readings { service, own: BTreeMap::new() });
        Self { shared: Arc::new(Shared { readings, moved: OnceLock::new() }), account: None }
    }

    /// The clock of an account of the same service.
    pub(crate) fn for_account(&self, account: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), account: Some(account.into()) }
    }

    /// Sets the callback to run after each move.
    pub(crate) fn on_move(&self, work: impl Fn(Option<&str>) + Send + Sync + 'static) {
        // The service sets this once, when it is created.
        let _ = self.shared.moved.set(Box::new(work));
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.reading().now()
    }

    /// Whether the clock was moved past this instant, rather than reaching it.
    pub(crate) fn skipped(&self, due: Timestamp) -> bool {
        self.reading().moved_to.is_some_and(|to| due <= to)
    }

    /// The time of work that was due at this instant: that instant if the clock [skipped](Self::skipped) it, and the current time otherwise.
    pub(crate) fn time_of(&self, due: Timestamp) -> Timestamp {
        if self.skipped(due) { due } else { self.now() }
    }

    /// Whether the clock is stopped.
    pub fn is_frozen(&self) -> bool {
        self.reading().frozen
    }

    /// Seconds on this clock per second of system time, while it runs.
    pub fn scale(&self) -> f64 {
        self.reading().scale
    }

    /// The name of the account whose clock this is.
    pub(crate) fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Whether this is an account's clock that no longer follows the service's.
    pub fn is_own(&self) -> bool {
        let own = &lock(&self.shared.readings).own;
        self.account.as_ref().is_some_and(|account| own.contains_key(&**account))
    }

    /// Moves the clock forward, and runs the jobs that become due, in order.
    pub fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        self.change(|reading| reading.moved_to(saturating_add(reading.now(), by)));
    }

    /// Sets the clock to an instant, even an earlier one. A running clock continues from there.
    pub fn set(&self, to: Timestamp) {
        self.change(|reading| reading.moved_to(to));
    }

    /// Stops the clock at its current time. [`advance`](Self::advance) and [`set`](Self::set) still move it.
    pub fn freeze(&self) {
        self.change(|reading| Reading { frozen: true, ..reading.with_time(reading.now()) });
    }

    /// Resumes a stopped clock from its current time.
    pub fn resume(&self) {
        self.change(|reading| Reading { frozen: false, ..reading.with_time(reading.now()) });
    }

    /// Sets the speed of the clock relative to the system's, from its current time. A stopped clock stays stopped; the speed applies once
    /// it is [resumed](Self::resume). Due jobs run completely and in order, however many become due together.
    ///
    /// # Panics
    /// If `scale` isn't a positive number.
    pub fn run_at(&self, scale: f64) {
        assert!(scale.is_finite() && scale > 0.0, "a clock runs forward");
        self.change(|reading| Reading { scale, ..reading.with_time(reading.now()) });
    }

    /// The current times of the service's clock and of the system, up to which jobs are due.
    pub(crate) fn due(&self) -> Now {
        let system = Timestamp::now();
        Now { service: lock(&self.shared.readings).service.to_clock_time(system), system }
    }

    /// Whether any account's clock is separate from the service's.
    pub(crate) fn has_own(&self) -> bool {
        !lock(&self.shared.readings).own.is_empty()
    }

    /// The system time at which this account's separate clock shows an instant; `None` if it follows the service's.
    pub(crate) fn to_system_time(&self, instant: Timestamp) -> Option<Timestamp> {
        let readings = lock(&self.shared.readings);
        Some(readings.own.get(self.account.as_deref()?)?.to_system_time(instant))
    }

    /// Makes the account follow the service's clock again.
    pub(crate) fn reset(&self) {
        if let Some(account) = &self.account {
            lock(&self.shared.readings).own.remove(&**account);
        }
    }

    /// Makes all accounts follow the service's clock again.
    pub(crate) fn reset_all(&self) {
        lock(&self.shared.readings).own.clear();
    }

    /// The clocks relative to system time, for persistence.
    #[doc(hidden)]
    pub fn to_stored(&self) -> StoredClock {
        let readings = lock(&self.shared.readings);
        let reading = readings.service;
        StoredClock {
            shown: (!reading.is_system_time()).then_some(reading.shown),
            changed_at: reading.changed_at,
            scale: reading.scale,
            frozen: reading.frozen,
            own: readings.own.clone(),
        }
    }

    /// Restores persisted clocks; running ones have advanced in the meantime.
    #[doc(hidden)]
    pub fn restore(&self, stored: StoredClock) {
        let StoredClock { shown, changed_at, scale, frozen, own } = stored;
        let mut readings = lock(&self.shared.readings);
        if let Some(shown) = shown {
            readings.service = Reading { shown, changed_at, scale, frozen, moved_to: None };
        }
        readings.own = own;
    }

    pub(crate) fn reading(&self) -> Reading {
        lock(&self.shared.readings).reading(self.account.as_deref())
    }

    fn change(&self, change: impl Fn(Reading) -> Reading) {
        {
            let mut readings = lock(&self.shared.readings);
            if let Some(account) = &self.account {
                let changed = change(readings.reading(Some(account)));
                readings.own.insert((**account).to_owned(), changed);
            } else {
                readings.service = change(readings.service);
                for own in readings.own.values_mut() {
                    *own = change(*own);
                }
            }
        }
        if let Some(work) = self.shared.moved.get() {
            work(self.account());
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
