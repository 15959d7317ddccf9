//! The pace that a job's workers share, in one value that they update by compare-and-set.
//!
//! Each worker reserves slots, sends, and reports its observations with its next update, so the workers together learn the limit like a single
//! sender. All instants are in the queue's time, which each worker follows. A worker whose clock is behind waits; one whose clock is ahead reserves
//! no more slots than the others, since every reservation advances the pace by a whole interval.

use std::time::Duration;

use idempost::call::{RateLimiter, RateSignal};
use serde::{Deserialize, Serialize};

use super::controller::{PauseReason, initial_limiter, sustained_rate};

/// How far ahead slots are reserved. A longer wait is split, so that a new rate or a pause applies soon.
const RESERVATION_WINDOW: Duration = Duration::from_secs(1);
/// The time whose slots one update reserves: at high rates, each worker would otherwise wait for one update per request.
const GROUP: Duration = Duration::from_millis(50);
/// The maximum number of slots per update.
const MAX_GROUP: usize = 64;
/// After this time without any request, the rate restarts from the learned limit.
const IDLE: Duration = Duration::from_secs(30);

/// The shared state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SharedPace {
    /// The latest instant of any update. A clock behind it counts as being at this instant.
    latest: Duration,
    /// The latest slot.
    slot: Duration,
    pace: RateLimiter,
    /// The reason for the pause, for messages.
    reason: String,
}

/// The state for progress reports.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SharedSnapshot {
    pub(crate) rate: Option<f64>,
    pub(crate) learned_limit: Option<f64>,
    /// The end of the pause, and its reason.
    pub(crate) paused: Option<(Duration, String)>,
}

impl SharedPace {
    /// Creates the initial state for senders that know nothing about the service, or only a rate learned earlier.
    pub(crate) fn new(now: Duration, learned: Option<f64>) -> Self {
        Self { latest: now, slot: now, pace: initial_limiter(learned, now), reason: String::new() }
    }

    /// Reserves slots: the instants at which requests may be sent.
    ///
    /// # Errors
    /// No slot is near. Contains when to try again.
    pub(crate) fn reserve(&mut self, now: Duration, max_rps: Option<f64>) -> Result<Vec<Duration>, Duration> {
        let now = self.advance(now);
        if let Some(until) = self.paused_until(now) {
            return Err(until);
        }
        if now.saturating_sub(self.slot) > IDLE {
            self.pace = initial_limiter(self.pace.limit(), now);
        }
        self.pace.set_max(max_rps.map(sustained_rate));
        let first = self.pace.ready_at(0, now);
        if first > now + RESERVATION_WINDOW {
            return Err(first.saturating_sub(RESERVATION_WINDOW / 2));
        }
        let mut slots = Vec::new();
        let mut slot = first;
        while slots.len() < MAX_GROUP && slot <= first + GROUP && self.pace.take(slot).is_ok() {
            self.slot = slot;
            slots.push(slot);
            slot = self.pace.ready_at(0, slot);
        }
        Ok(slots)
    }

    /// Updates the rate from a response to the request in a slot.
    pub(crate) fn observe(&mut self, seen: &RateSignal, now: Duration) {
        let now = self.advance(now);
        let before = self.pace.paused_until();
        self.pace.observe(seen, 1, now);
        if self.pace.paused_until() > before {
            self.reason = PauseReason::RateLimited.to_string();
        }
    }

    /// Pauses all workers, unless a longer pause is in effect.
    pub(crate) fn pause(&mut self, until: Duration, reason: &str) {
        if self.pace.paused_until() < until {
            self.pace.pause_until(until);
            reason.clone_into(&mut self.reason);
        }
    }

    /// Returns the latest time by the queue's clock that a worker has used.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// Returns the end of the current pause.
    pub(crate) fn paused_until(&self, now: Duration) -> Option<Duration> {
        Some(self.pace.paused_until()).filter(|until| *until > now)
    }

    /// Returns the state for progress reports.
    pub(crate) fn snapshot(&self, now: Duration) -> SharedSnapshot {
        SharedSnapshot {
            rate: self.pace.rate(now),
            learned_limit: self.pace.limit(),
            paused: self.paused_until(now).map(|until| (until, self.reason.clone())),
        }
    }

