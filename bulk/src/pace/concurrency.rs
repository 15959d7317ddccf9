//! The bound on requests in flight: lowered while timeouts rise, raised again without them.

use std::time::Duration;

/// The weight of one response in the moving average of timeouts.
const WEIGHT: f64 = 1.0 / 16.0;
/// The share of timeouts that lowers the bound: two in close succession, not one.
const SHARE: f64 = 0.1;
/// The number of responses without a timeout in between that raise the bound by one.
const RAISE_AFTER: u32 = 16;

/// A bound between one and its configured maximum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concurrency {
    max: usize,
    bound: usize,
    timeouts: f64,
    answers: u32,
    /// When the bound was lowered; a timeout of a request sent before belongs to the same incident.
    lowered_at: Option<Duration>,
}

impl Concurrency {
    pub(super) fn new(max: usize) -> Self {
        let max = max.max(1);
        Self { max, bound: max, timeouts: 0.0, answers: 0, lowered_at: None }
    }

    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    pub(super) fn answered(&mut self) {
        self.timeouts -= self.timeouts * WEIGHT;
        if self.bound == self.max {
            return;
        }
        self.answers += 1;
        if self.answers >= RAISE_AFTER {
            self.answers = 0;
            self.bound += 1;
        }
    }

    pub(super) fn timed_out(&mut self, sent_at: Duration, now: Duration) {
        self.timeouts += (1.0 - self.timeouts) * WEIGHT;
        self.answers = 0;
        if self.timeouts > SHARE && self.lowered_at.is_none_or(|lowered_at| sent_at > lowered_at) {
            self.bound = (self.bound / 2).max(1);
            self.lowered_at = Some(now);
        }
    }
}
