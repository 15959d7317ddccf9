//! The retry budget: retries after failures are limited to a small share of all requests, so that they don't worsen an overload.

use std::time::Duration;

/// The capacity of the bucket, in retries.
const CAPACITY: f64 = 100.0;
/// The retries that each request adds to the bucket.
const PER_REQUEST: f64 = 0.1;
/// The retries that each second adds: at the end of a job, only retries may be left, and no other request fills the bucket.
const PER_SECOND: f64 = 0.1;

/// A token bucket of retries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retries {
    tokens: f64,
    filled_at: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { tokens: CAPACITY, filled_at: Duration::ZERO }
    }
}

impl Retries {
    pub(super) fn record_sent(&mut self) {
        self.add(PER_REQUEST);
    }

    /// Takes a retry, or returns the latest time at which the next one is available.
    pub(super) fn take(&mut self, now: Duration) -> Result<(), Duration> {
        self.add(now.saturating_sub(self.filled_at).as_secs_f64() * PER_SECOND);
        self.filled_at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(now + Duration::from_secs_f64((1.0 - self.tokens) / PER_SECOND) + Duration::from_millis(1))
    }

    pub(super) fn refund(&mut self) {
        self.add(1.0);
    }

    fn add(&mut self, tokens: f64) {
        self.tokens = (self.tokens + tokens).min(CAPACITY);
    }
}
