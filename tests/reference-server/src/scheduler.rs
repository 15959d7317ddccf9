//! Jobs that run at a time of the clock.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Mutex;

use jiff::Timestamp;

use crate::clock::Now;
use crate::lock::lock;
use crate::store::changes;

/// Scheduled jobs, earliest first; jobs with the same due time run in the order of their scheduling.
pub struct Scheduler<W> {
    waiting: Mutex<Waiting<W>>,
    /// Whether a job with this due time still has an effect.
    is_needed: fn(Timestamp, &W) -> bool,
    /// The system's time at which a job with this due time is due, if its account doesn't follow the service's clock.
    due_on_own_clock: fn(Timestamp, &W) -> Option<Timestamp>,
}

/// The due time of a job, and its sequence number.
pub type JobKey = (Timestamp, u64);

/// A job's position: first those of accounts that follow the service's clock, by due time; then the others, by the system's time.
type Position = (Option<Timestamp>, JobKey);

/// Before all jobs, and before those of accounts with a clock of their own.
const FIRST: Position = (None, (Timestamp::MIN, 0));
const FIRST_OWN: Position = (Some(Timestamp::MIN), (Timestamp::MIN, 0));
/// The number of jobs that are checked whenever one is scheduled.
const CHECKS: usize = 2;

struct Waiting<W> {
    jobs: BTreeMap<Position, W>,
    scheduled: u64,
    /// The last job that was checked for whether it is still needed.
    checked: Position,
    /// The positions of added and removed jobs, once persistence has subscribed.
    changed: Option<Vec<Position>>,
}

impl<W> Scheduler<W> {
    pub fn new(
        is_needed: fn(Timestamp, &W) -> bool,
        due_on_own_clock: fn(Timestamp, &W) -> Option<Timestamp>,
    ) -> Self {
        let waiting = Waiting { jobs: BTreeMap::new(), scheduled: 0, checked: FIRST, changed: None };
        Self { waiting: Mutex::new(waiting), is_needed, due_on_own_clock }
    }

    pub fn schedule(&self, due: Timestamp, job: W) {
        let mut waiting = lock(&self.waiting);
        let key = (due, waiting.scheduled);
        waiting.scheduled += 1;
        waiting.insert(self.position(key, &job), job);
        waiting.purge(self.is_needed);
    }

    /// Takes the next job that is due at `now`, with its key.
    pub fn take_due(&self, now: Now) -> Option<(JobKey, W)> {
        let mut waiting = lock(&self.waiting);
        let position = waiting.next_due(now)?;
        let job = waiting.jobs.remove(&position)?;
        waiting.mark_changed(position);
        Some((position.1, job))
    }

    /// Puts the remainder of a job back under its old key.
    pub fn requeue(&self, key: JobKey, remainder: W) {
        let mut waiting = lock(&self.waiting);
        waiting.insert(self.position(key, &remainder), remainder);
    }

    /// Whether any job is due at `now`.
    pub fn is_due(&self, now: Now) -> bool {
        lock(&self.waiting).next_due(now).is_some()
    }

    /// Reorders the jobs after accounts' own clocks were changed.
    pub fn reorder(&self) {
        let mut waiting = lock(&self.waiting);
        let moved = |(from, job): (&Position, &W)| {
            let to = self.position(from.1, job);
            (to != *from).then_some((*from, to))
        };
        let moved: Vec<_> = waiting.jobs.iter().filter_map(moved).collect();
        for (from, to) in moved {
            waiting.mark_changed(from);
            if let Some(job) = waiting.jobs.remove(&from) {
                waiting.insert(to, job);
            }
        }
    }

    fn position(&self, key: JobKey, job: &W) -> Position {
        ((self.due_on_own_clock)(key.0, job), key)
    }

    pub fn clear(&self) {
        let mut waiting = lock(&self.waiting);
        let all: Vec<_> = waiting.jobs.keys().copied().collect();
        for key in all {
            waiting.mark_changed(key);
        }
        waiting.jobs.clear();
    }

    /// Reports the additions and removals since the last call: a key, and the job if it still waits; of several reports of a key the last counts.
    /// The first call reports everything.
    pub fn changes(&self, mut show: impl FnMut(JobKey, Option<&W>)) {
        let mut waiting = lock(&self.waiting);
        let changed = waiting.changed.replace(Vec::new());
        let changed = changed.unwrap_or_else(|| waiting.jobs.keys().copied().collect());
        for position in changed {
            show(position.1, waiting.jobs.get(&position));
        }
    }

    /// Restores a persisted job, which doesn't count as a change.
    pub fn restore(&self, key: JobKey, job: W) {
        let mut waiting = lock(&self.waiting);
        waiting.changed.get_or_insert_default();
        waiting.scheduled = waiting.scheduled.max(key.1 + 1);
        waiting.jobs.insert(self.position(key, &job), job);
    }
}

impl<W> Waiting<W> {
    fn insert(&mut self, position: Position, job: W) {
        self.mark_changed(position);
        self.jobs.insert(position, job);
    }

    fn next_due(&self, now: Now) -> Option<Position> {
        let (first, _) = self.jobs.first_key_value()?;
        let own = || self.jobs.range(FIRST_OWN..).next().map(|(position, _)| *position);
        let service = Some(*first).filter(|(own, key)| own.is_none() && key.0 <= now.service);
        service.or_else(|| own().filter(|(at, _)| at.is_some_and(|at| at <= now.system)))
    }

    /// Checks the next few jobs, in turn, and drops those that are no longer needed. This bounds their number, at a small cost per call.
    fn purge(&mut self, is_needed: fn(Timestamp, &W) -> bool) {
        for _ in 0..CHECKS {
            let next = self.jobs.range((Bound::Excluded(self.checked), Bound::Unbounded)).next();
            let Some((position, needed)) =
                next.map(|(position, job)| (*position, is_needed(position.1.0, job)))
            else {
                self.checked = FIRST;
                return;
            };
            self.checked = position;
            if !needed {
                self.jobs.remove(&position);
                self.mark_changed(position);
            }
        }
    }

    fn mark_changed(&mut self, position: Position) {
        if let Some(changed) = &mut self.changed {
            changes::count(0);
            changed.push(position);
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
        let scheduler = Scheduler::new(is_needed, |_, _| None);
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
        let due = std::iter::from_fn(|| scheduler.take_due(Now { service: due(3_000), system: due(0) }));
        assert_eq!(due.filter(|(_, needed)| *needed).count(), 1_000, "needed jobs stay");
    }
}
