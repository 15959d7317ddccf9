//! Jobs scheduled on the clock.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Bound;
use std::sync::Mutex;

use foldhash::HashMap;
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
    /// The account of a job, as a number.
    account: fn(&W) -> usize,
}

/// The due time of a job, and its sequence number.
pub type JobKey = (Timestamp, u64);

/// A job's position: first the jobs of accounts that follow the service's clock, by due time; then the others, by the system's time.
type Position = (Option<Timestamp>, JobKey);

/// The positions before all jobs, and before the jobs of accounts with a separate clock.
const FIRST: Position = (None, (Timestamp::MIN, 0));
const FIRST_OWN: Position = (Some(Timestamp::MIN), (Timestamp::MIN, 0));
/// The number of jobs that are checked whenever one is scheduled.
const CHECKS: usize = 2;

struct Waiting<W> {
    jobs: BTreeMap<Position, W>,
    /// The positions by account and sequence number.
    by_account: HashMap<usize, HashMap<u64, Position>>,
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
        account: fn(&W) -> usize,
    ) -> Self {
        let waiting = Waiting {
            jobs: BTreeMap::new(),
            by_account: HashMap::default(),
            scheduled: 0,
            checked: FIRST,
            changed: None,
        };
        Self { waiting: Mutex::new(waiting), is_needed, due_on_own_clock, account }
    }

    pub fn schedule(&self, due: Timestamp, job: W) {
        let mut waiting = lock(&self.waiting);
        let key = (due, waiting.scheduled);
        waiting.scheduled += 1;
        self.insert(&mut waiting, key, job);
        self.purge(&mut waiting);
    }

    /// Takes the next job that is due at `now`, with its key.
    pub fn take_due(&self, now: Now) -> Option<(JobKey, W)> {
        let mut waiting = lock(&self.waiting);
        let position = waiting.next_due(now)?;
        let job = self.remove(&mut waiting, position)?;
        Some((position.1, job))
    }

    /// Puts the remainder of a job back under its old key.
    pub fn requeue(&self, key: JobKey, remainder: W) {
        let mut waiting = lock(&self.waiting);
        self.insert(&mut waiting, key, remainder);
    }

    /// Whether any job is due at `now`.
    pub fn is_due(&self, now: Now) -> bool {
        lock(&self.waiting).next_due(now).is_some()
    }

    /// Reorders the jobs of an account after its own clock was changed, or, without an account, the jobs of all accounts with a separate clock.
    pub fn reorder(&self, account: Option<usize>) {
        let mut waiting = lock(&self.waiting);
        let positions: Vec<_> = match account {
            Some(account) => {
                waiting.by_account.get(&account).into_iter().flat_map(HashMap::values).copied().collect()
            }
            None => waiting.jobs.range(FIRST_OWN..).map(|(position, _)| *position).collect(),
        };
        for position in positions {
            if let Some(job) = self.remove(&mut waiting, position) {
                self.insert(&mut waiting, position.1, job);
            }
        }
    }

    fn insert(&self, waiting: &mut Waiting<W>, key: JobKey, job: W) {
        let position = ((self.due_on_own_clock)(key.0, &job), key);
        waiting.mark_changed(position);
        waiting.by_account.entry((self.account)(&job)).or_default().insert(key.1, position);
        waiting.jobs.insert(position, job);
    }

    fn remove(&self, waiting: &mut Waiting<W>, position: Position) -> Option<W> {
        let job = waiting.jobs.remove(&position)?;
        if let Entry::Occupied(mut own) = waiting.by_account.entry((self.account)(&job)) {
            own.get_mut().remove(&position.1.1);
            if own.get().is_empty() {
                own.remove();
            }
        }
        waiting.mark_changed(position);
        Some(job)
    }

    /// Checks the next few jobs, in turn, and drops those that are no longer needed. This bounds their number, at a small cost per call.
    fn purge(&self, waiting: &mut Waiting<W>) {
        let mut rest = waiting.jobs.range((Bound::Excluded(waiting.checked), Bound::Unbounded));
        let next: [_; CHECKS] = std::array::from_fn(|_| {
            rest.next().map(|(position, job)| (*position, (self.is_needed)(position.1.0, job)))
        });
        for one in next {
            let Some((position, needed)) = one else {
                waiting.checked = FIRST;
                return;
            };
            waiting.checked = position;
            if !needed {
                self.remove(waiting, position);
            }
        }
    }

    pub fn clear(&self) {
        let mut waiting = lock(&self.waiting);
        let all: Vec<_> = waiting.jobs.keys().copied().collect();
        for key in all {
            waiting.mark_changed(key);
        }
        waiting.jobs.clear();
        waiting.by_account.clear();
    }

    /// Reports the additions and removals since the last call: a key, and the job if it still waits; the last report of a key counts.
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
        let changed = waiting.changed.take().unwrap_or_default();
        waiting.scheduled = waiting.scheduled.max(key.1 + 1);
        self.insert(&mut waiting, key, job);
        waiting.changed = Some(changed);
    }
}

impl<W> Waiting<W> {
    fn next_due(&self, now: Now) -> Option<Position> {
        let (first, _) = self.jobs.first_key_value()?;
        let own = || self.jobs.range(FIRST_OWN..).next().map(|(position, _)| *position);
        let service = Some(*first).filter(|(own, key)| own.is_none() && key.0 <= now.service);
        service.or_else(|| own().filter(|(at, _)| at.is_some_and(|at| at <= now.system)))
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
        let scheduler = Scheduler::new(is_needed, |_, _| None, |_| 0);
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

    #[test]
    fn a_moved_clock_reorders_the_jobs_of_its_account_only() {
        static LOOKED_UP: AtomicUsize = AtomicUsize::new(0);
        let on_own_clock = |due, account: &usize| {
            LOOKED_UP.fetch_add(1, Ordering::Relaxed);
            (*account == 7).then_some(due)
        };
        let scheduler = Scheduler::new(|_, _| true, on_own_clock, |account| *account);
        let at = |second| Timestamp::from_second(second).unwrap();
        for second in 0..1_000 {
            for account in 0..10 {
                scheduler.schedule(at(second), account);
            }
        }
        for (account, jobs) in [(Some(7), 1_000), (Some(3), 1_000), (None, 1_000), (Some(11), 0)] {
            let before = LOOKED_UP.load(Ordering::Relaxed);
            scheduler.reorder(account);
            assert_eq!(LOOKED_UP.load(Ordering::Relaxed) - before, jobs, "{account:?}");
        }
        let due = std::iter::from_fn(|| scheduler.take_due(Now { service: at(-1), system: at(10) }));
        assert!(due.map(|(_, account)| account).eq([7; 11]));
        let waiting = lock(&scheduler.waiting);
        assert_eq!(waiting.by_account.values().map(HashMap::len).sum::<usize>(), 10_000 - 11);
    }
}
