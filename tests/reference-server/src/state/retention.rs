//! Bounds on collections that would otherwise grow without limit.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::hash::Hash;

use foldhash::HashMap;

/// Counts entries and their bytes, and selects which to evict: the oldest of the group with the most entries or bytes, whichever limit is
/// exceeded. So a small group loses nothing to a growing one.
///
/// The entries themselves are stored elsewhere: after each call, the caller evicts those that it returns.
#[derive(Debug)]
pub struct Retention<K, V> {
    entries: HashMap<K, Entry<V>>,
    groups: HashMap<usize, Group<K>>,
    /// The ranked groups by size, the largest last; among equal ones, the oldest last.
    by_count: BTreeSet<Ranked>,
    by_bytes: BTreeSet<Ranked>,
    /// The groups that changed since they were ranked. They are ranked again when an entry must be evicted.
    unranked: BTreeSet<usize>,
    /// The number of the next group.
    next: u64,
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
}

/// The size of a group, its number, and its name.
type Ranked = (usize, Reverse<u64>, usize);

#[derive(Debug)]
struct Entry<V> {
    bytes: usize,
    group: usize,
    value: V,
}

#[derive(Debug)]
struct Group<K> {
    number: u64,
    /// Oldest first. It may contain removed keys until they reach its front.
    order: VecDeque<K>,
    count: usize,
    bytes: usize,
    is_ranked: bool,
}

impl<K> Group<K> {
    /// Its ranks by entries and by bytes.
    fn ranks(&self, name: usize) -> [Ranked; 2] {
        [self.count, self.bytes].map(|size| (size, Reverse(self.number), name))
    }
}

