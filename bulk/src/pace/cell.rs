//! The GCRA (generic cell rate algorithm) that spaces requests at a rate that may change between any two of them.
//!
//! # Why it stays within a rate
//!
//! The state is one instant, `last`: the theoretical sending time of the latest request. A request may be sent from `last + T` on, and
//! then `last = max(last + T, now − τ)`. Every request thus advances `last` by at least T, and `last` is never after the
//! clock and, just after a request, never more than τ behind it. The first and the k-th request in a window of length W therefore have
//! (k − 1) · T ≤ last(k) − last(1) < W + τ, so at most ⌈(W + τ) / T⌉ requests are sent in any window, wherever it begins. T belongs to
//! the later request of each pair, so this holds for the largest rate of the window. With T = [`STRETCH`] / n at most ⌈n⌉
//! requests leave in any second.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// τ: how late a request may be sent without losing its slot. Absorbs the timer's granularity.
pub(super) const TOLERANCE: Duration = Duration::from_millis(10);
/// Stretches the interval of a rate that must never be exceeded, by the tolerance relative to a second.
pub(super) const STRETCH: f64 = 1.01;

/// The state of the GCRA.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cell {
    last: Option<Duration>,
}

/// The slot of one request: `last` before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    before: Option<Duration>,
    after: Duration,
}

impl Cell {
    /// Returns when the next request may be sent.
    pub(super) fn ready_at(&self, interval: Duration) -> Duration {
        self.last.map_or(Duration::ZERO, |last| last.saturating_add(interval))
    }

    /// Takes the slot of a request that is sent now, at or after [`ready_at`](Self::ready_at).
    pub(super) fn take(&mut self, now: Duration, interval: Duration) -> Slot {
        let before = self.last;
        let after =
            before.map_or(now, |last| (last.saturating_add(interval)).max(now.saturating_sub(TOLERANCE)));
        self.last = Some(after);
        Slot { before, after }
    }

    /// Returns an unused slot, unless a later request was sent: then the slot is in the past, and using it as well would be a burst.
    pub(super) fn give_back(&mut self, slot: Slot) {
        if self.last == Some(slot.after) {
            self.last = slot.before;
        }
    }

    /// Postpones the next request until `at` at the earliest.
    pub(super) fn postpone(&mut self, at: Duration, interval: Duration) {
        let last = at.saturating_sub(interval);
        self.last = Some(self.last.map_or(last, |earlier| earlier.max(last)));
    }
}

/// Returns the interval of a rate in requests per second.
pub(super) fn interval(rate: f64) -> Duration {
    const LONGEST: Duration = Duration::from_hours(24 * 365);
    Duration::try_from_secs_f64(rate.recip()).map_or(LONGEST, |interval| interval.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_window_of_a_second_holds_more_requests_than_the_rate(
            rate in 0.2_f64..2_000.0,
            delays in prop::collection::vec(0_u64..30_000, 1..400),
        ) {
            let interval = interval(rate / STRETCH);
            let (mut cell, mut now, mut sent) = (Cell::default(), Duration::ZERO, Vec::new());
            for delay in delays {
                now = now.max(cell.ready_at(interval)) + Duration::from_micros(delay);
                cell.take(now, interval);
                sent.push(now);
            }
            let bound = rate.ceil();
            for (first, start) in sent.iter().enumerate() {
                let count = sent[first..].iter().take_while(|at| at.saturating_sub(*start) < Duration::from_secs(1)).count();
                prop_assert!(f64::from(u32::try_from(count).unwrap()) <= bound, "{count} at {rate}/s");
            }
        }
    }

    #[test]
    fn a_returned_slot_is_available_again_until_a_later_request_is_sent() {
        let interval = Duration::from_secs(1);
        let mut cell = Cell::default();
        let first = cell.take(Duration::ZERO, interval);
        cell.give_back(first);
        assert_eq!(cell.ready_at(interval), Duration::ZERO);
        let first = cell.take(Duration::ZERO, interval);
        cell.take(Duration::from_secs(1), interval);
        cell.give_back(first);
        assert_eq!(cell.ready_at(interval), Duration::from_secs(2));
    }

    #[test]
    fn a_new_rate_applies_to_the_next_request() {
        let mut cell = Cell::default();
        cell.take(Duration::ZERO, Duration::from_secs(1));
        assert_eq!(cell.ready_at(Duration::from_millis(250)), Duration::from_millis(250));
        cell.postpone(Duration::from_secs(3), Duration::from_millis(250));
        assert_eq!(cell.ready_at(Duration::from_millis(250)), Duration::from_secs(3));
    }
}
