//! The content of a table: the records, their indexes and their sizes.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use uuid::Uuid;

use crate::store::budget::Budget;
use crate::store::changes;
use crate::store::ledger::{Ledger, Ordered, Persist};
use crate::store::size;
use crate::store::table::Record;
use crate::wire::{Page, Problem, Window};

/// The positions of a group without members.
static NONE: BTreeSet<u64> = BTreeSet::new();

/// The size of a node of a set of positions, with 11 of them, in bytes.
const NODE: usize = 112;

/// The content of a locked table.
#[derive(Debug)]
pub struct Rows<T: Record> {
    pub(super) records: Ledger<Arc<T>>,
    /// The positions of records by their normalized keys.
    pub(super) keys: HashMap<String, u64>,
    /// The positions of the members of each group.
    members: HashMap<T::Group, BTreeSet<u64>>,
    /// The size of the record at each position; and of all of them, with the groups.
    sizes: HashMap<u64, usize>,
    bytes: usize,
    budget: Arc<Budget>,
}

/// The index entries of a record.
struct Entries<G> {
    key: Option<String>,
    groups: Vec<G>,
}

impl<T: Record> Rows<T> {
    pub fn new(budget: Arc<Budget>) -> Self {
        Self {
            records: Ledger::new(),
            keys: HashMap::new(),
            members: HashMap::new(),
            sizes: HashMap::new(),
            bytes: 0,
            budget,
        }
    }

    /// Sets the size of the record at a position; 0 once it is removed.
    fn count(&mut self, position: u64, bytes: usize) {
        let before =
            if bytes == 0 { self.sizes.remove(&position) } else { self.sizes.insert(position, bytes) };
        let before = before.unwrap_or_default();
        self.bytes = self.bytes - before + bytes;
        self.budget.count(before, bytes);
        changes::count(bytes);
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The size of a record with its index entries, in bytes.
    pub(super) fn size_of(&self, id: Uuid) -> usize {
        self.records.position(id).and_then(|position| self.sizes.get(&position)).copied().unwrap_or_default()
    }

    /// By how many bytes a record would make all of them larger.
    pub(super) fn size_with(&self, record: &T) -> usize {
        let entries = Entries::from_record(record);
        let new = entries.groups.iter().filter(|group| !self.members.contains_key(group));
        full_size(record, &entries) + new.map(group_size).sum::<usize>()
    }

    /// The size of all records with their index entries, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// One page of the members of these groups. The cursor may be any record that `knows` accepts.
    pub fn page_of(
        &self,
        window: &Window,
        groups: impl IntoIterator<Item = T::Group>,
        knows: impl Fn(&T) -> bool,
    ) -> Result<Page<Arc<T>>, Problem> {
        window.check_cursor(|id| self.get(id).is_some_and(|record| knows(record)))?;
        window.show(&Members { rows: self, groups: groups.into_iter().collect() })
    }

    /// One page of the records with these IDs. The cursor may be any record.
    pub(super) fn page_with(
        &self,
        window: &Window,
        ids: impl IntoIterator<Item = Uuid>,
    ) -> Result<Page<Arc<T>>, Problem> {
        let positions = ids.into_iter().filter_map(|id| self.records.position(id)).collect();
        window.show(&Selection { rows: self, positions })
    }

    pub fn get(&self, id: Uuid) -> Option<&Arc<T>> {
        self.records.get(id)
    }

    pub fn find_by_key(&self, key: &str) -> Option<&Arc<T>> {
        let position = self.keys.get(&*T::normalize(key))?;
        self.records.get_at(*position).map(|(_, record)| record)
    }

    /// The members of a group, oldest first.
    pub fn members(&self, group: &T::Group) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        self.member_entries(group).map(|(_, record)| record)
    }

    pub(super) fn member_ids(&self, group: &T::Group) -> Vec<Uuid> {
        self.member_entries(group).map(|(id, _)| id).collect()
    }

    fn member_entries(&self, group: &T::Group) -> impl DoubleEndedIterator<Item = (Uuid, &Arc<T>)> {
        self.positions(group, 0..u64::MAX).filter_map(|position| self.records.get_at(position))
    }

    /// The number of members of a group.
    pub fn count_of(&self, group: &T::Group) -> usize {
        self.members.get(group).map_or(0, BTreeSet::len)
    }

    pub fn oldest_first(&self) -> impl Iterator<Item = &Arc<T>> {
        self.records.oldest_first()
    }

    fn positions(&self, group: &T::Group, range: Range<u64>) -> impl DoubleEndedIterator<Item = u64> {
        self.members.get(group).unwrap_or(&NONE).range(range).copied()
    }

