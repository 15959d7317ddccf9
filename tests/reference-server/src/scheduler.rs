//! Jobs that run at a time of the clock.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Mutex;

use jiff::Timestamp;

use crate::lock::lock;
use crate::store::changes;

/// Scheduled jobs, earliest first; jobs with the same due time run in the order of their scheduling.
pub struct Scheduler<W> {
    waiting: Mutex<Waiting<W>>,
    /// Whether a job with this due time still has an effect.
    is_needed: fn(Timestamp, &W) -> bool,
}

/// The due time of a job, and its sequence number.
pub type JobKey = (Timestamp, u64);

/// Before all jobs.
const FIRST: JobKey = (Timestamp::MIN, 0);
/// The number of jobs that are checked whenever one is scheduled.
const CHECKS: usize = 2;

struct Waiting<W> {
    jobs: BTreeMap<JobKey, W>,
    scheduled: u64,
    /// The last job that was checked for being needed.
    checked: JobKey,
    /// The keys of added and removed jobs, once persistence has subscribed.
    changed: Option<Vec<JobKey>>,
}

impl<W> Scheduler<W> {
    pub fn new(is_needed: fn(Timestamp, &W) -> bool) -> Self {
        let waiting = Waiting { jobs: BTreeMap::new(), scheduled: 0, checked: FIRST, changed: None };
        Self { waiting: Mutex::new(waiting), is_needed }
    }

    pub fn schedule(&self, due: Timestamp, job: W) {
        let mut waiting = lock(&self.waiting);
        let key = (due, waiting.scheduled);
        waiting.scheduled += 1;
        waiting.mark_changed(key);
        waiting.jobs.insert(key, job);
        waiting.purge(self.is_needed);
    }

    /// Takes the next job that is due at `now`, with its key.
    pub fn take_due(&self, now: Timestamp) -> Option<(JobKey, W)> {
        let mut waiting = lock(&self.waiting);
        let next = waiting.jobs.first_entry().filter(|next| next.key().0 <= now)?;
        let (key, job) = next.remove_entry();
        waiting.mark_changed(key);
        Some((key, job))
    }

    /// Puts the remainder of a job back under its old key.
    pub fn requeue(&self, key: JobKey, remainder: W) {
        let mut waiting = lock(&self.waiting);
        waiting.mark_changed(key);
        waiting.jobs.insert(key, remainder);
    }

    /// Whether any job is due at `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        lock(&self.waiting).jobs.first_key_value().is_some_and(|(key, _)| key.0 <= now)
    }

    pub fn clear(&self) {
        let mut waiting = lock(&self.waiting);
        let all: Vec<_> = waiting.jobs.keys().copied().collect();
        for key in all {
            waiting.mark_changed(key);
        }
        waiting.jobs.clear();
    }

    /// Reports the additions and removals since the last call: a key, and the job if it still waits. The first call reports everything.
    pub fn changes(&self, mut show: impl FnMut(JobKey, Option<&W>)) {
        let mut waiting = lock(&self.waiting);
        let changed = waiting.changed.replace(Vec::new());
        let changed = changed.unwrap_or_else(|| waiting.jobs.keys().copied().collect());
        for key in changed {
            show(key, waiting.jobs.get(&key));
        }
    }

    /// Restores a persisted job, which doesn't count as a change.
    pub fn restore(&self, (due, number): JobKey, job: W) {
        let mut waiting = lock(&self.waiting);
        waiting.changed.get_or_insert_default();
        waiting.scheduled = waiting.scheduled.max(number + 1);
        waiting.jobs.insert((due, number), job);
    }
}

impl<W> Waiting<W> {
    /// Checks the next few jobs, in turn, and drops those that are no longer needed. This bounds their number, at a small cost per call.
    fn purge(&mut self, is_needed: fn(Timestamp, &W) -> bool) {
        for _ in 0..CHECKS {
            let next = self.jobs.range((Bound::Excluded(self.checked), Bound::Unbounded)).next();
            let Some((key, needed)) = next.map(|(key, job)| (*key, is_needed(key.0, job))) else {
                self.checked = FIRST;
                return;
            };
            self.checked = key;
            if !needed {
                self.jobs.remove(&key);
                self.mark_changed(key);
            }
        }
    }

    fn mark_changed(&mut self, key: JobKey) {
        if let Some(changed) = &mut self.changed {
            changes::count(0);
            changed.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static CHECKED: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn unneeded_jobs_are_dropped_a_few_at_a_time() {
        let is_needed = |_, needed: &bool| {
            CHECKED.fetch_add(1, Ordering::Relaxed);
            *needed
        };
        let scheduler = Scheduler::new(is_needed);
        let due = |second| Timestamp::from_second(second).unwrap();
        for second in 0..1_000 {
            scheduler.schedule(due(second), true);
        }
        for second in 0..100_000 {
            let before = CHECKED.load(Ordering::Relaxed);
            scheduler.schedule(due(second % 2_000), false);
            assert!(CHECKED.load(Ordering::Relaxed) - before <= CHECKS);
            assert!(lock(&scheduler.waiting).jobs.len() <= 3_000);
        }
        let due = std::iter::from_fn(|| scheduler.take_due(due(3_000)));
        assert_eq!(due.filter(|(_, needed)| *needed).count(), 1_000, "needed jobs stay");
    }
}
