//! The limit on requests in flight: lowered while timeouts increase, raised again once they stop.

use std::time::Duration;

/// The weight of one response in the moving average of timeouts.
const WEIGHT: f64 = 1.0 / 16.0;
/// The share of timeouts at which the limit is lowered: two in close succession reach it, one doesn't.
const SHARE: f64 = 0.1;
/// The number of consecutive responses without a timeout that raise the limit by one.
const RAISE_AFTER: u32 = 16;

/// A limit between one and the configured maximum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concurrency {
    max: usize,
    bound: usize,
    timeouts: f64,
    answers: u32,
    /// When the limit was lowered. A timeout of a request sent before that belongs to the same incident.
    lowered_at: Option<Duration>,
}

impl Concurrency {
    pub(super) fn new(max: usize) -> Self {
        let max = max.max(1);
        Self { max, bound: max, timeouts: 0.0, answers: 0, lowered_at: None }
    }

    pub(super) fn limit(&self) -> usize {
        self.bound
    }

    pub(super) fn record_response(&mut self) {
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
