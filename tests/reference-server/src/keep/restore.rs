//! From the file to a service that goes on.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::NotKept;
use super::batch::decode;
use super::rooms::{self, AGENDA, KEYS, Visit};
use super::snapshot::Snapshot;
use super::store::Store;
use super::work::KeptWork;
use crate::clock::Turn;
use crate::delivery::webhooks::outbox::Job;
use crate::delivery::{self, Work, webhooks};
use crate::idempotency;
use crate::links::Links;
use crate::lock::lock;
use crate::oauth::book::Book;
use crate::resources::emails::record::Event;
use crate::service::Service;
use crate::settings::Settings;
use crate::state::Tenant;
use crate::store::ledger::Persist;
use crate::store::size::Size;

/// The records of one tenant, by room.
type Records = HashMap<u8, Vec<(u64, Vec<u8>)>>;

/// A service with everything that is in the file.
pub(super) fn service(store: &Store, settings: Settings) -> Result<Arc<Service>, NotKept> {
    let mut links = Links::new(settings.seed);
    match store.about("links")? {
        Some(key) => {
            let key = key.try_into().map_err(|_| NotKept::Damaged("the key of its links".to_owned()))?;
            links = links.with_key(key);
        }
        None => store.set_about("links", links.key())?,
    }
    let mut logins = Book::new(settings.oauth_clients.clone(), settings.keep_records, settings.share());
    if let Some(kept) = store.about("logins")? {
        let unfit = || NotKept::Damaged("the key of its logins".to_owned());
        logins = logins.go_on(decode(&kept)?).ok_or_else(unfit)?;
    }
    let service = Service::with(settings, links, logins);
    if let Some(clock) = store.about("clock")? {
        service.clock().stand(&decode(&clock)?);
    }
    let agenda = tenants(&service, store)?;
    count_mails(&service);
    count_events(&service);
    for (turn, work) in agenda {
        if let Some(work) = work.revive(service.state()) {
            service.agenda().put_back(turn, work);
        }
    }
    for tenant in service.state().all() {
        take_up(&service, &tenant);
    }
    Ok(service)
}

/// Fills the tenants, one after the other as they stand in the file; answers the agenda, which speaks of all of them.
fn tenants(service: &Service, store: &Store) -> Result<Vec<(Turn, KeptWork)>, NotKept> {
    let mut agenda = Vec::new();
    let mut current: Option<(String, Records)> = None;
    store.records(|tenant, room, place, bytes| {
        if room == AGENDA {
            let (due, work): (Timestamp, KeptWork) = decode(bytes)?;
            agenda.push(((due, place), work));
            return Ok(());
        }
        if current.as_ref().is_none_or(|(name, _)| name != tenant)
            && let Some((name, records)) = current.replace((tenant.to_owned(), Records::new()))
        {
            fill(service, &name, records)?;
        }
        if let Some((_, records)) = &mut current {
            records.entry(room).or_default().push((place, bytes.to_vec()));
        }
        Ok(())
    })?;
    if let Some((name, records)) = current {
        fill(service, &name, records)?;
    }
    Ok(agenda)
}

fn fill(service: &Service, name: &str, mut records: Records) -> Result<(), NotKept> {
    let tenant = service.state().tenant(name);
    for (number, bytes) in records.remove(&KEYS).unwrap_or_default() {
        tenant.keys.put_back(number, decode::<idempotency::Kept>(&bytes)?);
    }
    rooms::every(&tenant, &mut Fill { records })?;
    for key in tenant.api_keys.all() {
        let (token, credential) = key.credential(name);
        service.state().key_book.add(token, credential);
    }
    Ok(())
}

struct Fill {
    records: Records,
}

impl Visit for Fill {
    fn room<T>(&mut self, number: u8, records: &mut impl Persist<T>) -> Result<(), NotKept>
    where
        T: Snapshot + DeserializeOwned,
    {
        for (place, bytes) in self.records.remove(&number).unwrap_or_default() {
            let (id, record): (Uuid, T) = decode(&bytes)?;
            records.put_back(place, id, Arc::new(record));
        }
        Ok(())
    }
}

/// Counts the mails of all tenants, so that the oldest go first when there are too many.
fn count_mails(service: &Service) {
    let mut mails: Vec<(Timestamp, Uuid, usize, Arc<Tenant>)> = Vec::new();
    for tenant in service.state().all() {
        let captured = lock(&tenant.captured);
        for email in lock(&tenant.emails).oldest_first() {
            let mail = email.captured().and_then(|id| captured.get(id));
            let size = email.size() + mail.map_or(0, |mail| mail.held());
            mails.push((email.created_at, email.id, size, Arc::clone(&tenant)));
        }
        for mail in lock(&tenant.received).oldest_first() {
            mails.push((mail.created_at, mail.id, mail.size(), Arc::clone(&tenant)));
        }
    }
    mails.sort_by_key(|(at, ..)| *at);
    for (_, id, size, tenant) in mails {
        service.state().hold_mail(&tenant, id, size);
    }
}

/// Counts the events of the webhooks of all tenants, so that the oldest go first when they are too large together.
fn count_events(service: &Service) {
    let mut events: Vec<(Timestamp, Uuid, usize, Arc<Tenant>)> = Vec::new();
    for tenant in service.state().all() {
        for told in tenant.told.lock().oldest_first() {
            events.push((told.created_at, told.id, told.size(), Arc::clone(&tenant)));
        }
    }
    events.sort_by_key(|(at, ..)| *at);
    for (_, id, size, tenant) in events {
        service.state().hold_event(&tenant, id, size);
    }
}

/// Takes up what was under way.
fn take_up(service: &Service, tenant: &Arc<Tenant>) {
    let now = service.clock().now();
    let told: Vec<_> = tenant.told.lock().oldest_first().cloned().collect();
    for told in told {
        match told.take_up(now) {
            Some((number, due)) if due > now => {
                let (tenant, told) = (Arc::downgrade(tenant), Arc::downgrade(&told));
                service.agenda().note(due, Work::TellWebhook { tenant, told, number });
            }
            Some(_) => {
                webhooks::enqueue(service, Job { tenant: Arc::downgrade(tenant), told, planned: true });
            }
            None => {}
        }
    }
    // Their attachments were being fetched.
    let cut_off: Vec<_> = lock(&tenant.emails)
        .oldest_first()
        .filter(|email| email.last_event() == Event::Queued && !email.waits() && email.captured().is_none())
        .cloned()
        .collect();
    for email in cut_off {
        delivery::fail(service, tenant, &email, now, "attachment_unreachable");
    }
}