    /// Rejects a record whose key belongs to another.
    pub(super) fn check_key(&self, record: &T, id: Option<Uuid>) -> Result<(), Problem> {
        let holder = record.key().and_then(|key| self.keys.get(&*T::normalize(key)));
        match holder.and_then(|position| self.records.get_at(*position)) {
            Some((holder, known)) if Some(holder) != id => Err(record.conflict(known)),
            _ => Ok(()),
        }
    }

    /// Adds a record whose key is known to be unique.
    pub fn insert(&mut self, id: Uuid, record: Arc<T>) {
        let entries = Entries::from_record(&*record);
        let size = full_size(&*record, &entries);
        let position = self.records.insert(id, record);
        self.count(position, size);
        self.index(position, entries);
    }

    pub fn remove(&mut self, id: Uuid) -> Option<Arc<T>> {
        let position = self.records.position(id)?;
        let record = self.records.remove(id)?;
        self.count(position, 0);
        self.unindex(position, Entries::from_record(&*record));
        Some(record)
    }

    /// Removes the oldest record.
    pub fn remove_oldest(&mut self) -> Option<Arc<T>> {
        let (position, record) = self.records.take_oldest()?;
        self.count(position, 0);
        self.unindex(position, Entries::from_record(&*record));
        Some(record)
    }

    /// Marks a record as changed.
    pub fn mark_changed(&mut self, id: Uuid) {
        self.records.mark_changed(id);
    }

    pub(super) fn replace(&mut self, id: Uuid, record: T) {
        if let (Some(position), Some(known)) = (self.records.position(id), self.records.get_mut(id)) {
            let (before, after) = (Entries::from_record(&**known), Entries::from_record(&record));
            let size = full_size(&record, &after);
            *known = Arc::new(record);
            self.count(position, size);
            self.reindex(position, before, after);
        }
    }

    /// Changes a record. Returns `None` if no record has this ID.
    pub fn change<R>(&mut self, id: Uuid, change: impl FnOnce(&mut T) -> R) -> Option<R>
    where
        T: Clone,
    {
        let position = self.records.position(id)?;
        let record = self.records.get_mut(id)?;
        let before = Entries::from_record(&**record);
        let made = change(Arc::make_mut(record));
        let after = Entries::from_record(&**record);
        let size = full_size(&**record, &after);
        self.count(position, size);
        self.reindex(position, before, after);
        Some(made)
    }

    fn reindex(&mut self, position: u64, before: Entries<T::Group>, after: Entries<T::Group>) {
        if before.key != after.key || before.groups != after.groups {
            self.unindex(position, before);
            self.index(position, after);
        }
    }

    fn index(&mut self, position: u64, entries: Entries<T::Group>) {
        if let Some(key) = entries.key {
            self.keys.insert(key, position);
        }
        for group in entries.groups {
            let members = self.members.entry(group);
            let added = if matches!(members, Entry::Vacant(_)) { group_size(members.key()) } else { 0 };
            members.or_default().insert(position);
            self.bytes += added;
            self.budget.count(0, added);
        }
    }

    fn unindex(&mut self, position: u64, entries: Entries<T::Group>) {
        if let Some(key) = entries.key.filter(|key| self.keys.get(key) == Some(&position)) {
            self.keys.remove(&key);
        }
        for group in entries.groups {
            if let Entry::Occupied(mut members) = self.members.entry(group)
                && members.get_mut().remove(&position)
                && members.get().is_empty()
            {
                let size = group_size(&members.remove_entry().0);
                self.bytes -= size;
                self.budget.count(size, 0);
            }
        }
    }
}

impl<G> Entries<G> {
    fn from_record<T: Record<Group = G>>(record: &T) -> Self {
        Self { key: record.key().map(|key| T::normalize(key).into_owned()), groups: record.groups() }
    }
}

/// The size of a record with its index entries.
fn full_size<T: Record>(record: &T, entries: &Entries<T::Group>) -> usize {
    // Nodes of a set of positions are at least half full.
    record.size() + entries.key.as_ref().map_or(0, String::len) + entries.groups.len() * 2 * size_of::<u64>()
}

/// The size of a group apart from its members, in bytes. Tables of hashes are at least half full.
fn group_size<G: Serialize>(group: &G) -> usize {
    2 * size_of::<(G, BTreeSet<u64>)>() + size::heap(group) + NODE
}

/// Releases the budget of an evicted tenant's records.
impl<T: Record> Drop for Rows<T> {
    fn drop(&mut self) {
        self.budget.count(self.bytes, 0);
    }
}

