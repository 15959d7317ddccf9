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
    /// The positions that changed since the last call; `None` on the first call, which starts the tracking.
    fn take_changed(&mut self) -> Option<Vec<u64>>;

    /// All positions with a record.
    fn positions(&self) -> Vec<u64>;

    fn get_at(&self, position: u64) -> Option<&(Uuid, Arc<T>)>;

    /// Restores a record at its position, which doesn't count as a change.
    fn restore(&mut self, position: u64, id: Uuid, record: Arc<T>);
}

/// A store that finds an item by its ID, and its neighbors from there.
///
/// The cost of a page depends on the page's size, not the store's: the ID yields a position, where the walk starts.
#[derive(Clone, Debug)]
pub struct Ledger<T> {
    items: BTreeMap<u64, (Uuid, T)>,
    positions: HashMap<Uuid, u64>,
    next: u64,
    /// The changed positions, once persistence has subscribed.
    changed: Option<Vec<u64>>,
}

impl<T> Ledger<T> {
    pub(crate) fn new() -> Self {
        Self { items: BTreeMap::new(), positions: HashMap::default(), next: 0, changed: None }
    }

    /// Adds an item. Returns its position.
    pub fn insert(&mut self, id: Uuid, item: T) -> u64 {
        let position = self.next;
        self.track(position);
        self.positions.insert(id, position);
        self.items.insert(position, (id, item));
        self.next += 1;
        position
    }

    pub fn position(&self, id: Uuid) -> Option<u64> {
        self.positions.get(&id).copied()
    }

    /// The items at these positions, in the same order.
    pub fn get_many(&self, positions: impl Iterator<Item = u64>) -> impl Iterator<Item = &T> {
        positions.filter_map(|position| self.items.get(&position)).map(|(_, item)| item)
    }

    pub fn get(&self, id: Uuid) -> Option<&T> {
        let (_, item) = self.items.get(self.positions.get(&id)?)?;
        Some(item)
    }

    pub fn get_mut(&mut self, id: Uuid) -> Option<&mut T> {
        let position = *self.positions.get(&id)?;
        self.track(position);
        let (_, item) = self.items.get_mut(&position)?;
        Some(item)
    }

    pub fn remove(&mut self, id: Uuid) -> Option<T> {
        let position = self.positions.remove(&id)?;
        self.track(position);
        let (_, item) = self.items.remove(&position)?;
        Some(item)
    }

    /// Marks an item as changed.
    pub fn mark_changed(&mut self, id: Uuid) {
        if self.changed.is_some()
            && let Some(position) = self.positions.get(&id)
        {
            self.track(*position);
        }
    }

    pub fn contains(&self, id: Uuid) -> bool {
        self.positions.contains_key(&id)
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the ledger is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
    pub fn entries(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &T)> {
        self.items.range(range).rev().map(|(position, (_, item))| (*position, item))
    }

    pub fn ids(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.items.values().map(|(id, _)| *id)
    }

    /// Removes the oldest item. Also returns its position.
    pub fn take_oldest(&mut self) -> Option<(u64, T)> {
        let (position, (id, item)) = self.items.pop_first()?;
        self.track(position);
        self.positions.remove(&id);
        Some((position, item))
    }

    pub fn oldest_first(&self) -> impl Iterator<Item = &T> {
        self.items.values().map(|(_, item)| item)
    }

    pub fn newest_first(&self) -> impl Iterator<Item = &T> {
        self.items.values().rev().map(|(_, item)| item)
    }
}

impl<T: Clone> Ordered for Ledger<T> {
    type Item = T;

    fn position(&self, id: Uuid) -> Option<u64> {
        self.position(id)
    }

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &T> {
        self.items.range(range).rev().map(|(_, (_, item))| item)
    }

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &T> {
        self.items.range(range).map(|(_, (_, item))| item)
    }
}

impl<T> Persist<T> for Ledger<Arc<T>> {
    fn take_changed(&mut self) -> Option<Vec<u64>> {
        self.changed.replace(Vec::new())
    }

    fn positions(&self) -> Vec<u64> {
        self.items.keys().copied().collect()
    }

    fn get_at(&self, position: u64) -> Option<&(Uuid, Arc<T>)> {
        self.items.get(&position)
    }

    fn restore(&mut self, position: u64, id: Uuid, record: Arc<T>) {
        self.changed.get_or_insert_default();
        self.positions.insert(id, position);
        self.items.insert(position, (id, record));
        self.next = self.next.max(position + 1);
    }
}
