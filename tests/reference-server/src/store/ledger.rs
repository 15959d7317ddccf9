//! Items in insertion order, with lookup by ID.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;
use uuid::Uuid;

use super::changes;

/// A list that is shown page by page. Each item has a position; newer items have higher ones.
pub(crate) trait Ordered {
    type Item: Clone;

    /// The position of the item with this ID, also of one that is no longer in the list.
    fn place(&self, id: Uuid) -> Option<u64>;

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item>;

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Self::Item>;
}

/// A store that is persisted and restored record by record.
pub(crate) trait Persist<T> {
    /// The positions that changed since the last call; `None` on the first call, which starts the tracking.
    fn take_touched(&mut self) -> Option<Vec<u64>>;

    /// All positions with a record.
    fn taken(&self) -> Vec<u64>;

    fn at(&self, place: u64) -> Option<&(Uuid, Arc<T>)>;

    /// Restores a record at its position, which doesn't count as a change.
    fn put_back(&mut self, place: u64, id: Uuid, record: Arc<T>);
}

/// A store that finds an item by its ID, and its neighbors from there.
///
/// The cost of a page depends on the page's size, not the store's: the ID leads to a position, where the walk starts.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<T> {
    items: BTreeMap<u64, (Uuid, T)>,
    places: HashMap<Uuid, u64>,
    next: u64,
    /// The changed positions, once persistence has subscribed.
    touched: Option<Vec<u64>>,
}

impl<T> Ledger<T> {
    pub(crate) fn new() -> Self {
        Self { items: BTreeMap::new(), places: HashMap::default(), next: 0, touched: None }
    }

    /// Adds an item. Returns its position.
    pub(crate) fn insert(&mut self, id: Uuid, item: T) -> u64 {
        let place = self.next;
        self.note(place);
        self.places.insert(id, place);
        self.items.insert(place, (id, item));
        self.next += 1;
        place
    }

    pub(crate) fn place(&self, id: Uuid) -> Option<u64> {
        self.places.get(&id).copied()
    }

    /// The items at these positions, in the same order.
    pub(crate) fn at_all(&self, places: impl Iterator<Item = u64>) -> impl Iterator<Item = &T> {
        places.filter_map(|place| self.items.get(&place)).map(|(_, item)| item)
    }

    pub(crate) fn get(&self, id: Uuid) -> Option<&T> {
        let (_, item) = self.items.get(self.places.get(&id)?)?;
        Some(item)
    }

    pub(crate) fn get_mut(&mut self, id: Uuid) -> Option<&mut T> {
        let place = *self.places.get(&id)?;
        self.note(place);
        let (_, item) = self.items.get_mut(&place)?;
        Some(item)
    }

    pub(crate) fn remove(&mut self, id: Uuid) -> Option<T> {
        let place = self.places.remove(&id)?;
        self.note(place);
        let (_, item) = self.items.remove(&place)?;
        Some(item)
    }

    /// Marks an item as changed.
    pub(crate) fn touch(&mut self, id: Uuid) {
        if let Some(place) = self.places.get(&id) {
            self.note(*place);
        }
    }

    pub(crate) fn contains(&self, id: Uuid) -> bool {
        self.places.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn clear(&mut self) {
        if let Some(touched) = &mut self.touched {
            touched.extend(self.items.keys());
        }
        self.items.clear();
        self.places.clear();
    }

    /// Returns the positions that changed since the last call; `None` on the first call, which starts the tracking.
    pub(crate) fn take_touched(&mut self) -> Option<Vec<u64>> {
        self.touched.replace(Vec::new())
    }

    /// All positions with an item.
    pub(crate) fn taken(&self) -> Vec<u64> {
        self.items.keys().copied().collect()
    }

    pub(crate) fn at(&self, place: u64) -> Option<&(Uuid, T)> {
        self.items.get(&place)
    }

    /// Restores an item at its position, which doesn't count as a change.
    pub(crate) fn put_back(&mut self, place: u64, id: Uuid, item: T) {
        self.touched.get_or_insert_default();
        self.places.insert(id, place);
        self.items.insert(place, (id, item));
        self.next = self.next.max(place + 1);
    }

    fn note(&mut self, place: u64) {
        if let Some(touched) = &mut self.touched {
            changes::count(0);
            touched.push(place);
        }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.items.values().map(|(id, _)| *id)
    }

    /// Removes the oldest item. Returns its position, too.
    pub(crate) fn take_oldest(&mut self) -> Option<(u64, T)> {
        let (place, (id, item)) = self.items.pop_first()?;
        self.note(place);
        self.places.remove(&id);
        Some((place, item))
    }

    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = &T> {
        self.items.values().map(|(_, item)| item)
    }

    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &T> {
        self.items.values().rev().map(|(_, item)| item)
    }
}

impl<T: Clone> Ordered for Ledger<T> {
    type Item = T;

    fn place(&self, id: Uuid) -> Option<u64> {
        self.place(id)
    }

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &T> {
        self.items.range(range).rev().map(|(_, (_, item))| item)
    }

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &T> {
        self.items.range(range).map(|(_, (_, item))| item)
    }
}

impl<T> Persist<T> for Ledger<Arc<T>> {
    fn take_touched(&mut self) -> Option<Vec<u64>> {
        self.take_touched()
    }

    fn taken(&self) -> Vec<u64> {
        self.taken()
    }

    fn at(&self, place: u64) -> Option<&(Uuid, Arc<T>)> {
        self.at(place)
    }

    fn put_back(&mut self, place: u64, id: Uuid, record: Arc<T>) {
        self.put_back(place, id, record);
    }
}