    fn advance(&mut self, now: Duration) -> Duration {
        self.latest = self.latest.max(now);
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use idempost::call::RateVerdict;

    use super::*;

    const START: Duration = Duration::from_hours(500_000);

    /// A service that rejects more than `limit` requests per window of a second.
    struct Service {
        limit: usize,
        accepted: Vec<Duration>,
        rejected: u32,
    }

    impl Service {
        fn request(&mut self, at: Duration) -> RateVerdict {
            let window =
                self.accepted.iter().rev().take_while(|accepted| accepted.as_secs() == at.as_secs()).count();
            if window < self.limit {
                self.accepted.push(at);
                return RateVerdict::Admitted;
            }
            self.rejected += 1;
            RateVerdict::Throttled { retry_after: Some(Duration::from_secs(1)) }
        }
    }

    /// Runs workers that take turns, passing the state between them as text.
    fn run(service: &mut Service, workers: usize, seconds: u64, max_rps: Option<f64>) -> SharedPace {
        let mut text = serde_json::to_vec(&SharedPace::new(START, None)).unwrap();
        let mut pending = vec![Vec::<RateSignal>::new(); workers];
        let mut now = START;
        let mut turn = 0;
        while now < START + Duration::from_secs(seconds) {
            let mut pace: SharedPace = serde_json::from_slice(&text).unwrap();
            turn = (turn + 1) % workers;
            for seen in pending[turn].drain(..) {
                pace.observe(&seen, now);
            }
            match pace.reserve(now, max_rps) {
                Ok(slots) => {
                    for slot in slots {
                        let verdict = service.request(slot);
                        pending[turn].push(RateSignal::new(slot, verdict, &HeaderMap::new()));
                        now = now.max(slot);
                    }
                }
                Err(until) => now = now.max(until.min(now + Duration::from_millis(100))),
            }
            text = serde_json::to_vec(&pace).unwrap();
        }
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn workers_together_reach_an_unknown_limit() {
        for limit in [5_u32, 20, 100] {
            let mut service = Service { limit: limit as usize, accepted: Vec::new(), rejected: 0 };
            let pace = run(&mut service, 3, 300, None);
            let accepted = f64::from(u32::try_from(service.accepted.len()).unwrap());
            let share = accepted / (f64::from(limit) * 300.0);
            let rejected = f64::from(service.rejected) / accepted;
            assert!(
                share > 0.85 && rejected < 0.02,
                "{limit}/s: {share} accepted, {rejected} rejected, {pace:?}"
            );
        }
    }

    #[test]
    fn workers_together_stay_within_the_limit_that_the_owner_set() {
        let mut service = Service { limit: usize::MAX, accepted: Vec::new(), rejected: 0 };
        run(&mut service, 3, 60, Some(20.0));
        for second in 0..60 {
            let from = START + Duration::from_secs(second);
            let sent = service
                .accepted
                .iter()
                .filter(|at| **at >= from && **at < from + Duration::from_secs(1))
                .count();
            assert!(sent <= 20, "{sent} in second {second}");
        }
        assert!(service.accepted.len() > 1_000);
    }

    #[test]
    fn a_pause_holds_for_all_workers_and_only_a_longer_one_replaces_it() {
        let mut pace = SharedPace::new(START, Some(10.0));
        pace.pause(START + Duration::from_mins(1), "quota");
        pace.pause(START + Duration::from_secs(5), "shorter");
        assert_eq!(pace.reserve(START + Duration::from_secs(6), None), Err(START + Duration::from_mins(1)));
        assert!(pace.reserve(START + Duration::from_mins(1), None).is_ok());
    }

    #[test]
    fn the_rate_of_an_earlier_job_is_used_again_after_idle_time() {
        let mut service = Service { limit: 20, accepted: Vec::new(), rejected: 0 };
        let mut pace = run(&mut service, 2, 60, None);
        let before = pace.snapshot(START).learned_limit.unwrap();
        let later = START + Duration::from_hours(5);
        pace.reserve(later, None).unwrap();
        assert!((pace.snapshot(later).rate.unwrap() - before).abs() < before * 0.2);
    }
}
