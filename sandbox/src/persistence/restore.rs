//! Restores a service from the file.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use uuid::Uuid;

use crate::persistence::PersistenceError;
use crate::persistence::store::{Records, Store};
use crate::persistence::tables::{self, GRANTS, JOBS, Snapshot, Stored, Visit};
use crate::persistence::tree::decode;
use idempost_reference_server::delivery::{self, imports, webhooks};
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::Event;
use idempost_reference_server::scheduler::JobKey;
use idempost_reference_server::service::Service;
use idempost_reference_server::settings::Settings;
use idempost_reference_server::state::job::{Job, Task, Work};
use idempost_reference_server::state::links::Links;
use idempost_reference_server::state::mails;
use idempost_reference_server::state::moment::Moment;
use idempost_reference_server::state::oauth::OAuthStore;
use idempost_reference_server::state::outbox::PendingAttempt;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::ledger::Persist;
use idempost_reference_server::store::size;
use idempost_reference_server::store::table::Record as _;

/// Restores a service from everything in the file.
pub(super) fn restore_service(store: &Store, settings: Settings) -> Result<Arc<Service>, PersistenceError> {
    let mut links = Links::new(settings.seed);
    match store.metadata("links")? {
        Some(key) => {
            let key = key
                .try_into()
                .map_err(|_| PersistenceError::Damaged("the key for its links is invalid".to_owned()))?;
            links = links.with_key(key);
        }
        None => store.set_metadata("links", links.key())?,
    }
    let mut logins = OAuthStore::new(settings.oauth_clients.clone(), settings.keep_records, settings.share());
    if let Some(stored) = store.metadata("logins")? {
        let unfit = || PersistenceError::Damaged("the key for its logins is invalid".to_owned());
        logins = logins.restore(decode(&stored)?).ok_or_else(unfit)?;
    }
    let service = Service::from_parts(settings, links, logins, &crate::routes::ROUTES);
    if let Some(clock) = store.metadata("clock")? {
        service.clock().restore(decode(&clock)?);
    }
    let jobs = restore_tenants(&service, store)?;
    count(&service);
    for (key, tenant, task) in jobs {
        if let Some(tenant) = service.state().tenants.find(&tenant) {
            service.state().scheduler.restore(key, Job::new(&tenant, task));
        }
    }
    for tenant in service.state().tenants.all() {
        recover(&service, &tenant);
    }
    Ok(service)
}

/// A job that survived a restart, with the name of its tenant.
type StoredJob = (JobKey, String, Task);

/// Restores the tenants. Returns the jobs, which refer to them.
fn restore_tenants(service: &Service, store: &Store) -> Result<Vec<StoredJob>, PersistenceError> {
    let state = service.state();
    let stored = store.tenants()?.into_iter();
    let tenants: BTreeMap<u32, Arc<Tenant>> =
        stored.map(|(number, (name, last_used))| (number, state.tenants.restore(&name, last_used))).collect();
    let jobs = Mutex::new(Vec::new());
    store.records(|number, mut records| {
        if let Some(tenant) = tenants.get(&number) {
            return tables::visit_all(tenant, &mut Fill { records });
        }
        for (position, bytes) in records.remove(&JOBS).unwrap_or_default() {
            let (due, tenant, task): (Timestamp, String, Task) = decode(bytes)?;
            lock(&jobs).push(((due, position), tenant, task));
        }
        for (position, bytes) in records.remove(&GRANTS).unwrap_or_default() {
            state.oauth.restore_grant(position, decode(bytes)?);
        }
        Ok(())
    })?;
    for tenant in tenants.values() {
        tenant.index_emails();
        for key in tenant.api_keys.all() {
            let (token, credential) = key.credential(&tenant.name);
            state.tenants.api_key_index.add(token, credential);
        }
    }
    Ok(jobs.into_inner().unwrap_or_else(PoisonError::into_inner))
}

struct Fill<'a> {
    records: Records<'a>,
}

impl Visit for Fill<'_> {
    fn table<T: Stored, R: DerefMut<Target: Persist<T>>>(
        &mut self,
        number: u8,
        lock: impl FnOnce() -> R,
        _: Snapshot<T>,
    ) -> Result<(), PersistenceError> {
        let Some(records) = self.records.remove(&number) else { return Ok(()) };
        // Decoded without the lock, so that threads can decode in parallel.
        let decoded = records.into_iter().map(|(position, bytes)| {
            let (id, record): (Uuid, T) = decode(bytes)?;
            Ok((position, id, Arc::new(record)))
        });
        let decoded = decoded.collect::<Result<Vec<_>, PersistenceError>>()?;
        let mut records = lock();
        for (position, id, record) in decoded {
            records.restore(position, id, record);
        }
        Ok(())
    }
}

/// A record to count: when it was created, its ID and size, and its tenant.
type Counted = (Timestamp, Uuid, usize, Arc<Tenant>);

/// Counts all tenants' emails and webhook events, so that the oldest are evicted beyond the limits.
fn count(service: &Service) {
    let tenants = &service.state().tenants;
    let (mut mails, mut events): (Vec<Counted>, Vec<Counted>) = (Vec::new(), Vec::new());
    for tenant in tenants.all() {
        let captured = lock(&tenant.captured);
        for email in lock(&tenant.emails).oldest_first() {
            let mail = email.captured_id().and_then(|id| captured.get(id));
            let size = email.size() + mail.map_or(0, |mail| mail.owned_bytes());
            mails.push((email.created_at, email.id, size, Arc::clone(&tenant)));
        }
        for mail in lock(&tenant.received).oldest_first() {
            mails.push((mail.created_at, mail.id, size::record(&**mail), Arc::clone(&tenant)));
        }
        for delivery in tenant.deliveries.lock().oldest_first() {
            events.push((delivery.created_at, delivery.id, delivery.size(), Arc::clone(&tenant)));
        }
    }
    mails.sort_by_key(|(at, ..)| *at);
    events.sort_by_key(|(at, ..)| *at);
    for (_, id, size, tenant) in mails {
        tenants.count_mail(&tenant, id, size);
    }
    for (_, id, size, tenant) in events {
        tenants.count_event(&tenant, id, size);
    }
}

/// Resumes pending work.
fn recover(service: &Service, tenant: &Arc<Tenant>) {
    let now = tenant.clock.now();
    let deliveries: Vec<_> = tenant.deliveries.lock().oldest_first().cloned().collect();
    for delivery in deliveries {
        match delivery.recover(now) {
            Some(due) if due > now => {
                let retry = Work::RetryDelivery(Arc::downgrade(&delivery));
                service.state().scheduler.schedule(due, Job::new(tenant, retry));
            }
            Some(due) => {
                webhooks::enqueue(
                    service.state(),
                    PendingAttempt { tenant: Arc::downgrade(tenant), delivery, due, planned: true },
                );
            }
            None => {}
        }
    }
    // Their attachments were being fetched.
    let cut_off: Vec<_> = lock(&tenant.emails)
        .oldest_first()
        .filter(|email| {
            email.last_event() == Event::Queued && !email.is_waiting() && email.captured_id().is_none()
        })
        .cloned()
        .collect();
    for email in cut_off {
        let moment = Moment { state: service.state(), tenant, at: now };
        delivery::fail_email(moment, &email, "attachment_unreachable");
    }
    imports::fail_unfinished(tenant, now);
    mails::schedule_oldest(service.state(), tenant);
}
