//! The rate that the job sends at: measured when the service throttles, probed while it doesn't.
//!
//! # How it learns a limit that the service doesn't announce
//!
//! The slow start doubles the rate until the first 429, every [`DOUBLE_AFTER`], or after [`LATENCIES`] of a slower service, so that few requests
//! are in flight when the 429 arrives. A service that responds within milliseconds gets 500 requests/s within 3 s. The rate is then set
//! just below what the service accepted in the last second, and every rate from then on is on *trial*: if the trial ends without a 429, the
//! rate is *good*, and the next trial runs at a slightly higher one. A service that counts in windows of a second rejects the first request above its limit only after up to 1/ε
//! seconds, where ε is the excess in requests per second. Hence two rules: a trial of a step of δ requests/s lasts [`TRIAL`]/δ
//! seconds, and a rate that was good for t seconds is trusted to 1/t requests/s.
//!
//! # Why it seldom exceeds the limit
//!
//! The rate of the last failure, *bad*, is an estimate of the limit. A trial that stays clear of it costs nothing and follows at once; one that
//! reaches it waits, twice as long after every failure. Passing it shows that the limit was raised: *bad* is forgotten, the steps double
//! from one trial to the next, and a rate that was twice as high before is approached by another slow start. A 429 early in
//! the trial of a rate that was just lowered shows that the limit dropped, and the accepted requests since then are the measure.
//!
//! # How it learns an announced limit
//!
//! The announced limit caps the rate at [`ANNOUNCED`] of it, and the rate starts there. A 429 despite the announcement, for example because
//! another process shares the limit, lowers the rate in the same way as above.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};

/// The rate of a job that knows nothing about the service, in requests per second.
const START: f64 = 2.0;
/// The minimum time between two doublings of the slow start.
const DOUBLE_AFTER: Duration = Duration::from_millis(250);
/// The same in latencies of a request: the longer a 429 takes to arrive, the more requests follow it.
const LATENCIES: u32 = 4;
/// The highest rate in the slow start, per request accepted so far: a limit of n is found at a rate of no more than this times n.
const PER_ACCEPTED: f64 = 3.0;
/// The rate in the slow start is doubled only if at least this share of it was used.
const USED_IN_START: f64 = 0.5;
/// A trial counts only if at least this share of its rate was used.
const USED: f64 = 0.8;
/// The share of an announced limit that is used.
const ANNOUNCED: f64 = 0.98;
/// How far below a measured rate the next one is set.
const BELOW_MEASURED: f64 = 0.95;
/// How far a 429 lowers the rate after another one, without a good rate in between.
const BELOW_SETBACK: f64 = 0.85;
/// How many times a good rate isn't trusted after one failed later.
const DISTRUST: u32 = 1;
/// How far an early 429 lowers the rate: at least by the first, at most by the second factor.
const EARLY: (f64, f64) = (0.8, 0.3);
/// A 429 within this time after the pause is early: a rate close to the limit exceeds it later.
const EARLY_BEFORE: Duration = Duration::from_secs(2);
/// From which share of the last failed rate on a trial has to wait.
const CLEAR: f64 = 0.97;
/// How far a good rate must be above the last failure to show that the limit was raised.
const PAST: f64 = 1.01;
/// The steps upward, relative to the rate.
const STEP: (f64, f64) = (0.03, 0.25);
/// The smallest step upward, relative to the distance from the last failure.
const TOWARD: f64 = 0.25;
/// The smallest step upward, in requests per second.
const MIN_STEP: f64 = 0.2;
/// The number of good steps after which they are doubled.
const GOOD_STEPS: u32 = 3;
/// The length of a trial times its step, in requests.
const TRIAL: f64 = 3.0;
/// The length of a trial.
const TRIAL_LENGTH: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(1));
/// The minimum length of a trial after the limit was raised.
const QUICK_TRIAL: Duration = Duration::from_millis(1_500);
/// The time before a trial that reaches the last failure.
const WAIT: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(1));
/// Its maximum while the rate is less than half of the last good rate: a raised limit would gain more than trials cost.
const MAX_WAIT_WHEN_LOW: Duration = Duration::from_secs(12);
/// How fast the memory of a higher rate fades, with every failure.
const FADE: f64 = 0.97;
/// The lowest rate, in requests per second.
const FLOOR: f64 = 0.05;