impl<T: Record> Persist<T> for Rows<T> {
    fn ledger(&mut self) -> &mut Ledger<Arc<T>> {
        &mut self.records
    }

    fn restore(&mut self, position: u64, id: Uuid, record: Arc<T>) {
        let entries = Entries::from_record(&*record);
        self.count(position, full_size(&*record, &entries));
        self.index(position, entries);
        self.records.restore(position, id, record);
    }
}

/// The members of some groups.
struct Members<'a, T: Record> {
    rows: &'a Rows<T>,
    groups: Vec<T::Group>,
}

impl<T: Record> Ordered for Members<'_, T> {
    type Item = Arc<T>;

    fn position(&self, id: Uuid) -> Option<u64> {
        self.rows.records.position(id)
    }

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item> {
        self.merge(move |group| self.rows.positions(group, range.clone()).rev(), u64::max)
    }

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item> {
        self.merge(move |group| self.rows.positions(group, range.clone()), u64::min)
    }
}

impl<T: Record> Members<'_, T> {
    /// The records of the groups' walks; of two positions, `first` comes first. A record can be in several of the groups.
    fn merge<'g, I: Iterator<Item = u64>>(
        &'g self,
        walk: impl Fn(&'g T::Group) -> I,
        first: fn(u64, u64) -> u64,
    ) -> impl Iterator<Item = &'g Arc<T>> {
        let mut walks: Vec<_> = self.groups.iter().map(|group| walk(group).peekable()).collect();
        let positions = std::iter::from_fn(move || {
            let next = walks.iter_mut().filter_map(|walk| walk.peek().copied()).reduce(first)?;
            for walk in &mut walks {
                walk.next_if_eq(&next);
            }
            Some(next)
        });
        self.rows.records.get_many(positions)
    }
}

/// A selection of records, by their positions.
struct Selection<'a, T: Record> {
    rows: &'a Rows<T>,
    positions: BTreeSet<u64>,
}

impl<T: Record> Ordered for Selection<'_, T> {
    type Item = Arc<T>;

    fn position(&self, id: Uuid) -> Option<u64> {
        self.rows.records.position(id)
    }

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item> {
        self.rows.records.get_many(self.positions.range(range).rev().copied())
    }

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item> {
        self.rows.records.get_many(self.positions.range(range).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::table::Table;

    #[derive(Clone, Debug, Serialize)]
    struct Note(Vec<String>);

    impl Record for Note {
        const NOUN: &'static str = "a note";
        const PLURAL: &'static str = "notes";

        type Group = String;

        fn groups(&self) -> Vec<String> {
            self.0.clone()
        }

        fn size(&self) -> usize {
            1_000
        }
    }

    fn note(group: &str) -> Note {
        Note(vec![group.to_owned()])
    }

    fn table(max_bytes: usize) -> Table<Note> {
        Table::new(10, &Arc::new(Budget::new(max_bytes)))
    }

    #[test]
    fn a_group_counts_from_its_first_to_its_last_member() {
        let table = table(usize::MAX);
        let [first, second, third] = [1, 2, 3].map(Uuid::from_u128);
        let bytes = |id, group| {
            table.add(id, note(group)).unwrap();
            table.lock().bytes()
        };
        let [one, two, three] = [bytes(first, "a"), bytes(second, "a"), bytes(third, "b")];
        assert_eq!((two - one, three - two), (1_016, one), "a position has 8 bytes, and nodes are half full");
        assert!(one > 1_016 + NODE, "{one}");

        table.update(second, |record| *record = note("b")).unwrap();
        assert_eq!(table.lock().bytes(), three);
        table.remove(first);
        assert_eq!(table.lock().bytes(), three - one);
        assert_eq!(["a", "b"].map(|group| table.members(&group.to_owned()).len()), [0, 2]);
        table.remove(third);
        table.lock().remove_oldest();
        assert_eq!(table.lock().bytes(), 0);
    }

    #[test]
    fn a_record_of_a_new_group_needs_room_for_the_group() {
        let table = table(2_300);
        table.add(Uuid::from_u128(1), note("a")).unwrap();
        table.add(Uuid::from_u128(2), note("b")).unwrap_err();
        assert_eq!(table.all().len(), 1);
        table.add(Uuid::from_u128(2), note("a")).unwrap();
        table.update(Uuid::from_u128(2), |record| *record = note("b")).unwrap_err();
        assert_eq!(table.members(&"a".to_owned()).len(), 2);
    }
}
