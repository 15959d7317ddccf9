//! The pace that the workers of a job share: the learned rate, the GCRA cell and the pause in one value that they update by compare-and-set.
//!
//! Each worker reserves slots, sends, and reports what it saw with its next update; so the workers together learn the limit as one sender does.
//! All instants are those of the queue's clock, which each worker follows; a worker that is behind waits, and one that is ahead reserves no more
//! slots than the others, since every reservation moves the cell by a whole interval.

use std::time::Duration;

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::{
    cell::{Cell, STRETCH, interval},
    controller::{DEFAULT_PAUSE, MAX_PAUSE, OWN_SHARE, Observation},
    headers::Announced,
    rate::{Announcement, Rate},
};

/// How far ahead slots are reserved. A longer wait is repeated, so that a new rate or a pause applies soon.
const AHEAD: Duration = Duration::from_secs(1);
/// The slots of one update: at high rates, each worker would otherwise wait for an update per request.
const GROUP: Duration = Duration::from_millis(50);
/// The maximum number of slots of one update.
const MAX_GROUP: usize = 64;
/// After this time without any request, the rate restarts from the learned limit.
const IDLE: Duration = Duration::from_secs(30);

const WINDOW_EXHAUSTED: &str = "the rate limit of the service is used up";

/// The shared state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SharedPace {
    /// The instant that the other instants count from.
    epoch: Duration,
    /// The latest instant of an update; a clock that is behind it stands still.
    latest: Duration,
    rate: Rate,
    cell: Cell,
    paused_until: Option<Duration>,
    /// The reason of the pause, for messages.
    #[serde(default)]
    reason: String,
}

/// What a worker saw.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The slot of the request.
    slot: Duration,
    observation: Observation,
    announced: Option<Announced>,
}

impl Seen {
    /// Describes the response to the request of a slot.
    pub(crate) fn new(slot: Duration, observation: Observation, headers: &HeaderMap) -> Self {
        Self { slot, observation, announced: Announced::read(headers) }
    }

    /// Whether other workers should know at once.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self.observation, Observation::Throttled { .. })
            || self.announced.is_some_and(|announced| announced.exhausted.is_some())
    }
}

/// The state for progress reports.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SharedSnapshot {
    pub(crate) rate: f64,
    pub(crate) learned_limit: Option<f64>,
    /// The end of the pause, and its reason.
    pub(crate) paused: Option<(Duration, String)>,
}

impl SharedPace {
    /// Creates the state of senders that know nothing about the service, or a rate that was learned before.
    pub(crate) fn new(now: Duration, learned: Option<f64>) -> Self {
        Self {
            epoch: now,
            latest: now,
            rate: Rate::new(learned, None),
            cell: Cell::default(),
            paused_until: None,
            reason: String::new(),
        }
    }

