//! The records of one resource of one tenant.

use std::sync::{Arc, Mutex, MutexGuard};

use http::StatusCode;
use uuid::Uuid;

use super::ledger::Ledger;
use crate::lock::lock;
use crate::paging::{Page, Window};
use crate::problem::Problem;

/// Records in the order in which they came, found by id, and not more of them than the settings allow.
///
/// A record is shared while it is read, so that an answer is written without holding the room, and copied when it is changed meanwhile.
#[derive(Debug)]
pub(crate) struct Room<T> {
    /// What they are, for the message when the room is full: `templates`.
    name: &'static str,
    most: usize,
    records: Mutex<Ledger<Arc<T>>>,
}

impl<T: Clone> Room<T> {
    pub(crate) fn new(name: &'static str, most: usize) -> Self {
        Self { name, most, records: Mutex::new(Ledger::new()) }
    }

    /// Adds a record, unless the room is full.
    pub(crate) fn add(&self, id: Uuid, record: T) -> Result<(), Problem> {
        self.add_unless(id, record, |_| None)
    }

    /// Adds a record, unless the room is full or one of the records is a reason not to. Nothing comes between the look and the act.
    pub(crate) fn add_unless(
        &self,
        id: Uuid,
        record: T,
        reason: impl Fn(&T) -> Option<Problem>,
    ) -> Result<(), Problem> {
        let mut records = self.lock();
        if let Some(problem) = records.newest_first().find_map(|one| reason(one)) {
            return Err(problem);
        }
        if records.len() >= self.most {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "validation_error",
                format!("This sandbox keeps at most {} {}; delete some first.", self.most, self.name),
            ));
        }
        records.insert(id, Arc::new(record));
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().len() == 0
    }

    pub(crate) fn get(&self, id: Uuid) -> Option<Arc<T>> {
        self.lock().get(id).cloned()
    }

    /// The newest record for which this holds.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.lock().newest_first().find(|record| wanted(record)).cloned()
    }

    /// Every record, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.lock().newest_first().cloned().collect()
    }

    /// Changes a record. None if there is none with this id.
    pub(crate) fn change<R>(&self, id: Uuid, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock().get_mut(id).map(|record| change(Arc::make_mut(record)))
    }

    pub(crate) fn remove(&self, id: Uuid) -> Option<Arc<T>> {
        self.lock().remove(id)
    }

    /// The page that a window shows, of the records that `wanted` lets through.
    pub(crate) fn page(&self, window: &Window, wanted: impl Fn(&T) -> bool) -> Result<Page<Arc<T>>, Problem> {
        window.look(&self.lock(), |record| wanted(record))
    }

    /// The records themselves, for what has to see and act at once.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Ledger<Arc<T>>> {
        lock(&self.records)
    }
}
