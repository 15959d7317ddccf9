//! The lock for consistent snapshots.
//!
//! Persisted records must be consistent: a captured email needs its email. So every mutating thread is inside the lock, and the writer closes it
//! while it takes a snapshot. While too many changes are unwritten, threads wait before they enter ([`Backlog`]). Reads don't enter, so they
//! never wait.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::lock::lock;
use crate::store::backlog::Backlog;
use crate::store::changes;

#[derive(Debug, Default)]
pub struct SnapshotLock {
    inside: Mutex<Inside>,
    /// Signals that the lock opened, or that the last thread left it.
    moved: Condvar,
    /// Whether something may have changed since the last snapshot.
    changed: AtomicBool,
    backlog: Backlog,
}

#[derive(Debug, Default)]
struct Inside {
    threads: usize,
    is_closed: bool,
}

thread_local! {
    /// The locks that this thread is inside of, by address, once per entry. Such a thread must not wait for the lock again; it would deadlock
    /// with a writer that waits for the thread. (A thread may be inside the locks of several services.)
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// While this exists, its thread may make changes.
#[derive(Debug)]
pub struct Entered<'a> {
    lock: &'a SnapshotLock,
    /// The change count of the thread at its outermost entry.
    before: Option<usize>,
}

/// While this exists, no thread is inside.
#[derive(Debug)]
pub struct Closed<'a>(&'a SnapshotLock);

impl SnapshotLock {
    /// Waits until the lock is open, and until the unwritten changes are few enough.
    pub fn enter(&self) -> Entered<'_> {
        if self.is_inside() {
            return self.mark_entered(None);
        }
        self.backlog.wait();
        let opened = self.moved.wait_while(lock(&self.inside), |inside| inside.is_closed);
        opened.unwrap_or_else(PoisonError::into_inner).threads += 1;
        self.mark_entered(Some(changes::bytes()))
    }

    /// Enters within this time, however many changes are unwritten. Returns `None` if the lock stays closed.
    pub fn enter_within(&self, timeout: Duration) -> Option<Entered<'_>> {
        if self.is_inside() {
            return Some(self.mark_entered(None));
        }
        let mut inside = lock(&self.inside);
        if inside.is_closed {
            let opened = self.moved.wait_timeout_while(inside, timeout, |inside| inside.is_closed);
            (inside, _) = opened.unwrap_or_else(PoisonError::into_inner);
            if inside.is_closed {
                return None;
            }
        }
        inside.threads += 1;
        drop(inside);
        Some(self.mark_entered(Some(changes::bytes())))
    }

    /// Enters unless [`enter`](Self::enter) would wait.
    pub fn try_enter(&self) -> Option<Entered<'_>> {
        if self.backlog.is_full() && !self.is_inside() {
            return None;
        }
        self.enter_within(Duration::ZERO)
    }

    /// Whether a thread that isn't inside would wait to enter.
    pub fn is_closed(&self) -> bool {
        lock(&self.inside).is_closed
    }

    fn is_inside(&self) -> bool {
        HELD.with_borrow(|held| held.contains(&self.address()))
    }

    fn mark_entered(&self, before: Option<usize>) -> Entered<'_> {
        HELD.with_borrow_mut(|held| held.push(self.address()));
        Entered { lock: self, before }
    }

    /// The lock doesn't move while a thread is inside.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Records a change of a single record by a thread that isn't inside: it doesn't need to be consistent with others.
    pub fn record_change(&self) {
        self.changed.store(true, Ordering::Release);
    }

    /// Whether a snapshot may differ from the last one, including changes in progress.
    pub fn has_changes(&self) -> bool {
        lock(&self.inside).threads > 0 || self.changed.load(Ordering::Acquire)
    }

    /// Waits until no thread is inside, and blocks others from entering. Changes from now on are part of the next snapshot.
    pub fn close(&self) -> Closed<'_> {
        let mut inside = lock(&self.inside);
        inside.is_closed = true;
        let empty = self.moved.wait_while(inside, |inside| inside.threads > 0);
        drop(empty.unwrap_or_else(PoisonError::into_inner));
        self.changed.store(false, Ordering::Release);
        Closed(self)
    }

    /// The unwritten changes.
    pub fn backlog(&self) -> &Backlog {
        &self.backlog
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| {
            if let Some(last) = held.iter().rposition(|lock| *lock == self.lock.address()) {
                held.swap_remove(last);
            }
        });
        let Some(before) = self.before else { return };
        self.lock.backlog.add(changes::bytes().wrapping_sub(before));
        self.lock.record_change();
        let mut inside = lock(&self.lock.inside);
        inside.threads -= 1;
        if inside.is_closed && inside.threads == 0 {
            self.lock.moved.notify_all();
        }
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        lock(&self.0.inside).is_closed = false;
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_and_single_records_count_as_changes() {
        let lock = SnapshotLock::default();
        drop(lock.close());
        assert!(!lock.has_changes());
        let entered = lock.enter();
        assert!(lock.has_changes());
        drop(entered);
        assert!(lock.has_changes());
        drop(lock.close());
        assert!(!lock.has_changes(), "the snapshot contains them");
        lock.record_change();
        assert!(lock.has_changes());
    }

    #[test]
    fn a_closed_lock_is_entered_only_by_threads_that_are_inside() {
        let lock = SnapshotLock::default();
        let outer = lock.try_enter();
        assert!(outer.is_some() && lock.enter_within(Duration::ZERO).is_some());
        std::thread::scope(|scope| {
            let closing = scope.spawn(|| drop(lock.close()));
            while !lock.is_closed() {
                std::thread::yield_now();
            }
            assert!(lock.try_enter().is_some(), "nested");
            let others =
                scope.spawn(|| lock.try_enter().is_none() && lock.enter_within(Duration::ZERO).is_none());
            assert!(others.join().unwrap());
            drop(outer);
            closing.join().unwrap();
        });
        assert!(lock.try_enter().is_some());
    }
}
