//! The records of one resource of one tenant, with their indexes.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use uuid::Uuid;

use crate::lock::lock;
use crate::store::budget::{Budget, Reservation};
use crate::store::changes;
use crate::store::ledger::{Ledger, Ordered, Persist};
use crate::store::size;
use crate::wire::fields::Field;
use crate::wire::paging::{Page, Window, quote};
use crate::wire::problem::Problem;
use crate::wire::problems::Checked;
use crate::wire::readers::uuid;

/// A record of a table, with its unique key and its groups for lookups.
pub trait Record: Serialize {
    /// The name with its article, for error messages: `a template`.
    const NOUN: &'static str;

    /// The plural name for error messages: `templates`.
    const PLURAL: &'static str;

    /// Whether keys that differ only in case are the same key.
    const IGNORES_CASE: bool = false;

    /// A set of records that is looked up or shown page by page; [`NoGroup`] if there is none.
    type Group: Debug + Eq + Hash + Serialize;

    /// The unique key of this record, apart from its ID.
    fn key(&self) -> Option<&str> {
        None
    }

    /// Normalizes a key for comparison.
    fn normalize(key: &str) -> Cow<'_, str> {
        if Self::IGNORES_CASE { lower_case(key) } else { Cow::Borrowed(key) }
    }

    /// The error when another record has the same key.
    fn conflict(&self, holder: &Self) -> Problem {
        Problem::validation(format!("Two {} can't share the key {:?}.", Self::PLURAL, holder.key()))
    }

    /// The groups that it belongs to.
    fn groups(&self) -> Vec<Self::Group> {
        Vec::new()
    }

    /// The size of this record, in bytes.
    fn size(&self) -> usize
    where
        Self: Sized,
    {
        size::record(self)
    }

    /// The name without an article.
    fn noun() -> &'static str {
        Self::NOUN.split_once(' ').map_or(Self::NOUN, |(_, noun)| noun)
    }

    /// The error when a request names no record.
    fn not_found() -> Problem {
        let (first, rest) = Self::noun().split_at(1);
        Problem::not_found(format!("{}{rest} not found.", first.to_ascii_uppercase()))
    }
}

/// Normalizes a case-insensitive key.
pub fn lower_case(key: &str) -> Cow<'_, str> {
    if key.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(key.to_ascii_lowercase());
    }
    Cow::Borrowed(key)
}

/// The group type of records without groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum NoGroup {}

/// The positions of a group without members.
static NONE: BTreeSet<u64> = BTreeSet::new();

/// The size of a node of a set of positions, with 11 of them, in bytes.
const NODE: usize = 112;

/// Records in the order of their creation, limited in number and bytes by the settings.
///
/// Every lookup costs O(log n) in the number of records, and every page the cost of the page itself. Records are shared with readers, so that
/// responses are serialized without the lock, and copied when they change in the meantime.
#[derive(Debug)]
pub struct Table<T: Record> {
    max: usize,
    budget: Arc<Budget>,
    rows: Mutex<Rows<T>>,
}

/// The content of a locked table.
#[derive(Debug)]
pub struct Rows<T: Record> {
    records: Ledger<Arc<T>>,
    /// The positions of records by their normalized keys.
    keys: HashMap<String, u64>,
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

impl<T: Record> Table<T> {
    pub fn new(max: usize, budget: &Arc<Budget>) -> Self {
        Self { max, budget: Arc::clone(budget), rows: Mutex::new(Rows::new(Arc::clone(budget))) }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Fails if another record has its key, or if the table is full.
    pub fn add(&self, id: Uuid, record: T) -> Result<(), Problem> {
        let mut rows = self.lock();
        rows.check_key(&record, None)?;
        self.check_room(&rows, &record)?;
        rows.insert(id, Arc::new(record));
        Ok(())
    }

    /// Adds the records whose key no other record has; none if they don't fit. Returns for each the ID of the record with its key, and
    /// whether that record was added.
    ///
    /// # Errors
    /// Fails if the table would have too many records, or if they exceed the budget.
    pub fn add_missing(&self, records: Vec<(Uuid, T)>) -> Result<Vec<(Uuid, bool)>, Problem> {
        let mut rows = self.lock();
        let (mut new, mut bytes) = (HashSet::new(), 0);
        for (_, record) in &records {
            let Some(key) = record.key().map(T::normalize) else { continue };
            if !rows.keys.contains_key(&*key) && new.insert(key) {
                bytes += rows.size_with(record);
            }
        }
        if rows.len() + new.len() > self.max {
            return Err(self.too_many());
        }
        self.budget.check(0, bytes, T::PLURAL)?;
        let found = records.into_iter().map(|(id, record)| {
            let holder = record.key().and_then(|key| rows.keys.get(&*T::normalize(key)));
            if let Some((holder, _)) = holder.and_then(|position| rows.records.get_at(*position)) {
                return (holder, false);
            }
            rows.insert(id, Arc::new(record));
            (id, true)
        });
        Ok(found.collect())
    }

    fn check_room(&self, rows: &Rows<T>, record: &T) -> Result<(), Problem> {
        if rows.len() < self.max {
            return self.budget.check(0, rows.size_with(record), T::PLURAL);
        }
        Err(self.too_many())
    }

    fn too_many(&self) -> Problem {
        Problem::forbidden(format!(
            "This sandbox stores at most {} {}; delete some first.",
            self.max,
            T::PLURAL
        ))
    }

    /// Rejects a growth by this number of bytes if the budget doesn't allow it.
    pub fn check_growth(&self, bytes: usize) -> Result<(), Problem> {
        self.budget.check(0, bytes, T::PLURAL)
    }

    /// Counts bytes that belong to a record but aren't part of it, until the result is dropped.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, Problem> {
        self.budget.reserve(bytes, T::PLURAL)
    }

