//! The tables of a tenant, each with its number on disk.

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
    fn table<T>(&mut self, number: u8, records: &mut impl Persist<T>) -> Result<(), PersistenceError>
    where
        T: Snapshot + DeserializeOwned;
}

/// Visits every table. Numbers are never reused: files of earlier versions contain them.
pub(super) fn every(tenant: &Tenant, visit: &mut impl Visit) -> Result<(), PersistenceError> {
    visit.table(1, &mut *lock(&tenant.emails))?;
    visit.table(2, &mut *lock(&tenant.captured))?;
    visit.table(3, &mut *lock(&tenant.received))?;
    visit.table(4, &mut *tenant.api_keys.lock())?;
    visit.table(5, &mut *tenant.automations.lock())?;
    visit.table(6, &mut *tenant.runs.lock())?;
    visit.table(7, &mut *tenant.broadcasts.lock())?;
    visit.table(8, &mut *tenant.contacts.lock())?;
    visit.table(9, &mut *tenant.contact_properties.lock())?;
    visit.table(10, &mut *tenant.domains.lock())?;
    visit.table(11, &mut *tenant.events.lock())?;
    visit.table(12, &mut *tenant.segments.lock())?;
    visit.table(13, &mut *tenant.templates.lock())?;
    visit.table(14, &mut *tenant.topics.lock())?;
    visit.table(15, &mut *tenant.webhooks.lock())?;
    visit.table(16, &mut *tenant.deliveries.lock())?;
    visit.table(17, &mut *tenant.suppressions.lock())?;
    visit.table(18, &mut *lock(&tenant.usage))?;
    visit.table(19, &mut *tenant.contact_imports.lock())?;
    visit.table(20, &mut *tenant.domain_claims.lock())?;
    visit.table(30, &mut *tenant.inboxes.inboxes.lock())?;
    visit.table(31, &mut *tenant.inboxes.labels.lock())?;
    visit.table(32, &mut *tenant.inboxes.threads.lock())?;
    visit.table(33, &mut *tenant.inboxes.emails.lock())?;
    visit.table(34, &mut *tenant.inboxes.drafts.lock())
}
