//! Bounds on collections that would otherwise grow without limit.

use std::collections::VecDeque;
use std::hash::Hash;

use foldhash::HashMap;

/// Counts entries and their bytes, oldest first, and selects which to evict.
///
/// The entries themselves are stored elsewhere: after each call, the caller evicts those that it returns.
#[derive(Debug)]
pub(crate) struct Retention<K, V> {
    order: VecDeque<K>,
    held: HashMap<K, (usize, V)>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl<K: Copy + Eq + Hash, V> Retention<K, V> {
    pub(crate) fn new(most: usize, most_bytes: usize) -> Self {
        Self { order: VecDeque::new(), held: HashMap::default(), bytes: 0, most, most_bytes }
    }

    /// Adds an entry and returns those to evict. The newest always stays, whatever its size.
    pub(crate) fn hold(&mut self, key: K, bytes: usize, value: V) -> Vec<(K, V)> {
        self.order.push_back(key);
        self.held.insert(key, (bytes, value));
        self.bytes += bytes;
        self.trim()
    }

    /// The value of an entry.
    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.held.get(&key).map(|(_, value)| value)
    }

    /// Sets the size of an entry in bytes, and returns those to evict.
    pub(crate) fn resize(&mut self, key: K, bytes: usize) -> Vec<(K, V)> {
        let Some((before, _)) = self.held.get_mut(&key) else { return Vec::new() };
        self.bytes = self.bytes - *before + bytes;
        *before = bytes;
        self.trim()
    }

    /// Adds to the size of an entry, and returns those to evict.
    pub(crate) fn grow(&mut self, key: K, by: usize) -> Vec<(K, V)> {
        let Some((bytes, _)) = self.held.get_mut(&key) else { return Vec::new() };
        *bytes += by;
        self.bytes += by;
        self.trim()
    }

    /// Removes an entry that no longer exists.
    pub(crate) fn forget(&mut self, key: K) {
        if let Some((bytes, _)) = self.held.remove(&key) {
            self.bytes -= bytes;
        }
        // `order` may contain removed keys until they reach its front; this bounds their number.
        if self.order.len() > 2 * self.held.len() + 1_024 {
            self.order.retain(|key| self.held.contains_key(key));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.order.clear();
        self.held.clear();
        self.bytes = 0;
    }

    fn trim(&mut self) -> Vec<(K, V)> {
        let mut gone = Vec::new();
        while self.held.len() > 1 && (self.held.len() > self.most || self.bytes > self.most_bytes) {
            let Some(key) = self.order.pop_front() else { break };
            if let Some((bytes, value)) = self.held.remove(&key) {
                self.bytes -= bytes;
                gone.push((key, value));
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let mut retention = Retention::new(2, 1_000);
        assert!(retention.hold(1, 10, ()).is_empty());
        assert!(retention.hold(2, 10, ()).is_empty());
        assert_eq!(retention.hold(3, 10, ()), [(1, ())]);
    }

    #[test]
    fn the_oldest_go_when_they_are_too_large_together() {
        let mut retention = Retention::new(10, 100);
        retention.hold(1, 40, ());
        retention.hold(2, 40, ());
        assert_eq!(retention.hold(3, 90, ()), [(1, ()), (2, ())]);
        assert_eq!(retention.hold(4, 900, ()), [(3, ())], "the newest stays, however large");
    }

    #[test]
    fn what_is_forgotten_no_longer_counts() {
        let mut retention = Retention::new(2, 100);
        retention.hold(1, 90, ());
        retention.forget(1);
        assert!(retention.hold(2, 90, ()).is_empty());
        assert_eq!(retention.grow(2, 50), [], "the last one stays");
        assert_eq!(retention.hold(3, 1, ()), [(2, ())]);
    }
}
