//! The lock for consistent snapshots.
//!
//! Persisted records must be consistent: a captured email needs its email. So every thread that changes something holds the lock for
//! reading, and the writer takes a snapshot while it holds the lock exclusively. While too many changes are unwritten, threads wait before
//! they enter ([`Backlog`]).

use std::cell::RefCell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::store::backlog::Backlog;
use crate::store::changes;

#[derive(Debug, Default)]
pub struct SnapshotLock {
    inside: RwLock<()>,
    backlog: Backlog,
}

thread_local! {
    /// The locks that this thread holds, by address, once per entry. A thread that holds a lock must not wait for it again; it would
    /// deadlock with a writer that waits for the thread. (A thread may hold the locks of several services.)
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// While it exists, its thread may change things.
#[derive(Debug)]
pub struct ReadGuard<'a> {
    lock: &'a SnapshotLock,
    /// The outermost entry of the thread, with its change count at that time.
    open: Option<(RwLockReadGuard<'a, ()>, usize)>,
}

impl SnapshotLock {
    pub fn enter(&self) -> ReadGuard<'_> {
        let is_inside = HELD.with_borrow_mut(|inside| {
            let is_inside = inside.contains(&self.address());
            inside.push(self.address());
            is_inside
        });
        let open = (!is_inside).then(|| {
            self.backlog.wait();
            (self.inside.read().unwrap_or_else(PoisonError::into_inner), changes::bytes())
        });
        ReadGuard { lock: self, open }
    }

    /// The lock doesn't move while a thread holds it.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits until no thread is inside, and blocks others from entering.
    pub fn close(&self) -> RwLockWriteGuard<'_, ()> {
        self.inside.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The unwritten changes.
    pub fn backlog(&self) -> &Backlog {
        &self.backlog
    }
}

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        if let Some((_, before)) = self.open {
            self.lock.backlog.add(changes::bytes().wrapping_sub(before));
        }
        HELD.with_borrow_mut(|inside| {
            if let Some(last) = inside.iter().rposition(|lock| *lock == self.lock.address()) {
                inside.swap_remove(last);
            }
        });
    }
}
