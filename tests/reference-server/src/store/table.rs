//! The records of one resource of one tenant, with their indexes.

mod rows;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use url::Host;
use uuid::Uuid;

use crate::lock::lock;
use crate::store::budget::{Budget, Reservation};
use crate::store::size;
use crate::wire::{Checked, Field, Page, Problem, Window, quote, uuid};

pub use rows::Rows;

/// A record of a table, with its unique key and its groups for lookups.
pub trait Record: Serialize {
    /// The name with its article, for error messages: `a template`.
    const NOUN: &'static str;

    /// The plural name for error messages: `templates`.
    const PLURAL: &'static str;

    /// Whether keys that differ only in case are the same key, as are an address with its domain in letters and in ASCII (RFC 5890).
    const IGNORES_CASE: bool = false;

    /// A set of records that is looked up or shown page by page; [`NoGroup`] if there is none.
    type Group: Debug + Eq + Hash + Serialize;

    /// The unique key of this record, apart from its ID.
    fn key(&self) -> Option<&str> {
        None
    }

    /// Normalizes a key for comparison.
    fn normalize(key: &str) -> Cow<'_, str> {
        match Self::IGNORES_CASE {
            true if key.is_ascii() => lower_case(key),
            true => Cow::Owned(to_ascii_domain(key)),
            false => Cow::Borrowed(key),
        }
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

/// Normalizes an address or a domain that isn't in ASCII.
fn to_ascii_domain(key: &str) -> String {
    let (local, domain) = key.split_at(key.rfind('@').map_or(0, |at| at + 1));
    let domain = match Host::parse(domain) {
        Ok(Host::Domain(ascii)) => ascii,
        _ => domain.to_lowercase(),
    };
    local.to_lowercase() + &domain
}

/// The group type of records without groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum NoGroup {}

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

    /// The error when it is full.
    pub fn too_many(&self) -> Problem {
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

    /// The number of records that can be added.
    pub fn room(&self) -> usize {
        self.max.saturating_sub(self.lock().len())
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
        self.lock().page_with(window, ids)
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
    pub fn change_all(&self, group: &T::Group, change: impl Fn(&mut T)) {
        let mut rows = self.lock();
        for id in rows.member_ids(group) {
            rows.change(id, &change);
        }
    }

    /// Updates the record with this key, or adds a `blank` one first; `write` knows whether it is new. Returns its ID.
    ///
    /// # Errors
    /// Fails if a record must be added and the table is full, or if the record exceeds the budget.
    pub fn upsert<R>(
        &self,
        key: &str,
        blank: impl FnOnce() -> (Uuid, T),
        write: impl FnOnce(&mut T, bool) -> R,
    ) -> Result<(Uuid, R), Problem> {
        let mut rows = self.lock();
        let known = rows.keys.get(&*T::normalize(key)).and_then(|position| rows.records.get_at(*position));
        if let Some((id, known)) = known {
            let mut changed = T::clone(known);
            let written = write(&mut changed, false);
            self.budget.check(rows.size_of(id), rows.size_with(&changed), T::PLURAL)?;
            rows.replace(id, changed);
            return Ok((id, written));
        }
        if rows.len() >= self.max {
            return Err(self.too_many());
        }
        let (id, mut record) = blank();
        let written = write(&mut record, true);
        self.check_room(&rows, &record)?;
        rows.insert(id, Arc::new(record));
        Ok((id, written))
    }
}
