//! The tables of a tenant, each with its number on disk.

use serde::de::DeserializeOwned;

use crate::lock::lock;
use crate::persistence::PersistenceError;
use crate::persistence::snapshot::Snapshot;
use crate::state::tenant::Tenant;
use crate::store::ledger::Persist;

/// Idempotency keys, which aren't stored in a ledger.
pub(super) const KEYS: u8 = 100;

/// Scheduled jobs of all tenants.
pub(super) const AGENDA: u8 = 101;

/// Visits tables.
pub(super) trait Visit {
    fn room<T>(&mut self, number: u8, records: &mut impl Persist<T>) -> Result<(), PersistenceError>
    where
        T: Snapshot + DeserializeOwned;
}

/// Visits every table. Numbers are never reused: files of earlier versions contain them.
pub(super) fn every(tenant: &Tenant, visit: &mut impl Visit) -> Result<(), PersistenceError> {
    visit.room(1, &mut *lock(&tenant.emails))?;
    visit.room(2, &mut *lock(&tenant.captured))?;
    visit.room(3, &mut *lock(&tenant.received))?;
    visit.room(4, &mut *tenant.api_keys.lock())?;
    visit.room(5, &mut *tenant.automations.lock())?;
    visit.room(6, &mut *tenant.runs.lock())?;
    visit.room(7, &mut *tenant.broadcasts.lock())?;
    visit.room(8, &mut *tenant.contacts.lock())?;
    visit.room(9, &mut *tenant.contact_properties.lock())?;
    visit.room(10, &mut *tenant.domains.lock())?;
    visit.room(11, &mut *tenant.events.lock())?;
    visit.room(12, &mut *tenant.segments.lock())?;
    visit.room(13, &mut *tenant.templates.lock())?;
    visit.room(14, &mut *tenant.topics.lock())?;
    visit.room(15, &mut *tenant.webhooks.lock())?;
    visit.room(16, &mut *tenant.deliveries.lock())
}
