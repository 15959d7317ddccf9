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
    jobs: BTreeMap<JobKey, W>,
    scheduled: u64,
    /// The number of jobs above which those that are no longer needed are dropped.
    purge_above: usize,
    /// The keys of added and removed jobs, once persistence has subscribed.
    changed: Option<Vec<JobKey>>,
}

impl<W> Scheduler<W> {
    pub(crate) fn new(is_needed: fn(Timestamp, &W) -> bool) -> Self {
        let waiting = Waiting { jobs: BTreeMap::new(), scheduled: 0, purge_above: 1_024, changed: None };
        Self { waiting: Mutex::new(waiting), is_needed }
    }

    pub(crate) fn schedule(&self, due: Timestamp, job: W) {
        let mut waiting = lock(&self.waiting);
        let key = (due, waiting.scheduled);
        waiting.scheduled += 1;
        waiting.mark_changed(key);
        waiting.jobs.insert(key, job);
        if waiting.jobs.len() > waiting.purge_above {
            waiting.purge(self.is_needed);
        }
    }

    /// Takes the next job that is due at `now`, with its key.
    pub(crate) fn take_due(&self, now: Timestamp) -> Option<(JobKey, W)> {
        let mut waiting = lock(&self.waiting);
        let next = waiting.jobs.first_entry().filter(|next| next.key().0 <= now)?;
        let (key, job) = next.remove_entry();
        waiting.mark_changed(key);
        Some((key, job))
    }

    /// Puts the remainder of a job back under its old key.
    pub(crate) fn requeue(&self, key: JobKey, remainder: W) {
        let mut waiting = lock(&self.waiting);
        waiting.mark_changed(key);
        waiting.jobs.insert(key, remainder);
    }

    /// Whether any job is due at `now`.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        lock(&self.waiting).jobs.first_key_value().is_some_and(|(key, _)| key.0 <= now)
    }

    pub(crate) fn clear(&self) {
        let mut waiting = lock(&self.waiting);
        let all: Vec<_> = waiting.jobs.keys().copied().collect();
        for key in all {
            waiting.mark_changed(key);
        }
        waiting.jobs.clear();
    }

    /// Reports what was added or removed since the last call: a key, and the job if it still waits. The first call reports everything.
    pub(crate) fn changes(&self, mut show: impl FnMut(JobKey, Option<&W>)) {
        let mut waiting = lock(&self.waiting);
        let changed = waiting.changed.replace(Vec::new());
        let changed = changed.unwrap_or_else(|| waiting.jobs.keys().copied().collect());
        for key in changed {
            show(key, waiting.jobs.get(&key));
        }
    }

    /// Restores a persisted job, which doesn't count as a change.
    pub(crate) fn restore(&self, (due, number): JobKey, job: W) {
        let mut waiting = lock(&self.waiting);
        waiting.changed.get_or_insert_default();
        waiting.scheduled = waiting.scheduled.max(number + 1);
        waiting.jobs.insert((due, number), job);
    }
}

impl<W> Waiting<W> {
    /// Drops the jobs that are no longer needed, once they may be half of all.
    fn purge(&mut self, is_needed: fn(Timestamp, &W) -> bool) {
        let gone: Vec<JobKey> =
            self.jobs.iter().filter(|(key, job)| !is_needed(key.0, job)).map(|(key, _)| *key).collect();
        for key in gone {
            self.jobs.remove(&key);
            self.mark_changed(key);
        }
        self.purge_above = 2 * self.jobs.len() + 1_024;
    }

    fn mark_changed(&mut self, key: JobKey) {
        if let Some(changed) = &mut self.changed {
            changes::count(0);
            changed.push(key);
        }
    }
}
