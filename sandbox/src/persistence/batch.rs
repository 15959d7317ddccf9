//! Changes, collected under the snapshot lock and encoded after it is released.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::persistence::PersistenceError;
use crate::persistence::job::StoredJob;
use crate::persistence::snapshot::Snapshot;
use crate::persistence::tables::{self, GRANTS, JOBS, KEYS, Visit};
use idempost_reference_server::service::Service;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::ledger::Persist;

/// Tenant, table, position.
pub(super) type Key = (String, u8, u64);

/// A record that is encoded when it is written.
pub(super) trait Encode: Send {
    fn encode(&self) -> Result<Vec<u8>, PersistenceError>;
}

impl<T: Serialize + Send> Encode for T {
    fn encode(&self) -> Result<Vec<u8>, PersistenceError> {
        encode(self)
    }
}

/// The changes of one write. Their order is irrelevant: of each record only the last state counts.
#[derive(Default)]
pub(super) struct Batch {
    /// Deleted tenants.
    pub(super) gone: BTreeSet<String>,
    /// Tables that are replaced: their previous content is deleted.
    pub(super) emptied: BTreeSet<(String, u8)>,
    /// Records to write, or to delete.
    pub(super) records: BTreeMap<Key, Option<Box<dyn Encode>>>,
    /// The key of OAuth tokens, and the clients.
    pub(super) logins: Option<Box<dyn Encode>>,
    pub(super) clock: Option<Vec<u8>>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty()
            && self.emptied.is_empty()
            && self.records.is_empty()
            && self.logins.is_none()
            && self.clock.is_none()
    }

    /// Collects the changes since the last call. The snapshot lock must be held exclusively, so this clones references and encodes nothing.
    pub(super) fn collect(service: &Service, known: &mut BTreeSet<String>) -> Self {
        let mut batch = Self::default();
        let tenants = service.state().tenants.all();
        let now: BTreeSet<String> = tenants.iter().map(|tenant| tenant.name.clone()).collect();
        batch.gone.extend(known.difference(&now).cloned());
        *known = now;
        for tenant in &tenants {
            batch.tenant(tenant);
        }
        service.state().scheduler.changes(|key, job| {
            let stored = job.and_then(StoredJob::of).map(|job| Box::new((key.0, job)) as Box<dyn Encode>);
            batch.records.insert((String::new(), JOBS, key.1), stored);
        });
        let oauth = &service.state().oauth;
        batch.logins = oauth.changed_clients().map(|stored| Box::new(stored) as Box<dyn Encode>);
        let first = oauth.changed_grants(|position, stored| {
            let stored = stored.map(|stored| Box::new(stored) as Box<dyn Encode>);
            batch.records.insert((String::new(), GRANTS, position), stored);
        });
        if first {
            batch.emptied.insert((String::new(), GRANTS));
        }
        batch
    }

    fn tenant(&mut self, tenant: &Arc<Tenant>) {
        // Collecting can't fail.
        let _ = tables::every(tenant, &mut Collect { batch: self, tenant: &tenant.name });
        let first = tenant.keys.changes(|number, stored| {
            let stored = stored.map(|stored| Box::new(stored) as Box<dyn Encode>);
            self.records.insert((tenant.name.clone(), KEYS, number), stored);
        });
        if first {
            self.emptied.insert((tenant.name.clone(), KEYS));
        }
    }

    /// Adds the changes that came after a failed write.
    pub(super) fn then(&mut self, later: Self) {
        self.records.retain(|(tenant, table, _), _| {
            !later.gone.contains(tenant) && !later.emptied.contains(&(tenant.clone(), *table))
        });
        self.gone.extend(later.gone);
        self.emptied.extend(later.emptied);
        self.records.extend(later.records);
        self.logins = later.logins.or(self.logins.take());
        self.clock = later.clock.or(self.clock.take());
    }
}

struct Collect<'a> {
    batch: &'a mut Batch,
    tenant: &'a str,
}

impl Visit for Collect<'_> {
    fn table<T>(&mut self, number: u8, records: &mut impl Persist<T>) -> Result<(), PersistenceError>
    where
        T: Snapshot + DeserializeOwned,
    {
        let mut changed = records.take_changed().unwrap_or_else(|| {
            self.batch.emptied.insert((self.tenant.to_owned(), number));
            records.positions()
        });
        changed.sort_unstable();
        changed.dedup();
        for position in changed {
            let record = records.at(position);
            let record = record.map(|(id, record)| Box::new((*id, T::snapshot(record))) as Box<dyn Encode>);
            self.batch.records.insert((self.tenant.to_owned(), number, position), record);
        }
        Ok(())
    }
}

/// With field names, so that a later version may add fields.
pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>, PersistenceError> {
    rmp_serde::to_vec_named(value).map_err(|error| PersistenceError::Unwritten(error.to_string()))
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PersistenceError> {
    rmp_serde::from_slice(bytes).map_err(|error| PersistenceError::Damaged(error.to_string()))
}