    pub fn is_full(&self) -> bool {
        self.lock().len() >= self.max
    }

    pub fn is_empty(&self) -> bool {
        self.lock().len() == 0
    }

    pub fn get(&self, id: Uuid) -> Option<Arc<T>> {
        self.lock().get(id).cloned()
    }

    /// Parses the ID of one of the records.
    pub fn known_id(&self, text: &str) -> Option<Uuid> {
        Uuid::try_parse(text).ok().filter(|id| self.get(*id).is_some())
    }

    /// Reads the ID of one of the records.
    pub fn read_id(&self, field: &Field<'_>) -> Checked<Uuid> {
        let text = field.text()?;
        self.known_id(&text).ok_or_else(|| {
            let (one, noun, found) = (T::NOUN, T::noun(), quote(&text));
            field.reject(format_args!("must be the id of {one}; there is no {noun} {found}"))
        })
    }

    /// Like [`read_id`](Self::read_id), with a separate error for a malformed ID.
    pub fn read_uuid(&self, field: &Field<'_>) -> Checked<Uuid> {
        let id = uuid(field)?;
        let (one, noun) = (T::NOUN, T::noun());
        let known = self.get(id).map(|_| id);
        known.ok_or_else(|| field.reject(format_args!("must be the id of {one}; there is no {noun} {id}")))
    }

    /// Finds the record with this key.
    pub fn find_by_key(&self, key: &str) -> Option<Arc<T>> {
        self.lock().find_by_key(key).cloned()
    }

    /// Finds the record with this ID or key.
    pub fn find(&self, id_or_key: &str) -> Option<Arc<T>> {
        let by_id = Uuid::try_parse(id_or_key).ok().and_then(|id| self.get(id));
        by_id.or_else(|| self.find_by_key(id_or_key))
    }

    /// Lists all records, newest first.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.lock().records.newest_first().cloned().collect()
    }

    /// Lists the members of a group, newest first.
    pub fn members(&self, group: &T::Group) -> Vec<Arc<T>> {
        self.lock().members(group).rev().cloned().collect()
    }

    /// The oldest member of a group.
    pub fn oldest(&self, group: &T::Group) -> Option<Arc<T>> {
        self.lock().members(group).next().cloned()
    }

    pub fn remove(&self, id: Uuid) -> Option<Arc<T>> {
        self.lock().remove(id)
    }

    /// One page of all records.
    pub fn page(&self, window: &Window) -> Result<Page<Arc<T>>, Problem> {
        window.show(&self.lock().records)
    }

    /// One page of the members of a group, or of all records. The cursor may be any record.
    pub fn page_within(&self, window: &Window, group: Option<T::Group>) -> Result<Page<Arc<T>>, Problem> {
        match group {
            Some(group) => self.page_of(window, [group], |_| true),
            None => self.page(window),
        }
    }

    /// One page of the members of these groups. The cursor may be any record that `knows` accepts.
    pub fn page_of(
        &self,
        window: &Window,
        groups: impl IntoIterator<Item = T::Group>,
        knows: impl Fn(&T) -> bool,
    ) -> Result<Page<Arc<T>>, Problem> {
        self.lock().page_of(window, groups, knows)
    }

