//! Items in insertion order, with lookup by ID.
//!
//! The IDs are random UUIDs that the service generates. Clients can't choose colliding keys, so the faster hash of `foldhash` is safe here.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;
use uuid::Uuid;

use super::changes;

/// A list that is shown page by page. Each item has a position; newer items have higher ones.
pub trait Ordered {
    type Item: Clone;

    /// The position of the item with this ID, even if it is no longer in the list.
    fn position(&self, id: Uuid) -> Option<u64>;

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item>;

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item>;
}

/// A store that is persisted and restored record by record.
pub trait Persist<T> {
    /// The records, whose changes are tracked.
    fn ledger(&mut self) -> &mut Ledger<Arc<T>>;

    /// Restores a record at its position, which doesn't count as a change.
    fn restore(&mut self, position: u64, id: Uuid, record: Arc<T>);
}

/// A store that finds an item by its ID, and its neighbors from there.
///
/// The cost of a page depends on the page's size, not the store's: the ID yields a position, where the walk starts. The order has no items in
/// it, so that all ledgers share the code of its tree.
#[derive(Clone, Debug)]
pub struct Ledger<T> {
    items: HashMap<Uuid, (u64, T)>,
    order: BTreeMap<u64, Uuid>,
    next: u64,
    /// The changed positions, once persistence has subscribed.
    changed: Option<Vec<u64>>,
}

impl<T> Ledger<T> {
    pub(crate) fn new() -> Self {
        Self { items: HashMap::default(), order: BTreeMap::new(), next: 0, changed: None }
    }

    /// Adds an item. Returns its position.
    pub fn insert(&mut self, id: Uuid, item: T) -> u64 {
        let position = self.next;
        self.track(position);
        self.put(position, id, item);
        position
    }

    fn put(&mut self, position: u64, id: Uuid, item: T) {
        self.items.insert(id, (position, item));
        self.order.insert(position, id);
        self.next = self.next.max(position + 1);
    }

    pub fn position(&self, id: Uuid) -> Option<u64> {
        self.items.get(&id).map(|(position, _)| *position)
    }

    /// The items at these positions, in the same order.
    pub fn get_many(&self, positions: impl Iterator<Item = u64>) -> impl Iterator<Item = &T> {
        self.found(positions.filter_map(|position| self.order.get(&position)))
    }

    fn found<'a>(&'a self, ids: impl Iterator<Item = &'a Uuid>) -> impl Iterator<Item = &'a T> {
        ids.filter_map(|id| self.get(*id))
    }

    pub fn get(&self, id: Uuid) -> Option<&T> {
        self.items.get(&id).map(|(_, item)| item)
    }

    pub fn get_mut(&mut self, id: Uuid) -> Option<&mut T> {
        self.mark_changed(id);
        self.items.get_mut(&id).map(|(_, item)| item)
    }

    pub fn remove(&mut self, id: Uuid) -> Option<T> {
        let (position, item) = self.items.remove(&id)?;
        self.track(position);
        self.order.remove(&position);
        Some(item)
    }

    /// Marks an item as changed.
    pub fn mark_changed(&mut self, id: Uuid) {
        if self.changed.is_some()
            && let Some(position) = self.position(id)
        {
            self.track(position);
        }
    }

    pub fn contains(&self, id: Uuid) -> bool {
        self.items.contains_key(&id)
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the ledger is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions that changed since the last call; `None` on the first call, which starts the tracking.
    pub fn take_changed(&mut self) -> Option<Vec<u64>> {
        self.changed.replace(Vec::new())
    }

    fn track(&mut self, position: u64) {
        if let Some(changed) = &mut self.changed {
            changes::count(0);
            changed.push(position);
        }
    }

    /// The position of the next item.
    pub fn next_position(&self) -> u64 {
        self.next
    }

    /// The items in a range of positions, newest first, with their positions.
    pub fn entries(&self, range: Range<u64>) -> impl Iterator<Item = &(u64, T)> {
        self.order.range(range).rev().filter_map(|(_, id)| self.items.get(id))
    }

    /// All positions with an item.
    pub fn positions(&self) -> Vec<u64> {
        self.order.keys().copied().collect()
    }

    /// The item at a position, with its ID.
    pub fn get_at(&self, position: u64) -> Option<(Uuid, &T)> {
        let id = *self.order.get(&position)?;
        self.get(id).map(|item| (id, item))
    }

    pub fn ids(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.order.values().copied()
    }

    /// Removes the oldest item. Also returns its position.
    pub fn take_oldest(&mut self) -> Option<(u64, T)> {
        let (position, id) = self.order.pop_first()?;
        self.track(position);
        self.items.remove(&id)
    }

    pub fn oldest_first(&self) -> impl Iterator<Item = &T> {
        self.found(self.order.values())
    }

    pub fn newest_first(&self) -> impl Iterator<Item = &T> {
        self.found(self.order.values().rev())
    }
}

impl<T: Clone> Ordered for Ledger<T> {
    type Item = T;

    fn position(&self, id: Uuid) -> Option<u64> {
        self.position(id)
    }

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &T> {
        self.found(self.order.range(range).rev().map(|(_, id)| id))
    }

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &T> {
        self.found(self.order.range(range).map(|(_, id)| id))
    }
}

impl<T> Persist<T> for Ledger<Arc<T>> {
    fn ledger(&mut self) -> &mut Self {
        self
    }

    fn restore(&mut self, position: u64, id: Uuid, record: Arc<T>) {
        self.changed.get_or_insert_default();
        self.put(position, id, record);
    }
}