    /// Reserves slots: the instants at which requests may be sent.
    ///
    /// # Errors
    /// No slot is near: returns when to try again.
    pub(crate) fn reserve(&mut self, now: Duration, max_rps: Option<f64>) -> Result<Vec<Duration>, Duration> {
        let now = self.advance(now);
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return Err(until);
        }
        self.paused_until = None;
        self.restart_when_idle(now);
        self.rate.set_max(max_rps.map(|max| max / STRETCH));
        let local = now.saturating_sub(self.epoch);
        let interval = interval(self.rate.current());
        let first = self.cell.ready_at(interval).max(local);
        if first > local + AHEAD {
            return Err((self.epoch + first).saturating_sub(AHEAD / 2));
        }
        let mut slots = Vec::new();
        let mut slot = first;
        while slots.len() < MAX_GROUP && (slots.is_empty() || slot <= first + GROUP) {
            self.cell.take(slot, interval);
            self.rate.sent(slot);
            slots.push(self.epoch + slot);
            slot = self.cell.ready_at(interval).max(local);
        }
        Ok(slots)
    }

    /// Learns from a response.
    pub(crate) fn observe(&mut self, seen: &Seen, now: Duration) {
        let now = self.advance(now);
        let (local, slot) = (now.saturating_sub(self.epoch), seen.slot.saturating_sub(self.epoch));
        if let Some(announced) = seen.announced {
            self.announced(announced, now);
        }
        match seen.observation {
            Observation::Accepted | Observation::Other => self.rate.accepted(slot, local),
            Observation::Throttled { retry_after } => {
                let until = now + retry_after.unwrap_or(DEFAULT_PAUSE).min(MAX_PAUSE);
                self.pause(until, "the service responded with 429");
                self.rate.throttled(slot, until.saturating_sub(self.epoch), local);
            }
            _ => {}
        }
    }

    /// Follows an announced limit by the same rules as the pace of a single sender.
    fn announced(&mut self, announced: Announced, now: Duration) {
        let (limit, local) = (announced.limit, now.saturating_sub(self.epoch));
        let announcement = self.rate.announce(limit.per_second(), local);
        match announcement {
            Announcement::Known => {}
            Announcement::Lower => self.pause(now + limit.window(), WINDOW_EXHAUSTED),
            Announcement::New => {
                let interval = interval(self.rate.current());
                self.cell.postpone(local.saturating_add(interval), interval);
            }
        }
        if let Some(reset) = announced.exhausted {
            let own = u32::try_from(self.rate.sent_lately(local)).unwrap_or(u32::MAX);
            let expected = f64::from(limit.requests()) * OWN_SHARE - 1.0;
            let coarse = announcement == Announcement::Known && limit.window() <= Duration::from_secs(1);
            if !coarse || f64::from(own) < expected {
                self.pause(now + reset, WINDOW_EXHAUSTED);
            }
        }
    }

    /// Pauses all workers, unless a longer pause is in effect.
    pub(crate) fn pause(&mut self, until: Duration, reason: &str) {
        if self.paused_until.is_none_or(|paused| paused < until) {
            self.paused_until = Some(until);
            reason.clone_into(&mut self.reason);
        }
    }

    /// Returns the latest time of the queue's clock that a worker has used.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// Returns the end of the pause that is in effect.
    pub(crate) fn paused_until(&self, now: Duration) -> Option<Duration> {
        self.paused_until.filter(|until| *until > now)
    }

    /// Returns the state for progress reports.
    pub(crate) fn snapshot(&self, now: Duration) -> SharedSnapshot {
        SharedSnapshot {
            rate: self.rate.current(),
            learned_limit: self.rate.learned(),
            paused: self.paused_until(now).map(|until| (until, self.reason.clone())),
        }
    }

    fn advance(&mut self, now: Duration) -> Duration {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// A slow start measures how much of the rate was used, and time in which nothing was to be sent would count as unused.
    fn restart_when_idle(&mut self, now: Duration) {
        let ready = self.epoch + self.cell.ready_at(Duration::ZERO);
        if now.saturating_sub(ready) > IDLE {
            self.epoch = now;
            self.rate = Rate::new(self.rate.learned(), None);
            self.cell = Cell::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_hours(500_000);

    /// A service that rejects more than `limit` requests per window of a second.
    struct Service {
        limit: usize,
        accepted: Vec<Duration>,
        rejected: u32,
    }

    impl Service {
        fn request(&mut self, at: Duration) -> Observation {
            let window =
                self.accepted.iter().rev().take_while(|accepted| accepted.as_secs() == at.as_secs()).count();
            if window < self.limit {
                self.accepted.push(at);
                return Observation::Accepted;
            }
            self.rejected += 1;
            Observation::Throttled { retry_after: Some(Duration::from_secs(1)) }
        }
    }

    /// Runs workers that take turns, and transports the state as text between them.
    fn run(service: &mut Service, workers: usize, seconds: u64, max_rps: Option<f64>) -> SharedPace {
        let mut text = serde_json::to_vec(&SharedPace::new(START, None)).unwrap();
        let mut pending = vec![Vec::<Seen>::new(); workers];
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
                        let observation = service.request(slot);
                        pending[turn].push(Seen::new(slot, observation, &HeaderMap::new()));
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
        let before = pace.snapshot(START).rate;
        let later = START + Duration::from_hours(5);
        pace.reserve(later, None).unwrap();
        assert!((pace.snapshot(later).rate - before).abs() < before * 0.2);
    }
}
