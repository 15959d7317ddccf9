//! A value with a dirty flag.

use std::ops::{Deref, DerefMut};

use crate::store::changes;

/// Reading leaves the flag unchanged; any mutable access sets it.
#[derive(Debug)]
pub struct Dirty<T> {
    value: T,
    changed: bool,
}

impl<T> Dirty<T> {
    pub fn new(value: T) -> Self {
        Self { value, changed: true }
    }

    /// Returns and clears the dirty flag.
    pub fn take(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }
}

impl<T> Deref for Dirty<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Dirty<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        changes::count(0);
        &mut self.value
    }
}