/// The rate of a job, without a clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rate {
    current: f64,
    /// The maximum that the application set. It isn't part of the state that processes share.
    #[serde(skip, default = "unlimited")]
    max: f64,
    /// The limit that the service announced.
    announced: Option<f64>,
    phase: Phase,
    /// The latest rate whose trial ended without a 429, and the length of that trial.
    good: (f64, Duration),
    /// The highest good rate, which fades with every failure.
    best: f64,
    /// The rate of the latest failure, unless a higher one was good since.
    bad: Option<f64>,
    step: f64,
    good_steps: u32,
    wait: Duration,
    /// The number of rates that failed since one was good, each set after the failure of the one before.
    setbacks: u32,
    /// How many times a good rate isn't trusted, because one failed later: the service allows bursts.
    distrust: u32,
    accepted_in_start: f64,
    congestion: Option<Congestion>,
    sent: Recent,
    accepted: Recent,
}

/// How an announced limit compares with the one announced before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcement {
    Known,
    Lower,
    /// The first one, or a higher one.
    New,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Phase {
    /// The slow start, with the requests sent since the latest doubling.
    Start {
        since: Duration,
        sent: f64,
    },
    Trial(Trial),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Trial {
    since: Duration,
    length: Duration,
    /// Whether the rate is above the latest good one.
    raised: bool,
    sent: f64,
}

impl Rate {
    /// Creates a rate that starts at `learned`, or with a slow start.
    pub(super) fn new(learned: Option<f64>, max: Option<f64>) -> Self {
        let max = max.unwrap_or(f64::INFINITY);
        let start = learned.filter(|rate| rate.is_finite()).unwrap_or(START).max(FLOOR).min(max);
        let phase = match learned {
            None => Phase::Start { since: Duration::ZERO, sent: 0.0 },
            Some(_) => Phase::Trial(Trial::new(Duration::ZERO, TRIAL_LENGTH.0, false)),
        };
        Self {
            current: start,
            max,
            announced: None,
            phase,
            good: (start, Duration::ZERO),
            best: start,
            bad: None,
            step: STEP.0,
            good_steps: 0,
            wait: WAIT.0,
            setbacks: 0,
            distrust: 0,
            accepted_in_start: 0.0,
            congestion: None,
            sent: Recent::default(),
            accepted: Recent::default(),
        }
    }

    /// Sets the maximum, which a state that was received doesn't have.
    #[cfg(feature = "nats")]
    pub(super) fn set_max(&mut self, max: Option<f64>) {
        self.max = max.unwrap_or_else(unlimited);
        self.current = self.current.min(self.max);
    }

    /// The current rate in requests per second.
    pub(super) fn current(&self) -> f64 {
        self.current
    }

    /// The learned limit in requests per second: the announced one or, after a 429, the current rate.
    pub(super) fn learned(&self) -> Option<f64> {
        match self.phase {
            _ if self.announced.is_some() => self.announced,
            Phase::Start { .. } if self.congestion.is_none() => None,
            _ => Some(self.good.0),
        }
    }

    /// The number of requests sent in the last second.
    pub(super) fn sent_lately(&self, now: Duration) -> usize {
        self.sent.count(now)
    }

    pub(super) fn sent(&mut self, now: Duration) {
        self.sent.add(now, now);
        match &mut self.phase {
            Phase::Start { sent, .. } | Phase::Trial(Trial { sent, .. }) => *sent += 1.0,
        }
    }

    /// Reverts one [`sent`](Self::sent).
    pub(super) fn not_sent(&mut self) {
        self.sent.0.pop_back();
        match &mut self.phase {
            Phase::Start { sent, .. } | Phase::Trial(Trial { sent, .. }) => *sent = (*sent - 1.0).max(0.0),
        }
    }

    /// Counts an accepted request, and raises the rate when it is time.
    pub(super) fn accepted(&mut self, sent_at: Duration, now: Duration) {
        self.accepted.add(sent_at, now);
        if let Some(congestion) = self.congestion.filter(|congestion| sent_at <= congestion.at) {
            if now < congestion.resumes_at {
                // It was in flight at the 429, and belongs to what the service accepted before.
                self.lower(congestion);
            }
            return;
        }
        match self.phase {
            Phase::Start { since, sent } => {
                let age = now.saturating_sub(since);
                let used = sent >= USED_IN_START * self.current * age.as_secs_f64();
                self.accepted_in_start += 1.0;
                let latency = now.saturating_sub(sent_at);
                if sent_at >= since && age >= DOUBLE_AFTER.max(latency * LATENCIES) && used {
                    let next = (self.current * 2.0).min(self.accepted_in_start * PER_ACCEPTED);
                    self.current = next.max(self.current).min(self.cap());
                    self.phase = Phase::Start { since: now, sent: 0.0 };
                }
            }
            Phase::Trial(trial) => {
                if trial.over(now) {
                    self.trial_over(trial, now);
                }
            }
        }
    }

    /// Lowers the rate after a 429, once per congestion event. `resumes_at` is the end of the pause.
    pub(super) fn throttled(&mut self, sent_at: Duration, resumes_at: Duration, now: Duration) {
        if let Some(congestion) = &mut self.congestion
            && sent_at <= congestion.at
        {
            congestion.resumes_at = congestion.resumes_at.max(resumes_at);
            if let Phase::Trial(trial) = &mut self.phase {
                trial.since = trial.since.max(resumes_at);
            }
            return;
        }
        let sent = float(self.sent.count(now)).max(1.0);
        // A rate that wasn't used didn't fail.
        let failed = if sent < self.current * USED_IN_START { sent } else { self.current };
        let range = match self.phase {
            Phase::Start { .. } => (failed * EARLY.1, failed * BELOW_MEASURED),
            Phase::Trial(trial) if trial.raised && self.good.0 < failed => {
                let (good, length) = self.good;
                let trusted = good - length.as_secs_f64().max(1.0).recip();
                let least = if self.distrust == 0 {
                    trusted.max(good * BELOW_MEASURED)
                } else {
                    good * BELOW_MEASURED
                };
                (least, least.max(failed * BELOW_MEASURED))
            }
            Phase::Trial(trial) if now.saturating_sub(trial.since) < EARLY_BEFORE => {
                (failed * EARLY.1, failed * EARLY.0)
            }
            // The first rate after a 429 failed, and so did the one after that.
            Phase::Trial(_) if self.setbacks > 0 => (failed * BELOW_SETBACK, failed * BELOW_SETBACK),
            Phase::Trial(_) => (failed * BELOW_MEASURED, failed * BELOW_MEASURED),
        };
        if let Phase::Trial(trial) = self.phase {
            self.lengthen_wait();
            self.setbacks = if trial.raised { 0 } else { self.setbacks + 1 };
            self.distrust = if trial.raised { self.distrust.saturating_sub(1) } else { DISTRUST };
        }
        self.bad = Some(failed);
        self.best = self.best.max(self.good.0) * FADE;
        self.step = STEP.0;
        self.good_steps = 0;
        let congestion = Congestion { at: now, resumes_at, range };
        self.congestion = Some(congestion);
        self.lower(congestion);
        self.phase = Phase::Trial(Trial::new(resumes_at, self.trial_length(self.next_step()), false));
    }

    /// Sets the rate just below the rate accepted in the second before the 429, within its range.
    fn lower(&mut self, Congestion { at, range: (least, most), .. }: Congestion) {
        let next = (float(self.accepted.count(at)) * BELOW_MEASURED).clamp(least, most);
        self.current = next.max(FLOOR).min(self.cap());
        self.good = (self.current, Duration::ZERO);
    }

    /// Applies an announced limit, in requests per second.
    pub(super) fn announce(&mut self, limit: f64, now: Duration) -> Announcement {
        let earlier = self.announced.replace(limit);
        if earlier == Some(limit) {
            return Announcement::Known;
        }
        self.current = self.cap();
        self.good = (self.current, Duration::ZERO);
        self.bad = None;
        self.phase = Phase::Trial(Trial::new(now, TRIAL_LENGTH.0, false));
        if earlier.is_some_and(|earlier| limit < earlier) { Announcement::Lower } else { Announcement::New }
    }

    fn cap(&self) -> f64 {
        self.announced.map_or(self.max, |limit| self.max.min(limit * ANNOUNCED))
    }

    fn trial_over(&mut self, trial: Trial, now: Duration) {
        let age = now.saturating_sub(trial.since);
        if trial.sent < USED * self.current * age.as_secs_f64() {
            // The job had less to send, which says nothing about the rate.
            self.phase = Phase::Trial(Trial::new(now, trial.length, trial.raised));
            return;
        }
        self.good = (self.current, age);
        self.setbacks = 0;
        self.best = self.best.max(self.current);
        if trial.raised {
            self.good_steps += 1;
        }
        let quick = trial.raised && self.bad.is_none();
        if self.bad.take_if(|bad| *bad * PAST < self.current).is_some() {
            self.step = STEP.0 * 2.0;
            self.good_steps = 0;
        } else if quick || self.good_steps >= GOOD_STEPS {
            self.step = (self.step * 2.0).min(STEP.1);
            self.good_steps = 0;
        }
        if self.current >= self.cap() {
            return;
        }
        if quick && self.is_low() {
            // The limit was raised, and more was good before.
            self.accepted_in_start = self.current;
            self.phase = Phase::Start { since: now, sent: 0.0 };
            return;
        }
        let small = self.current + (self.current * STEP.0).max(MIN_STEP);
        let mut next = self.current + self.next_step();
        if let Some(bad) = self.bad
            && next > bad * CLEAR
        {
            next = small;
            let waited = trial.raised && self.current > bad * CLEAR;
            if small > bad * CLEAR && age < self.wait && !waited {
                // The same trial continues.
                self.phase = Phase::Trial(Trial { length: self.wait, ..trial });
                return;
            }
            if self.is_low() {
                next = next.max(bad * PAST * PAST);
            }
        }
        let step = next - self.current;
        self.current = next.min(self.cap());
        self.phase = Phase::Trial(Trial::new(now, self.trial_length(step), true));
    }

    fn lengthen_wait(&mut self) {
        let max = if self.is_low() { MAX_WAIT_WHEN_LOW } else { WAIT.1 };
        self.wait = (self.wait * 2).min(max);
    }

    fn is_low(&self) -> bool {
        self.current < self.best / 2.0
    }

    fn next_step(&self) -> f64 {
        // Far below the last failure, the limit is anywhere in between.
        let toward = self.bad.map_or(0.0, |bad| (bad - self.current) * TOWARD);
        (self.current * self.step).max(toward.min(self.current * STEP.1)).max(MIN_STEP)
    }

    fn trial_length(&self, step: f64) -> Duration {
        let min = if self.bad.is_none() { QUICK_TRIAL } else { TRIAL_LENGTH.0 };
        Duration::from_secs_f64((TRIAL / step).min(TRIAL_LENGTH.1.as_secs_f64())).max(min)
    }
}

impl Trial {
    fn new(since: Duration, length: Duration, raised: bool) -> Self {
        Self { since, length, raised, sent: 0.0 }
    }

    fn over(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= self.length
    }
}

/// The latest congestion event: a 429, and those of the requests sent before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Congestion {
    at: Duration,
    resumes_at: Duration,
    /// The lowest and the highest rate that it leads to.
    range: (f64, f64),
}

