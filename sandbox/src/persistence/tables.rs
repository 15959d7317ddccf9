//! A tenant's tables, with their numbers on disk.

use std::ops::DerefMut;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::persistence::PersistenceError;
use idempost_reference_server::lock::lock;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::ledger::Persist;

/// Scheduled jobs of all tenants.
pub(super) const JOBS: u8 = 101;

/// OAuth grants of all tenants.
pub(super) const GRANTS: u8 = 102;

/// A record that can be stored.
pub(super) trait Stored: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Stored for T {}

/// Returns a snapshot of a record, which is written later.
pub(super) type Snapshot<T> = fn(&Arc<T>) -> Arc<T>;

pub(super) trait Visit {
    /// Visits a table. `lock` locks its records.
    fn table<T: Stored, R: DerefMut<Target: Persist<T>>>(
        &mut self,
        number: u8,
        lock: impl FnOnce() -> R,
        snapshot: Snapshot<T>,
    ) -> Result<(), PersistenceError>;
}

/// The snapshot of a record that is changed in place.
fn copy<T: Clone>(record: &Arc<T>) -> Arc<T> {
    Arc::new(T::clone(record))
}

/// Visits every table. Numbers are never reused: files of earlier versions contain them. Most records never change, since updates replace them; the
/// events of an email and the attempts of a delivery are added in place.
pub(super) fn visit_all(tenant: &Tenant, visit: &mut impl Visit) -> Result<(), PersistenceError> {
    visit.table(1, || lock(&tenant.emails), copy)?;
    visit.table(2, || lock(&tenant.captured), Arc::clone)?;
    visit.table(3, || lock(&tenant.received), Arc::clone)?;
    visit.table(4, || tenant.api_keys.lock(), Arc::clone)?;
    visit.table(5, || tenant.automations.lock(), Arc::clone)?;
    visit.table(6, || tenant.runs.lock(), Arc::clone)?;
    visit.table(7, || tenant.broadcasts.lock(), Arc::clone)?;
    visit.table(8, || tenant.contacts.lock(), Arc::clone)?;
    visit.table(9, || tenant.contact_properties.lock(), Arc::clone)?;
    visit.table(10, || tenant.domains.lock(), Arc::clone)?;
    visit.table(11, || tenant.events.lock(), Arc::clone)?;
    visit.table(12, || tenant.segments.lock(), Arc::clone)?;
    visit.table(13, || tenant.templates.lock(), Arc::clone)?;
    visit.table(14, || tenant.topics.lock(), Arc::clone)?;
    visit.table(15, || tenant.webhooks.lock(), Arc::clone)?;
    visit.table(16, || tenant.deliveries.lock(), copy)?;
    visit.table(17, || tenant.suppressions.lock(), Arc::clone)?;
    visit.table(18, || lock(&tenant.usage), Arc::clone)?;
    visit.table(19, || tenant.contact_imports.lock(), Arc::clone)?;
    visit.table(20, || tenant.domain_claims.lock(), Arc::clone)?;
    visit.table(21, || tenant.keys.lock(), Arc::clone)?;
    visit.table(30, || tenant.inboxes.inboxes.lock(), Arc::clone)?;
    visit.table(31, || tenant.inboxes.labels.lock(), Arc::clone)?;
    visit.table(32, || tenant.inboxes.threads.lock(), Arc::clone)?;
    visit.table(33, || tenant.inboxes.emails.lock(), Arc::clone)?;
    visit.table(34, || tenant.inboxes.drafts.lock(), Arc::clone)
}
