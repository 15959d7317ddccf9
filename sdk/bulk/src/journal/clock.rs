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
pub(crate) struct JobClock(Mutex<(UnixMillis, Instant)>);

impl JobClock {
    /// Creates a clock that starts at `start` or at the wall clock, whichever is later.
    pub(crate) fn starting_at(start: UnixMillis) -> Self {
        Self(Mutex::new((start.max(UnixMillis::now()), Instant::now())))
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> UnixMillis {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = last.1.elapsed();
        let now = last.0.after(elapsed).max(UnixMillis::now());
        if now > last.0 {
            *last = (now, Instant::now());
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_job_starts_no_earlier_than_the_newest_record_and_never_goes_back() {
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
