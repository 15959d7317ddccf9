//! The moment at which nothing changes.
//!
//! What is kept must fit together: a mail without its email would be nonsense. So whoever changes something is inside the gate while it does, and the
//! keeper looks only when everybody is out. Who wants in while too much is unwritten waits for the keeper ([`Backlog`]).

use std::cell::RefCell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::store::backlog::Backlog;
use crate::store::changes;

#[derive(Debug, Default)]
pub(crate) struct SnapshotLock {
    inside: RwLock<()>,
    backlog: Backlog,
}

thread_local! {
    /// The gates inside which this thread is, by their addresses, as often as it has come in. Who is inside need not wait at the same gate
    /// again; it would wait for a keeper that waits for it. (One thread may be inside the gates of several services.)
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, its thread may change things.
#[derive(Debug)]
pub(crate) struct ReadGuard<'a> {
    gate: &'a SnapshotLock,
    /// Where a thread came in that was outside: with what it had counted before.
    open: Option<(RwLockReadGuard<'a, ()>, usize)>,
}

impl SnapshotLock {
    pub(crate) fn enter(&self) -> ReadGuard<'_> {
        let is_inside = INSIDE.with_borrow_mut(|inside| {
            let is_inside = inside.contains(&self.address());
            inside.push(self.address());
            is_inside
        });
        let open = (!is_inside).then(|| {
            self.backlog.wait();
            (self.inside.read().unwrap_or_else(PoisonError::into_inner), changes::bytes())
        });
        ReadGuard { gate: self, open }
    }

    /// A gate doesn't move while a thread is inside.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits until nobody is inside, and lets nobody in.
    pub(crate) fn close(&self) -> RwLockWriteGuard<'_, ()> {
        self.inside.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the keeper has not written yet.
    pub(crate) fn backlog(&self) -> &Backlog {
        &self.backlog
    }
}

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        if let Some((_, before)) = self.open {
            self.gate.backlog.add(changes::bytes().wrapping_sub(before));
        }
        INSIDE.with_borrow_mut(|inside| {
            if let Some(last) = inside.iter().rposition(|gate| *gate == self.gate.address()) {
                inside.swap_remove(last);
            }
        });
    }
}
