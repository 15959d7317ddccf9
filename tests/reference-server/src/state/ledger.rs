//! Items in the order in which they came, found by id.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

/// A store that finds an item by its id, and its neighbours from there.
///
/// A page costs what the page costs, not what the store holds: the id leads to a place in the order, and the order is
/// walked from that place.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<T> {
    items: BTreeMap<u64, (Uuid, T)>,
    places: HashMap<Uuid, u64>,
    next: u64,
}

impl<T> Ledger<T> {
    pub(crate) fn new() -> Self {
        Self { items: BTreeMap::new(), places: HashMap::new(), next: 0 }
    }

    pub(crate) fn insert(&mut self, id: Uuid, item: T) {
        self.places.insert(id, self.next);
        self.items.insert(self.next, (id, item));
        self.next += 1;
    }

    pub(crate) fn get(&self, id: Uuid) -> Option<&T> {
        let (_, item) = self.items.get(self.places.get(&id)?)?;
        Some(item)
    }

    pub(crate) fn get_mut(&mut self, id: Uuid) -> Option<&mut T> {
        let (_, item) = self.items.get_mut(self.places.get(&id)?)?;
        Some(item)
    }

    pub(crate) fn remove(&mut self, id: Uuid) -> Option<T> {
        let (_, item) = self.items.remove(&self.places.remove(&id)?)?;
        Some(item)
    }

    pub(crate) fn contains(&self, id: Uuid) -> bool {
        self.places.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.places.clear();
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = Uuid> + '_ {
        self.items.values().map(|(id, _)| *id)
    }

    /// Forgets the item that came first.
    pub(crate) fn take_oldest(&mut self) -> Option<T> {
        let (_, (id, item)) = self.items.pop_first()?;
        self.places.remove(&id);
        Some(item)
    }

    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = &T> {
        self.items.values().map(|(_, item)| item)
    }

    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &T> {
        self.items.values().rev().map(|(_, item)| item)
    }

    /// The items older than this one, newest first. None if there is no such item.
    pub(crate) fn older_than(&self, id: Uuid) -> Option<impl Iterator<Item = &T>> {
        let place = *self.places.get(&id)?;
        Some(self.items.range(..place).rev().map(|(_, (_, item))| item))
    }

    /// The items newer than this one, oldest first. None if there is no such item.
    pub(crate) fn newer_than(&self, id: Uuid) -> Option<impl Iterator<Item = &T>> {
        let place = *self.places.get(&id)?;
        Some(self.items.range(place + 1..).map(|(_, (_, item))| item))
    }
}
