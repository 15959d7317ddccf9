//! A map that tracks its memory use.

use std::collections::HashMap;
use std::collections::hash_map::{Iter, Values};

use serde::Serialize;

use crate::store::size;

/// Values by name. To change a value, insert it again.
#[derive(Debug)]
pub struct Counted<V> {
    values: HashMap<String, V>,
    bytes: usize,
}

impl<V: Serialize> Counted<V> {
    pub(crate) fn new() -> Self {
        Self { values: HashMap::new(), bytes: 0 }
    }

    /// The bytes of an entry.
    pub fn size(name: &str, value: &V) -> usize {
        name.len() + size::record(value)
    }

    pub fn insert(&mut self, name: String, value: V) {
        self.remove(&name);
        self.bytes += Self::size(&name, &value);
        self.values.insert(name, value);
    }

    pub fn remove(&mut self, name: &str) -> Option<V> {
        let value = self.values.remove(name)?;
        self.bytes -= Self::size(name, &value);
        Some(value)
    }

    pub fn get(&self, name: &str) -> Option<&V> {
        self.values.get(name)
    }

    pub(crate) fn entries(&self) -> Iter<'_, String, V> {
        self.values.iter()
    }

    pub fn values(&self) -> Values<'_, String, V> {
        self.values.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
