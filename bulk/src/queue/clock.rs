//! The queue's clock, followed between two looks at it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// A smaller difference than this is the noise of the connection, and isn't corrected.
const NOISE: Duration = Duration::from_millis(100);

/// A clock that follows the queue's clock. The ages of intents and the slots of the shared rate use it.
///
/// Between two looks it advances by the monotonic or the wall clock of this machine, whichever advanced more: the first may stand still while
/// the machine sleeps, the second may be set back, and either would make an age too small.
#[derive(Debug)]
pub(crate) struct QueueClock(Mutex<Look>);

#[derive(Clone, Copy, Debug)]
struct Look {
    queue: Duration,
    monotonic: Instant,
    wall: SystemTime,
}

impl Look {
    fn at(queue: Duration) -> Self {
        Self { queue, monotonic: Instant::now(), wall: SystemTime::now() }
    }

    fn now(&self) -> Duration {
        self.queue + self.monotonic.elapsed().max(self.wall.elapsed().unwrap_or_default())
    }
}

impl QueueClock {
    /// Creates a clock from a look at the queue's clock: the time since the Unix epoch.
    pub(crate) fn new(queue: Duration) -> Self {
        Self(Mutex::new(Look::at(queue)))
    }

    /// Corrects the clock by a new look.
    pub(crate) fn correct(&self, queue: Duration) {
        let mut look = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if look.now().abs_diff(queue) > NOISE {
            *look = Look::at(queue);
        }
    }

    /// Returns the time since the Unix epoch.
    pub(crate) fn now(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_and_follows_only_real_differences() {
        let start = Duration::from_secs(1_000);
        let clock = QueueClock::new(start);
        assert!(clock.now() >= start);
        clock.correct(start.saturating_sub(Duration::from_millis(50)));
        assert!(clock.now() >= start);
        clock.correct(start + Duration::from_secs(9));
        assert!(clock.now() >= start + Duration::from_secs(9));
    }
}
