//! Values behind a lock that survives a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock. What it guards is consistent after every statement, so a panic of another thread is no reason to stop.
#[derive(Debug, Default)]
pub(crate) struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
