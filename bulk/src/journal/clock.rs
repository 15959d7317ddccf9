//! The time that the journal records, and the clock of a running job.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UnixMillis(pub(crate) u64);

impl UnixMillis {
    /// Reads the wall clock. A time before the epoch counts as the epoch.
    pub(crate) fn now() -> Self {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(millis(elapsed))
    }

    /// Returns the time elapsed since `earlier`, or `None` if `earlier` is later.
    pub(crate) fn since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_millis)
    }

    /// Returns the time `delay` later.
    pub(crate) fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(millis(delay)))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A clock that follows the wall clock and never goes back.
///
/// The wall clock alone can be set back during a run, and the monotonic clock alone stops while a laptop sleeps; either would make the age of an
/// idempotency key too small. This clock advances by whichever advanced more.
#[derive(Debug)]
pub(crate) struct JobClock(Mutex<Anchor>);

/// A reading of the clock, from which later ones are measured.
#[derive(Debug)]
struct Anchor {
    time: UnixMillis,
    read: Instant,
}

impl Anchor {
    /// Returns the time at these readings of the wall clock and of the monotonic clock.
    fn advance(&mut self, wall: UnixMillis, monotonic: Instant) -> UnixMillis {
        let time = self.time.after(monotonic.duration_since(self.read));
        // Otherwise, the anchor stays: moving it would lose a part of a millisecond each time.
        if wall > time {
            *self = Self { time: wall, read: monotonic };
        }
        time.max(wall)
    }
}

impl JobClock {
    /// Creates a clock that starts at `start` or at the wall clock, whichever is later.
    pub(crate) fn starting_at(start: UnixMillis) -> Self {
        Self(Mutex::new(Anchor { time: start.max(UnixMillis::now()), read: Instant::now() }))
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> UnixMillis {
        let mut anchor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        anchor.advance(UnixMillis::now(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_job_advances_by_the_clock_that_advanced_more() {
        let start = Instant::now();
        let mut anchor = Anchor { time: UnixMillis(1_000), read: start };
        let readings = [
            // The wall clock, the monotonic clock in microseconds, the time.
            (1_000, 0, 1_000),
            (1_001, 1_500, 1_001),
            // The wall clock is set back: parts of a millisecond add up.
            (900, 2_000, 1_002),
            (900, 3_500, 1_003),
            (900, 5_000, 1_005),
            // The machine slept.
            (9_000, 6_000, 9_000),
            (900, 6_999, 9_000),
            (900, 8_000, 9_002),
        ];
        for (wall, micros, time) in readings {
            let now = anchor.advance(UnixMillis(wall), start + Duration::from_micros(micros));
            assert_eq!(now, UnixMillis(time), "at {wall} and {micros}");
        }
    }

    #[test]
    fn the_clock_of_a_job_starts_no_earlier_than_its_newest_record_and_never_moves_backward() {
        let ahead = UnixMillis::now().after(Duration::from_hours(1));
        let clock = JobClock::starting_at(ahead);
        let mut last = clock.now();
        assert!(last >= ahead);
        for _ in 0..1_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(JobClock::starting_at(UnixMillis(0)).now() > UnixMillis(1_700_000_000_000));
    }
}
