//! A tenant's tables, with their numbers on disk.

use std::ops::DerefMut;

use serde::de::DeserializeOwned;

use crate::persistence::PersistenceError;
use crate::persistence::snapshot::Snapshot;
use idempost_reference_server::lock::lock;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::ledger::Persist;

/// Idempotency keys, which aren't stored in a ledger.
pub(super) const KEYS: u8 = 100;

/// Scheduled jobs of all tenants.
pub(super) const JOBS: u8 = 101;

/// OAuth grants of all tenants.
pub(super) const GRANTS: u8 = 102;

pub(super) trait Visit {
    /// Visits a table. `lock` locks its records.
    fn table<T, R>(&mut self, number: u8, lock: impl FnOnce() -> R) -> Result<(), PersistenceError>
    where
        T: Snapshot + DeserializeOwned,
        R: DerefMut<Target: Persist<T>>;
}

/// Visits every table. Numbers are never reused: files of earlier versions contain them.
pub(super) fn visit_all(tenant: &Tenant, visit: &mut impl Visit) -> Result<(), PersistenceError> {
    visit.table(1, || lock(&tenant.emails))?;
    visit.table(2, || lock(&tenant.captured))?;
    visit.table(3, || lock(&tenant.received))?;
    visit.table(4, || tenant.api_keys.lock())?;
    visit.table(5, || tenant.automations.lock())?;
    visit.table(6, || tenant.runs.lock())?;
    visit.table(7, || tenant.broadcasts.lock())?;
    visit.table(8, || tenant.contacts.lock())?;
    visit.table(9, || tenant.contact_properties.lock())?;
    visit.table(10, || tenant.domains.lock())?;
    visit.table(11, || tenant.events.lock())?;
    visit.table(12, || tenant.segments.lock())?;
    visit.table(13, || tenant.templates.lock())?;
    visit.table(14, || tenant.topics.lock())?;
    visit.table(15, || tenant.webhooks.lock())?;
    visit.table(16, || tenant.deliveries.lock())?;
    visit.table(17, || tenant.suppressions.lock())?;
    visit.table(18, || lock(&tenant.usage))?;
    visit.table(19, || tenant.contact_imports.lock())?;
    visit.table(20, || tenant.domain_claims.lock())?;
    visit.table(30, || tenant.inboxes.inboxes.lock())?;
    visit.table(31, || tenant.inboxes.labels.lock())?;
    visit.table(32, || tenant.inboxes.threads.lock())?;
    visit.table(33, || tenant.inboxes.emails.lock())?;
    visit.table(34, || tenant.inboxes.drafts.lock())
}
