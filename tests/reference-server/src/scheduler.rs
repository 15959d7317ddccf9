//! Jobs that run at a time of the clock.

use std::collections::BTreeMap;
use std::sync::Mutex;

use jiff::Timestamp;

use crate::lock::lock;
use crate::store::changes;

/// Scheduled jobs, earliest first; jobs with the same due time run in the order of their scheduling.
pub(crate) struct Scheduler<W> {
    waiting: Mutex<Waiting<W>>,
    /// Whether a job with this due time still has an effect.
    is_needed: fn(Timestamp, &W) -> bool,
}

/// The due time of a job, and its sequence number.
pub(crate) type JobKey = (Timestamp, u64);

struct Waiting<W> {
    work: BTreeMap<JobKey, W>,
    noted: u64,
    /// The number of jobs above which those that are no longer needed are dropped.
    purge_above: usize,
    /// The keys of added and removed jobs, once persistence has subscribed.
    touched: Option<Vec<JobKey>>,
}

impl<W> Scheduler<W> {
    pub(crate) fn new(is_needed: fn(Timestamp, &W) -> bool) -> Self {
        let waiting = Waiting { work: BTreeMap::new(), noted: 0, purge_above: 1_024, touched: None };
        Self { waiting: Mutex::new(waiting), is_needed }
    }

    pub(crate) fn schedule(&self, due: Timestamp, work: W) {
        let mut waiting = lock(&self.waiting);
        let turn = (due, waiting.noted);
        waiting.noted += 1;
        waiting.touch(turn);
        waiting.work.insert(turn, work);
        if waiting.work.len() > waiting.purge_above {
            waiting.purge(self.is_needed);
        }
    }

    /// Takes the next job that is due at `now`, with its key.
    pub(crate) fn take_due(&self, now: Timestamp) -> Option<(JobKey, W)> {
        let mut waiting = lock(&self.waiting);
        let next = waiting.work.first_entry().filter(|next| next.key().0 <= now)?;
        let (turn, work) = next.remove_entry();
        waiting.touch(turn);
        Some((turn, work))
    }

    /// Puts the remainder of a job back under its old key.
    pub(crate) fn go_on(&self, turn: JobKey, rest: W) {
        let mut waiting = lock(&self.waiting);
        waiting.touch(turn);
        waiting.work.insert(turn, rest);
    }

    /// Whether any job is due at `now`.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        lock(&self.waiting).work.first_key_value().is_some_and(|(turn, _)| turn.0 <= now)
    }

    pub(crate) fn clear(&self) {
        let mut waiting = lock(&self.waiting);
        let all: Vec<_> = waiting.work.keys().copied().collect();
        for turn in all {
            waiting.touch(turn);
        }
        waiting.work.clear();
    }

    /// Reports what was added or removed since the last call: a key, and the job if it still waits. The first call reports everything.
    pub(crate) fn changes(&self, mut show: impl FnMut(JobKey, Option<&W>)) {
        let mut waiting = lock(&self.waiting);
        let touched = waiting.touched.replace(Vec::new());
        let touched = touched.unwrap_or_else(|| waiting.work.keys().copied().collect());
        for turn in touched {
            show(turn, waiting.work.get(&turn));
        }
    }

    /// Restores a persisted job, which doesn't count as a change.
    pub(crate) fn put_back(&self, (due, order): JobKey, work: W) {
        let mut waiting = lock(&self.waiting);
        waiting.touched.get_or_insert_default();
        waiting.noted = waiting.noted.max(order + 1);
        waiting.work.insert((due, order), work);
    }
}

impl<W> Waiting<W> {
    /// Drops the jobs that are no longer needed, once they may be half of all.
    fn purge(&mut self, is_needed: fn(Timestamp, &W) -> bool) {
        let gone: Vec<JobKey> =
            self.work.iter().filter(|(key, job)| !is_needed(key.0, job)).map(|(key, _)| *key).collect();
        for key in gone {
            self.work.remove(&key);
            self.touch(key);
        }
        self.purge_above = 2 * self.work.len() + 1_024;
    }

    fn touch(&mut self, turn: JobKey) {
        if let Some(touched) = &mut self.touched {
            changes::count(0);
            touched.push(turn);
        }
    }
}