    /// One page of the records with these IDs. The cursor may be any record.
    pub fn page_with(
        &self,
        window: &Window,
        ids: impl IntoIterator<Item = Uuid>,
    ) -> Result<Page<Arc<T>>, Problem> {
        let rows = self.lock();
        let positions = ids.into_iter().filter_map(|id| rows.records.position(id)).collect();
        window.show(&Selection { rows: &rows, positions })
    }

    /// Locks the rows, for several operations under one lock.
    pub fn lock(&self) -> MutexGuard<'_, Rows<T>> {
        lock(&self.rows)
    }
}

impl<T: Record + Clone> Table<T> {
    /// Changes a record without significant growth. Returns `None` if no record has this ID.
    pub fn change<R>(&self, id: Uuid, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock().change(id, change)
    }

    /// Changes a record, unless the result conflicts with another record's key or exceeds the budget, in which case nothing changes.
    ///
    /// # Errors
    /// Also fails if no record has this ID.
    pub fn update<R>(&self, id: Uuid, change: impl FnOnce(&mut T) -> R) -> Result<R, Problem> {
        self.try_update(id, |record| Ok(change(record)))
    }

    /// The same with a change that can fail.
    pub fn try_update<R>(
        &self,
        id: Uuid,
        change: impl FnOnce(&mut T) -> Result<R, Problem>,
    ) -> Result<R, Problem> {
        let mut rows = self.lock();
        let mut changed = T::clone(rows.get(id).ok_or_else(T::not_found)?);
        let made = change(&mut changed)?;
        rows.check_key(&changed, Some(id))?;
        self.budget.check(rows.size_of(id), rows.size_with(&changed), T::PLURAL)?;
        rows.replace(id, changed);
        Ok(made)
    }

    /// Changes every member of a group.
    pub fn change_all(&self, group: &T::Group, id: impl Fn(&T) -> Uuid, change: impl Fn(&mut T)) {
        let mut rows = self.lock();
        let ids: Vec<_> = rows.members(group).map(|record| id(record)).collect();
        for id in ids {
            rows.change(id, &change);
        }
    }

    /// Updates the record with this key, or adds a `blank` one first. Returns its ID.
    ///
    /// # Errors
    /// Fails if a record must be added and the table is full, or if the record exceeds the budget.
    pub fn upsert(
        &self,
        key: &str,
        blank: impl FnOnce() -> (Uuid, T),
        write: impl FnOnce(&mut T),
    ) -> Result<Uuid, Problem> {
        let mut rows = self.lock();
        let known = rows.keys.get(&*T::normalize(key)).and_then(|position| rows.records.get_at(*position));
        if let Some((id, known)) = known {
            let mut changed = T::clone(known);
            write(&mut changed);
            self.budget.check(rows.size_of(id), rows.size_with(&changed), T::PLURAL)?;
            rows.replace(id, changed);
            return Ok(id);
        }
        if rows.len() >= self.max {
            return Err(self.too_many());
        }
        let (id, mut record) = blank();
        write(&mut record);
        self.check_room(&rows, &record)?;
        rows.insert(id, Arc::new(record));
        Ok(id)
    }
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
    fn size_of(&self, id: Uuid) -> usize {
        self.records.position(id).and_then(|position| self.sizes.get(&position)).copied().unwrap_or_default()
    }

    /// By how many bytes a record would make all of them larger.
    fn size_with(&self, record: &T) -> usize {
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

    pub fn get(&self, id: Uuid) -> Option<&Arc<T>> {
        self.records.get(id)
    }

    pub fn find_by_key(&self, key: &str) -> Option<&Arc<T>> {
        let position = self.keys.get(&*T::normalize(key))?;
        self.records.get_at(*position).map(|(_, record)| record)
    }

    /// The members of a group, oldest first.
    pub fn members(&self, group: &T::Group) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        self.positions(group, 0..u64::MAX)
            .filter_map(|position| self.records.get_at(position))
            .map(|(_, record)| record)
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
    fn check_key(&self, record: &T, id: Option<Uuid>) -> Result<(), Problem> {
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

    fn replace(&mut self, id: Uuid, record: T) {
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
            let added = if self.members.contains_key(&group) { 0 } else { group_size(&group) };
            self.members.entry(group).or_default().insert(position);
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
    fn take_changed(&mut self) -> Option<Vec<u64>> {
        self.records.take_changed()
    }

    fn positions(&self) -> Vec<u64> {
        self.records.positions()
    }

    fn get_at(&self, position: u64) -> Option<(Uuid, &Arc<T>)> {
        self.records.get_at(position)
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
