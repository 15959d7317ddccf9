//! The byte budget of the records of all tables of a service.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::wire::Problem;

/// A limit on bytes shared by many tables. Concurrent threads may each exceed it by one record.
#[derive(Debug)]
pub struct Budget {
    max: usize,
    used: AtomicUsize,
}

impl Budget {
    pub fn new(max: usize) -> Self {
        Self { max, used: AtomicUsize::new(0) }
    }

    /// Rejects a record of `after` bytes that replaces one of `before` bytes, if the budget is exceeded. Shrinking records are always
    /// accepted.
    pub fn check(&self, before: usize, after: usize, plural: &str) -> Result<(), Problem> {
        let used = self.used.load(Ordering::Relaxed);
        if after <= before || used.saturating_sub(before).saturating_add(after) <= self.max {
            return Ok(());
        }
        Err(Problem::forbidden(format!(
            "The records of this sandbox may use {} bytes of memory (a quarter of --max-memory). They use \
                 {used}, so {} bytes more for its {plural} don't fit. Delete records, reset the sandbox, or start it with a larger --max-memory.",
            self.max,
            after - before
        )))
    }

    /// Counts `bytes` of the given plural until the result is dropped, unless they exceed the budget.
    pub fn reserve(self: &Arc<Self>, bytes: usize, plural: &str) -> Result<Reservation, Problem> {
        self.check(0, bytes, plural)?;
        self.count(0, bytes);
        Ok(Reservation { budget: Arc::clone(self), bytes })
    }

    pub fn is_over(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.max
    }

    /// Counts a record of `after` bytes that replaces one of `before` bytes.
    pub fn count(&self, before: usize, after: usize) {
        self.used.fetch_add(after, Ordering::Relaxed);
        self.used.fetch_sub(before, Ordering::Relaxed);
    }
}

/// Bytes that count while it exists.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.count(self.bytes, 0);
    }
}
