//! Time that a test can move, and work that falls due.
//!
//! Nothing in the service sleeps. What should happen later is noted on an [`Agenda`] with the instant at which it is
//! due, and done when the clock is found to have passed it: at the start of every request, whenever a test moves the
//! clock, and on the tick of the long-running mount. So a test sees a day pass without waiting, and a sandbox on the
//! real clock does its work on time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::lock::lock;
use crate::settings::ClockStart;

/// The service's clock. It runs with the system's time until it is moved or stopped.
pub struct Clock {
    reading: Mutex<Reading>,
    moved: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Clone, Copy)]
enum Reading {
    Running { ahead: SignedDuration },
    Frozen(Timestamp),
}

impl Reading {
    fn running_from(instant: Timestamp) -> Self {
        Self::Running { ahead: instant.duration_since(Timestamp::now()) }
    }

    fn now(self) -> Timestamp {
        match self {
            Self::Running { ahead } => plus(Timestamp::now(), ahead),
            Self::Frozen(instant) => instant,
        }
    }
}

impl Clock {
    pub(crate) fn new(start: ClockStart) -> Self {
        let reading = match start {
            ClockStart::Real => Reading::Running { ahead: SignedDuration::ZERO },
            ClockStart::Running(instant) => Reading::running_from(instant),
            ClockStart::Frozen(instant) => Reading::Frozen(instant),
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

    /// Moves the clock forward, and does everything that falls due on the way, in order.
    pub fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        self.change(|reading| match reading {
            Reading::Running { ahead } => Reading::Running { ahead: ahead.saturating_add(by) },
            Reading::Frozen(instant) => Reading::Frozen(plus(instant, by)),
        });
    }

    /// Sets the clock to an instant, also to an earlier one. A running clock runs on from there.
    pub fn set(&self, to: Timestamp) {
        self.change(|reading| match reading {
            Reading::Running { .. } => Reading::running_from(to),
            Reading::Frozen(_) => Reading::Frozen(to),
        });
    }

    /// Stops the clock at the time that it shows now. [`advance`](Self::advance) and [`set`](Self::set) still move it.
    pub fn freeze(&self) {
        self.change(|reading| Reading::Frozen(reading.now()));
    }

    /// Lets a stopped clock run on from the time that it shows.
    pub fn resume(&self) {
        self.change(|reading| Reading::running_from(reading.now()));
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

/// Work that waits for its time, earliest first; of the same instant, first noted first.
pub(crate) struct Agenda<W> {
    waiting: Mutex<Waiting<W>>,
}

struct Waiting<W> {
    heap: BinaryHeap<Entry<W>>,
    noted: u64,
}

struct Entry<W> {
    due: Timestamp,
    order: u64,
    work: W,
}

impl<W> Agenda<W> {
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::new(Waiting { heap: BinaryHeap::new(), noted: 0 }) }
    }

    pub(crate) fn note(&self, due: Timestamp, work: W) {
        let mut waiting = lock(&self.waiting);
        let order = waiting.noted;
        waiting.noted += 1;
        waiting.heap.push(Entry { due, order, work });
    }

    /// Takes the next piece of work that is due at `now`, with the instant at which it was due.
    pub(crate) fn take_due(&self, now: Timestamp) -> Option<(Timestamp, W)> {
        let mut waiting = lock(&self.waiting);
        if waiting.heap.peek()?.due > now {
            return None;
        }
        waiting.heap.pop().map(|entry| (entry.due, entry.work))
    }

    pub(crate) fn clear(&self) {
        lock(&self.waiting).heap.clear();
    }
}

impl<W> Ord for Entry<W> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: a binary heap hands out its greatest entry first.
        (other.due, other.order).cmp(&(self.due, self.order))
    }
}

impl<W> PartialOrd for Entry<W> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<W> PartialEq for Entry<W> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<W> Eq for Entry<W> {}
