//! Locks that survive a panic.
//!
//! A panic inside a handler is answered with status 500 and the service continues, so a poisoned lock isn't a reason to stop: the guarded
//! values are consistent after every single statement.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde::{Deserialize, Serialize};

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// A locked part of a record. A clone has a separate lock and copy.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.0)
    }
}

impl<T: Clone> Clone for Locked<T> {
    fn clone(&self) -> Self {
        Self::new(self.lock().clone())
    }
}
