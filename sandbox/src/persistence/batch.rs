//! Changes, collected under the snapshot lock and encoded after it is released.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::persistence::PersistenceError;
use crate::persistence::segment::Place;
use crate::persistence::tables::{self, GRANTS, JOBS, Snapshot, Stored, Visit};
use idempost_reference_server::service::Service;
use idempost_reference_server::state::job::Work;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::ledger::Persist;

/// A record that is encoded only when it is written: appends it.
pub(super) type Record = Box<dyn Fn(&mut Vec<u8>) -> Result<(), PersistenceError> + Send>;

fn record(value: impl Serialize + Send + 'static) -> Record {
    Box::new(move |to| encode(&value, to))
}

/// The tenants as written to the file.
#[derive(Default)]
pub(super) struct Known {
    /// The number in the file and the last use, by name.
    tenants: BTreeMap<String, (u32, u64)>,
    last: u32,
}

impl Known {
    /// Creates the known tenants. The records of deleted ones may still be in the file, so numbers up to `recorded` aren't used again.
    pub(super) fn new(stored: BTreeMap<u32, (String, u64)>, recorded: u32) -> Self {
        let last = stored.keys().last().map_or(recorded, |last| recorded.max(*last));
        let tenants = stored.into_iter().map(|(number, (name, used))| (name, (number, used)));
        Self { tenants: tenants.collect(), last }
    }
}

/// The changes in one write, in any order: only the last state of each record counts.
#[derive(Default)]
pub(super) struct Batch {
    /// Deleted tenants.
    pub(super) gone: BTreeSet<u32>,
    /// New and used tenants: the name, and the number of the last use.
    pub(super) tenants: BTreeMap<u32, (String, u64)>,
    /// Replaced tables, whose previous content has to be deleted.
    pub(super) emptied: BTreeSet<(u32, u8)>,
    /// Records to write, or to delete.
    pub(super) records: BTreeMap<Place, Option<Record>>,
    /// The key for OAuth tokens, and the clients.
    pub(super) logins: Option<Record>,
    pub(super) clock: Option<Vec<u8>>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty()
            && self.tenants.is_empty()
            && self.emptied.is_empty()
            && self.records.is_empty()
            && self.logins.is_none()
            && self.clock.is_none()
    }

    /// Collects the changes since the last call. The caller holds the snapshot lock exclusively, so this only clones references and doesn't encode
    /// anything.
    pub(super) fn collect(service: &Service, known: &mut Known) -> Self {
        let mut batch = Self::default();
        let tenants = service.state().tenants.all();
        batch.collect_tenants(&tenants, known);
        for tenant in &tenants {
            if let Some((number, _)) = known.tenants.get(&tenant.name) {
                // Collecting can't fail.
                let _ = tables::visit_all(tenant, &mut Collector { batch: &mut batch, tenant: *number });
            }
        }
        service.state().scheduler.changes(|(due, position), job| {
            let stored = job.and_then(|job| {
                let Work::Task(task) = &job.work else { return None };
                let tenant = job.tenant.upgrade()?.name.clone();
                Some(record((due, tenant, task.clone())))
            });
            batch.records.insert(shared_place(JOBS, position), stored);
        });
        let oauth = &service.state().oauth;
        batch.logins = oauth.changed_clients().map(record);
        let first = oauth.changed_grants(|position, stored| {
            batch.records.insert(shared_place(GRANTS, position), stored.map(record));
        });
        if first {
            batch.emptied.insert((Place::ALL, GRANTS));
        }
        batch
    }

    /// Collects the new, used and deleted tenants.
    pub(super) fn collect_tenants(&mut self, tenants: &[Arc<Tenant>], known: &mut Known) {
        let mut before = std::mem::take(&mut known.tenants);
        for tenant in tenants {
            let used = tenant.last_used.load(Ordering::Relaxed);
            let (number, written) = before.remove(&tenant.name).unwrap_or_else(|| {
                known.last += 1;
                (known.last, u64::MAX)
            });
            if used != written {
                self.tenants.insert(number, (tenant.name.clone(), used));
            }
            known.tenants.insert(tenant.name.clone(), (number, used));
        }
        self.gone.extend(before.into_values().map(|(number, _)| number));
    }

    /// Returns whether this batch replaces or deletes the record at a position.
    pub(super) fn replaces(&self, place: Place) -> bool {
        self.records.contains_key(&place)
            || self.emptied.contains(&(place.tenant, place.table))
            || self.gone.contains(&place.tenant)
    }

    /// Adds the changes made since a failed write.
    pub(super) fn merge(&mut self, later: Self) {
        if self.is_empty() {
            *self = later;
            return;
        }
        self.records.retain(|place, _| !later.replaces(*place));
        self.tenants.retain(|number, _| !later.gone.contains(number));
        self.gone.extend(later.gone);
        self.tenants.extend(later.tenants);
        self.emptied.extend(later.emptied);
        self.records.extend(later.records);
        self.logins = later.logins.or(self.logins.take());
        self.clock = later.clock.or(self.clock.take());
    }
}

fn shared_place(table: u8, position: u64) -> Place {
    Place { tenant: Place::ALL, table, position }
}

struct Collector<'a> {
    batch: &'a mut Batch,
    tenant: u32,
}

impl Visit for Collector<'_> {
    fn table<T: Stored, R: DerefMut<Target: Persist<T>>>(
        &mut self,
        number: u8,
        lock: impl FnOnce() -> R,
        snapshot: Snapshot<T>,
    ) -> Result<(), PersistenceError> {
        let mut records = lock();
        let records = records.ledger();
        let changed = records.take_changed().unwrap_or_else(|| {
            self.batch.emptied.insert((self.tenant, number));
            records.positions()
        });
        for position in changed {
            let place = Place { tenant: self.tenant, table: number, position };
            self.batch.records.entry(place).or_insert_with(|| {
                records.get_at(position).map(|(id, stored)| record((id, snapshot(stored))))
            });
        }
        Ok(())
    }
}

/// Appends a value with its field names, so that a later version may add fields.
pub(super) fn encode(value: &impl Serialize, to: &mut Vec<u8>) -> Result<(), PersistenceError> {
    rmp_serde::encode::write_named(to, value).map_err(|error| PersistenceError::Unwritten(error.to_string()))
}
