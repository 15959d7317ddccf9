//! The moment at which nothing changes.
//!
//! What is kept must fit together: a mail without its email would be nonsense. So whoever changes something is inside the gate while it does, and the
//! keeper looks only when everybody is out.

use std::cell::Cell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[derive(Debug, Default)]
pub(crate) struct Gate(RwLock<()>);

thread_local! {
    /// How often this thread has come in. Who is inside need not wait at the gate again; it would wait for a keeper that waits for it.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// While it lives, its thread may change things.
#[derive(Debug)]
pub(crate) struct Inside<'a>(
    #[expect(dead_code, reason = "held for its drop")] Option<RwLockReadGuard<'a, ()>>,
);

impl Gate {
    pub(crate) fn enter(&self) -> Inside<'_> {
        let before = INSIDE.get();
        INSIDE.set(before + 1);
        Inside((before == 0).then(|| self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Waits until nobody is inside, and lets nobody in.
    pub(crate) fn close(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}
