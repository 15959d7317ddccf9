//! The moment at which nothing changes.
//!
//! What is kept must fit together: a mail without its email would be nonsense. So whoever changes something is inside the gate while it does, and the
//! keeper looks only when everybody is out.

use std::cell::RefCell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[derive(Debug, Default)]
pub(crate) struct Gate(RwLock<()>);

thread_local! {
    /// The gates inside which this thread is, by their addresses, as often as it has come in. Who is inside need not wait at the same gate
    /// again; it would wait for a keeper that waits for it. (One thread may be inside the gates of several services.)
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, its thread may change things.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    gate: &'a Gate,
    _open: Option<RwLockReadGuard<'a, ()>>,
}

impl Gate {
    pub(crate) fn enter(&self) -> Inside<'_> {
        let is_inside = INSIDE.with_borrow_mut(|inside| {
            let is_inside = inside.contains(&self.address());
            inside.push(self.address());
            is_inside
        });
        let open = (!is_inside).then(|| self.0.read().unwrap_or_else(PoisonError::into_inner));
        Inside { gate: self, _open: open }
    }

    /// A gate doesn't move while a thread is inside.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits until nobody is inside, and lets nobody in.
    pub(crate) fn close(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(|inside| {
            if let Some(last) = inside.iter().rposition(|gate| *gate == self.gate.address()) {
                inside.swap_remove(last);
            }
        });
    }
}
