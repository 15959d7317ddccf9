//! A single record of a tenant, which is persisted like the records of a table.

use std::sync::Arc;

use uuid::Uuid;

use crate::store::ledger::{Ledger, Persist};

/// A record that starts with its default.
#[derive(Debug)]
pub struct Single<T> {
    /// Empty until the first change, so that tenants that never change it persist nothing.
    record: Ledger<Arc<T>>,
}

impl<T: Clone + Default> Single<T> {
    pub(crate) fn new() -> Self {
        Self { record: Ledger::new() }
    }

    pub fn get(&self) -> T {
        self.record.get(Uuid::nil()).map(|record| T::clone(record)).unwrap_or_default()
    }

    pub fn set(&mut self, record: T) {
        match self.record.get_mut(Uuid::nil()) {
            Some(known) => *Arc::make_mut(known) = record,
            None => drop(self.record.insert(Uuid::nil(), Arc::new(record))),
        }
    }
}

impl<T> Persist<T> for Single<T> {
    fn ledger(&mut self) -> &mut Ledger<Arc<T>> {
        &mut self.record
    }

    fn restore(&mut self, position: u64, id: Uuid, record: Arc<T>) {
        self.record.restore(position, id, record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_a_shared_record_as_it_was() {
        let mut single = Single::new();
        single.set(1);
        single.set(2);
        let shared = single.ledger().get_at(0).map(|(_, record)| Arc::clone(record)).unwrap();
        single.set(3);
        assert_eq!((*shared, single.get()), (2, 3));
    }
}
