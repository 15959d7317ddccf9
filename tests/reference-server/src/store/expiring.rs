//! A map whose values expire.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use crate::store::counted::Counted;

/// A value that expires.
pub trait Expires {
    fn expires_at(&self) -> Timestamp;
}

/// Values by name, with an index by expiry, so that evicting the expired ones costs nothing for the others.
#[derive(Debug)]
pub struct Expiring<V> {
    values: Counted<V>,
    order: BTreeSet<(Timestamp, String)>,
    /// The bytes of the index.
    order_bytes: usize,
}

impl<V: Expires + Serialize> Expiring<V> {
    pub(crate) fn new() -> Self {
        Self { values: Counted::new(), order: BTreeSet::new(), order_bytes: 0 }
    }

    /// The bytes of an entry.
    pub fn size(name: &str, value: &V) -> usize {
        Counted::size(name, value) + index_bytes(name)
    }

    pub fn insert(&mut self, name: String, value: V) {
        self.remove(&name);
        self.order_bytes += index_bytes(&name);
        self.order.insert((value.expires_at(), name.clone()));
        self.values.insert(name, value);
    }

    pub fn remove(&mut self, name: &str) -> Option<V> {
        let value = self.values.remove(name)?;
        self.order.remove(&(value.expires_at(), name.to_owned()));
        self.order_bytes -= index_bytes(name);
        Some(value)
    }

    pub fn evict_expired(&mut self, now: Timestamp) {
        self.evict_first_while(|value| value.expires_at() <= now);
    }

    /// Removes the value that expires first if `is_expired` holds, and repeats until it doesn't.
    pub fn evict_first_while(&mut self, is_expired: impl Fn(&V) -> bool) {
        while self.order.first().and_then(|(_, name)| self.values.get(name)).is_some_and(&is_expired) {
            self.evict_first();
        }
    }

    /// Removes the value that expires first.
    pub fn evict_first(&mut self) -> bool {
        let first = self.order.first().map(|(_, name)| name.clone());
        first.is_some_and(|name| self.remove(&name).is_some())
    }

    pub fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        let gone: Vec<_> =
            self.values.entries().filter(|(_, value)| !keep(value)).map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.remove(&name);
        }
    }

    pub fn get(&self, name: &str) -> Option<&V> {
        self.values.get(name)
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub fn bytes(&self) -> usize {
        self.values.bytes() + self.order_bytes
    }
}

/// The bytes of an index entry; the nodes of the index are at least half full.
fn index_bytes(name: &str) -> usize {
    name.len() + 2 * size_of::<(Timestamp, String)>()
}