impl<K: Copy + Eq + Hash, V> Retention<K, V> {
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self {
            entries: HashMap::default(),
            groups: HashMap::default(),
            by_count: BTreeSet::new(),
            by_bytes: BTreeSet::new(),
            unranked: BTreeSet::new(),
            next: 0,
            bytes: 0,
            max_entries,
            max_bytes,
        }
    }

    /// Adds an entry of a group and returns those to evict. The newest always stays, regardless of its size.
    pub fn insert(&mut self, key: K, bytes: usize, group: usize, value: V) -> Vec<(K, V)> {
        self.entries.insert(key, Entry { bytes, group, value });
        self.change(group, 1, bytes, 0);
        if let Some(group) = self.groups.get_mut(&group) {
            group.order.push_back(key);
        }
        self.trim(key)
    }

    /// The value of an entry.
    pub fn get(&self, key: K) -> Option<&V> {
        self.entries.get(&key).map(|entry| &entry.value)
    }

    /// Sets the size of an entry in bytes, and returns those to evict.
    pub fn resize(&mut self, key: K, bytes: usize) -> Vec<(K, V)> {
        let Some(entry) = self.entries.get_mut(&key) else { return Vec::new() };
        let (before, group) = (std::mem::replace(&mut entry.bytes, bytes), entry.group);
        self.change(group, 0, bytes, before);
        self.trim(key)
    }

    /// The size of an entry in bytes.
    pub fn bytes(&self, key: K) -> usize {
        self.entries.get(&key).map_or(0, |entry| entry.bytes)
    }

    /// Removes an entry that no longer exists.
    pub fn remove(&mut self, key: K) {
        let Some(Entry { bytes, group, .. }) = self.entries.remove(&key) else { return };
        self.change(group, -1, 0, bytes);
        if let Some(group) = self.groups.get_mut(&group)
            && group.order.len() > 2 * group.count + 1_024
        {
            group.order.retain(|key| self.entries.contains_key(key));
        }
    }

    pub fn clear(&mut self) {
        *self = Self::new(self.max_entries, self.max_bytes);
    }

    /// Changes the number of entries and the bytes of a group, which exists while it has entries.
    fn change(&mut self, name: usize, count: isize, added: usize, removed: usize) {
        let group = self.groups.entry(name).or_insert_with(|| {
            self.next += 1;
            Group { number: self.next, order: VecDeque::new(), count: 0, bytes: 0, is_ranked: false }
        });
        if std::mem::take(&mut group.is_ranked) {
            let [by_count, by_bytes] = group.ranks(name);
            self.by_count.remove(&by_count);
            self.by_bytes.remove(&by_bytes);
        }
        group.count = group.count.saturating_add_signed(count);
        group.bytes = group.bytes + added - removed;
        self.bytes = self.bytes + added - removed;
        if group.count == 0 {
            self.groups.remove(&name);
            self.unranked.remove(&name);
        } else {
            self.unranked.insert(name);
        }
    }

    /// Ranks the groups that changed.
    fn rank(&mut self) {
        while let Some(name) = self.unranked.pop_first() {
            let Some(group) = self.groups.get_mut(&name) else { continue };
            group.is_ranked = true;
            let [by_count, by_bytes] = group.ranks(name);
            self.by_count.insert(by_count);
            self.by_bytes.insert(by_bytes);
        }
    }

    /// Selects the entries beyond the limits, but never this one.
    fn trim(&mut self, newest: K) -> Vec<(K, V)> {
        let mut evicted = Vec::new();
        loop {
            let too_many = self.entries.len() > self.max_entries;
            if !too_many && self.bytes <= self.max_bytes {
                return evicted;
            }
            self.rank();
            let largest = if too_many { &self.by_count } else { &self.by_bytes };
            let groups: Vec<_> = largest.iter().rev().take(2).map(|(.., name)| *name).collect();
            let Some(key) = groups.into_iter().find_map(|name| self.oldest(name, newest)) else {
                return evicted;
            };
            let value = self.entries.get(&key).map(|entry| (entry.group, entry.bytes));
            let Some((group, bytes)) = value else { return evicted };
            self.change(group, -1, 0, bytes);
            evicted.extend(self.entries.remove(&key).map(|entry| (key, entry.value)));
        }
    }

    /// The oldest entry of a group, unless it is this one.
    fn oldest(&mut self, group: usize, newest: K) -> Option<K> {
        let order = &mut self.groups.get_mut(&group)?.order;
        while order.front().is_some_and(|key| !self.entries.contains_key(key)) {
            order.pop_front();
        }
        order.front().copied().filter(|key| *key != newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_entries_are_evicted_beyond_the_byte_limit() {
        let mut retention = Retention::new(10, 100);
        retention.insert(1, 40, 0, ());
        retention.insert(2, 40, 0, ());
        assert_eq!(retention.insert(3, 90, 0, ()), [(1, ()), (2, ())]);
        assert_eq!(retention.insert(4, 900, 0, ()), [(3, ())], "the newest stays, however large");
    }

    #[test]
    fn removed_entries_do_not_count() {
        let mut retention = Retention::new(2, 100);
        retention.insert(1, 90, 0, ());
        retention.remove(1);
        assert!(retention.insert(2, 90, 0, ()).is_empty());
        assert_eq!(retention.resize(2, retention.bytes(2) + 50), [], "the last one stays");
        assert_eq!(retention.insert(3, 1, 0, ()), [(2, ())]);
    }

    #[test]
    fn the_largest_group_loses_its_oldest_entries() {
        let mut retention = Retention::new(10, 1_000);
        for key in 0..5 {
            assert!(retention.insert(key, 1, 1, ()).is_empty());
        }
        let evicted: Vec<_> = (100..200).flat_map(|key| retention.insert(key, 1, 2, ())).collect();
        assert_eq!(evicted, (100..195).map(|key| (key, ())).collect::<Vec<_>>());
        assert_eq!(retention.insert(5, 1, 3, ()), [(0, ())], "of equal groups the oldest");
        assert_eq!(retention.insert(6, 1, 3, ()), [(195, ())]);
    }

    #[test]
    fn bytes_are_shared_by_bytes_and_entries_by_number() {
        let mut retention = Retention::new(100, 100);
        retention.insert(1, 60, 1, ());
        for key in 2..20 {
            retention.insert(key, 1, 2, ());
        }
        assert_eq!(retention.insert(20, 30, 3, ()), [(1, ())]);
        // Keeps the newest even if it is the only one of its group.
        assert_eq!(retention.insert(21, 82, 4, ()), [(20, ())]);
        assert_eq!(retention.resize(21, 99).len(), 17);
        for key in 0..30 {
            retention.remove(key);
        }
        assert_eq!((retention.bytes, retention.groups.len(), retention.by_bytes.len()), (0, 0, 0));
    }
}
