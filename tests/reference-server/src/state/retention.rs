//! Bounds on collections that would otherwise grow without limit.

use std::collections::VecDeque;
use std::hash::Hash;

use foldhash::HashMap;

/// Counts entries and their bytes, oldest first, and selects which to evict.
///
/// The entries themselves are stored elsewhere: after each call, the caller evicts those that it returns.
#[derive(Debug)]
pub struct Retention<K, V> {
    order: VecDeque<K>,
    entries: HashMap<K, (usize, V)>,
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
}

impl<K: Copy + Eq + Hash, V> Retention<K, V> {
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self { order: VecDeque::new(), entries: HashMap::default(), bytes: 0, max_entries, max_bytes }
    }

    /// Adds an entry and returns those to evict. The newest always stays, whatever its size.
    pub fn insert(&mut self, key: K, bytes: usize, value: V) -> Vec<(K, V)> {
        self.order.push_back(key);
        self.entries.insert(key, (bytes, value));
        self.bytes += bytes;
        self.trim()
    }

    /// The value of an entry.
    pub fn get(&self, key: K) -> Option<&V> {
        self.entries.get(&key).map(|(_, value)| value)
    }

    /// Sets the size of an entry in bytes, and returns those to evict.
    pub fn resize(&mut self, key: K, bytes: usize) -> Vec<(K, V)> {
        let Some((before, _)) = self.entries.get_mut(&key) else { return Vec::new() };
        self.bytes = self.bytes - *before + bytes;
        *before = bytes;
        self.trim()
    }

    /// Adds to the size of an entry, and returns those to evict.
    pub fn grow(&mut self, key: K, by: usize) -> Vec<(K, V)> {
        let Some((bytes, _)) = self.entries.get_mut(&key) else { return Vec::new() };
        *bytes += by;
        self.bytes += by;
        self.trim()
    }

    /// Removes an entry that no longer exists.
    pub fn remove(&mut self, key: K) {
        if let Some((bytes, _)) = self.entries.remove(&key) {
            self.bytes -= bytes;
        }
        // `order` may contain removed keys until they reach its front; this bounds their number.
        if self.order.len() > 2 * self.entries.len() + 1_024 {
            self.order.retain(|key| self.entries.contains_key(key));
        }
    }

    pub fn clear(&mut self) {
        self.order.clear();
        self.entries.clear();
        self.bytes = 0;
    }

    fn trim(&mut self) -> Vec<(K, V)> {
        let mut evicted = Vec::new();
        while self.entries.len() > 1 && (self.entries.len() > self.max_entries || self.bytes > self.max_bytes)
        {
            let Some(key) = self.order.pop_front() else { break };
            if let Some((bytes, value)) = self.entries.remove(&key) {
                self.bytes -= bytes;
                evicted.push((key, value));
            }
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_entry_is_evicted_beyond_the_count_limit() {
        let mut retention = Retention::new(2, 1_000);
        assert!(retention.insert(1, 10, ()).is_empty());
        assert!(retention.insert(2, 10, ()).is_empty());
        assert_eq!(retention.insert(3, 10, ()), [(1, ())]);
    }

    #[test]
    fn oldest_entries_are_evicted_beyond_the_byte_limit() {
        let mut retention = Retention::new(10, 100);
        retention.insert(1, 40, ());
        retention.insert(2, 40, ());
        assert_eq!(retention.insert(3, 90, ()), [(1, ()), (2, ())]);
        assert_eq!(retention.insert(4, 900, ()), [(3, ())], "the newest stays, however large");
    }

    #[test]
    fn removed_entries_do_not_count() {
        let mut retention = Retention::new(2, 100);
        retention.insert(1, 90, ());
        retention.remove(1);
        assert!(retention.insert(2, 90, ()).is_empty());
        assert_eq!(retention.grow(2, 50), [], "the last one stays");
        assert_eq!(retention.insert(3, 1, ()), [(2, ())]);
    }
}
