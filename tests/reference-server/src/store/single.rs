//! A single record of a tenant, which is persisted like the records of a table.

use std::sync::Arc;

use uuid::Uuid;

use crate::store::changes;
use crate::store::ledger::Persist;

/// A record that starts with its default.
#[derive(Debug, Default)]
pub struct Single<T> {
    /// `None` until the first change, so that tenants that never change it persist nothing.
    record: Option<(Uuid, Arc<T>)>,
    /// Whether it changed, once persistence has subscribed.
    changed: Option<bool>,
}

impl<T: Clone + Default> Single<T> {
    pub fn get(&self) -> T {
        self.record.as_ref().map(|(_, record)| T::clone(record)).unwrap_or_default()
    }

    pub fn set(&mut self, record: T) {
        if let Some(changed) = &mut self.changed {
            *changed = true;
            changes::count(size_of::<T>());
        }
        match self.record.as_mut().and_then(|(_, known)| Arc::get_mut(known)) {
            Some(known) => *known = record,
            // A snapshot shares it.
            None => self.record = Some((Uuid::nil(), Arc::new(record))),
        }
    }
}

impl<T> Persist<T> for Single<T> {
    fn take_changed(&mut self) -> Option<Vec<u64>> {
        let changed = self.changed.replace(false)?;
        Some(if changed { vec![0] } else { Vec::new() })
    }

    fn positions(&self) -> Vec<u64> {
        self.record.iter().map(|_| 0).collect()
    }

    fn get_at(&self, position: u64) -> Option<(Uuid, &Arc<T>)> {
        self.record.as_ref().filter(|_| position == 0).map(|(id, record)| (*id, record))
    }

    fn restore(&mut self, _position: u64, id: Uuid, record: Arc<T>) {
        self.changed.get_or_insert_default();
        self.record = Some((id, record));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_a_shared_record_as_it_was() {
        let mut single = Single::default();
        single.set(1);
        single.set(2);
        let shared = single.get_at(0).map(|(_, record)| Arc::clone(record)).unwrap();
        single.set(3);
        assert_eq!((*shared, single.get()), (2, 3));
    }
}