/// The requests of the last seconds, by the time at which they were sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "VecDeque<u64>", into = "VecDeque<u64>")]
struct Recent(VecDeque<Duration>);

/// In microseconds, since a state that processes share has hundreds of them.
impl From<VecDeque<u64>> for Recent {
    fn from(micros: VecDeque<u64>) -> Self {
        Self(micros.into_iter().map(Duration::from_micros).collect())
    }
}

impl From<Recent> for VecDeque<u64> {
    fn from(recent: Recent) -> Self {
        let micros = |event: Duration| u64::try_from(event.as_micros()).unwrap_or(u64::MAX);
        recent.0.into_iter().map(micros).collect()
    }
}

impl Recent {
    fn add(&mut self, sent_at: Duration, now: Duration) {
        while self.0.front().is_some_and(|at| now.saturating_sub(*at) > Duration::from_secs(2)) {
            self.0.pop_front();
        }
        self.0.push_back(sent_at);
    }

    /// Counts the requests sent in the second before `end`.
    fn count(&self, end: Duration) -> usize {
        let recent = |at: &&Duration| **at <= end && end.saturating_sub(**at) < Duration::from_secs(1);
        self.0.iter().filter(recent).count()
    }
}

fn unlimited() -> f64 {
    f64::INFINITY
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
