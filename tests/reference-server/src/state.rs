//! What the service remembers: tenants by API key, and the bounds on all of it.

pub(crate) mod requests;
pub(crate) mod retention;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use self::requests::Requests;
use self::retention::Retention;
use crate::delivery::captured::Mail;
use crate::delivery::webhooks::book::Book as ToldBook;
use crate::idempotency::Keys;
use crate::keys::KeyBook;
use crate::lock::{lock, read, write};
use crate::ratelimit::Meter;
use crate::resources::api_keys::ApiKey;
use crate::resources::automations::Automation;
use crate::resources::automations::run::Run;
use crate::resources::broadcasts::record::Broadcast;
use crate::resources::contact_properties::ContactProperty;
use crate::resources::contacts::book::Contact;
use crate::resources::domains::record::Domain;
use crate::resources::emails::record::Email;
use crate::resources::events::Event;
use crate::resources::logs::Entry;
use crate::resources::received::record::Received;
use crate::resources::segments::Segment;
use crate::resources::templates::Template;
use crate::resources::topics::Topic;
use crate::resources::webhooks::Webhook;
use crate::settings::Settings;
use crate::store::budget::Budget;
use crate::store::changes;
use crate::store::ledger::Ledger;
use crate::store::size::Size;
use crate::store::table::Table;

/// Everything of one tenant. Each table has a lock of its own.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) name: String,
    pub(crate) emails: Mutex<Ledger<Arc<Email>>>,
    pub(crate) captured: Mutex<Ledger<Arc<Mail>>>,
    pub(crate) logs: Mutex<Ledger<Arc<Entry>>>,
    pub(crate) received: Mutex<Ledger<Arc<Received>>>,
    pub(crate) api_keys: Table<ApiKey>,
    pub(crate) automations: Table<Automation>,
    pub(crate) runs: Table<Run>,
    pub(crate) broadcasts: Table<Broadcast>,
    pub(crate) contacts: Table<Contact>,
    pub(crate) contact_properties: Table<ContactProperty>,
    pub(crate) domains: Table<Domain>,
    pub(crate) events: Table<Event>,
    pub(crate) segments: Table<Segment>,
    pub(crate) templates: Table<Template>,
    pub(crate) topics: Table<Topic>,
    pub(crate) webhooks: Table<Webhook>,
    /// What they were told.
    pub(crate) told: ToldBook,
    pub(crate) keys: Keys,
    pub(crate) meter: Mutex<Meter>,
    /// The number of the last request, over all tenants.
    last_used: AtomicU64,
}

impl Tenant {
    fn new(name: &str, most: usize, most_told: usize, budget: &Arc<Budget>, answers: &Arc<Budget>) -> Self {
        Self {
            name: name.to_owned(),
            emails: Mutex::new(Ledger::new()),
            captured: Mutex::new(Ledger::new()),
            logs: Mutex::new(Ledger::new()),
            received: Mutex::new(Ledger::new()),
            api_keys: Table::new(most, budget),
            automations: Table::new(most, budget),
            runs: Table::new(most, budget),
            broadcasts: Table::new(most, budget),
            contacts: Table::new(most, budget),
            contact_properties: Table::new(most, budget),
            domains: Table::new(most, budget),
            events: Table::new(most, budget),
            segments: Table::new(most, budget),
            templates: Table::new(most, budget),
            topics: Table::new(most, budget),
            webhooks: Table::new(most, budget),
            told: ToldBook::new(most_told),
            keys: Keys::new(Arc::clone(answers)),
            meter: Mutex::default(),
            last_used: AtomicU64::new(0),
        }
    }

    /// The ID of the audience of contacts that are in no segment: always the same one for this tenant, and no segment of its own.
    pub(crate) fn default_audience(&self) -> Uuid {
        let digest = Sha256::new().chain_update("default audience\n").chain_update(&self.name).finalize();
        uuid::Builder::from_custom_bytes(*digest.first_chunk().unwrap_or(&[0; 16])).into_uuid()
    }

    /// The domain of this name, if the tenant has registered it.
    pub(crate) fn domain(&self, name: &str) -> Option<Arc<Domain>> {
        self.domains.by_key(name)
    }

    /// Whether the tenant has verified this very domain and it is there for sending. (The specification is silent on subdomains:
    /// each counts as a domain of its own, as it has records of its own.)
    pub(crate) fn may_send_from(&self, domain: &str) -> bool {
        self.domain(domain).is_some_and(|domain| domain.may_send())
    }
}

/// The whole state of a service.
#[derive(Debug)]
pub(crate) struct State {
    tenants: RwLock<HashMap<String, Arc<Tenant>>>,
    uses: AtomicU64,
    most_tenants: usize,
    most_records: usize,
    most_told: usize,
    /// Of all tables of all tenants.
    budget: Arc<Budget>,
    mails: Mutex<Retention<Uuid, Weak<Tenant>>>,
    logs: Mutex<Retention<Uuid, Weak<Tenant>>>,
    /// What webhooks were told. How many there may be is a matter of each tenant.
    events: Mutex<Retention<Uuid, Weak<Tenant>>>,
    /// Of all idempotency keys of all tenants.
    answers: Arc<Budget>,
    pub(crate) requests: Requests,
    pub(crate) key_book: KeyBook,
}

impl State {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            tenants: RwLock::default(),
            uses: AtomicU64::new(0),
            most_tenants: settings.keep_tenants.max(1),
            most_records: settings.keep_records,
            most_told: settings.keep_webhook_events,
            budget: Arc::new(Budget::of(settings.record_bytes())),
            mails: Mutex::new(Retention::new(settings.keep_mails, settings.keep_mail_bytes)),
            logs: Mutex::new(Retention::new(settings.keep_requests, settings.keep_request_bytes)),
            events: Mutex::new(Retention::new(usize::MAX, settings.webhook_event_bytes())),
            answers: Arc::new(Budget::of(settings.share())),
            requests: Requests::new(settings.keep_requests, settings.keep_request_bytes),
            key_book: KeyBook::default(),
        }
    }

    /// The tenant of this name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Tenant>> {
        read(&self.tenants).get(name).cloned()
    }

    /// The tenant of this name, or a blank one that is not kept.
    pub(crate) fn look(&self, name: &str) -> Arc<Tenant> {
        self.find(name).unwrap_or_else(|| {
            Arc::new(Tenant::new(name, self.most_records, self.most_told, &self.budget, &self.answers))
        })
    }

    /// Every tenant, the one that was used last first.
    pub(crate) fn all(&self) -> Vec<Arc<Tenant>> {
        let mut tenants: Vec<_> = read(&self.tenants).values().cloned().collect();
        tenants.sort_by_key(|tenant| std::cmp::Reverse(tenant.last_used.load(Ordering::Relaxed)));
        tenants
    }

    /// The tenant for which this holds.
    pub(crate) fn find_by(&self, wanted: impl Fn(&Tenant) -> bool) -> Option<Arc<Tenant>> {
        read(&self.tenants).values().find(|tenant| wanted(tenant)).cloned()
    }

    /// The tenant of this name, made if there is none.
    pub(crate) fn tenant(&self, name: &str) -> Arc<Tenant> {
        let use_number = self.uses.fetch_add(1, Ordering::Relaxed);
        let tenant = self.find(name).unwrap_or_else(|| self.make(name));
        tenant.last_used.store(use_number, Ordering::Relaxed);
        tenant
    }

    fn make(&self, name: &str) -> Arc<Tenant> {
        let mut tenants = write(&self.tenants);
        if let Some(tenant) = tenants.get(name) {
            return Arc::clone(tenant);
        }
        if tenants.len() >= self.most_tenants {
            let silent =
                tenants.values().min_by_key(|tenant| tenant.last_used.load(Ordering::Relaxed)).cloned();
            if let Some(silent) = silent {
                tenants.remove(&silent.name);
                self.forget(&silent);
            }
        }
        let tenant =
            Arc::new(Tenant::new(name, self.most_records, self.most_told, &self.budget, &self.answers));
        tenants.insert(name.to_owned(), Arc::clone(&tenant));
        tenant
    }

    /// Forgets everything of one tenant.
    pub(crate) fn reset_tenant(&self, name: &str) {
        let tenant = write(&self.tenants).remove(name);
        if let Some(tenant) = tenant {
            self.forget(&tenant);
        }
    }

    /// Forgets everything.
    pub(crate) fn reset(&self) {
        write(&self.tenants).clear();
        lock(&self.mails).clear();
        lock(&self.logs).clear();
        lock(&self.events).clear();
        self.requests.clear();
        self.key_book.clear();
    }

    fn forget(&self, tenant: &Tenant) {
        self.key_book.forget(&tenant.name);
        let mut mails: Vec<_> = lock(&tenant.emails).ids().collect();
        mails.extend(lock(&tenant.received).ids());
        let mut held = lock(&self.mails);
        for id in mails {
            held.forget(id);
        }
        drop(held);
        let events: Vec<_> = tenant.told.lock().oldest_first().map(|told| told.id).collect();
        self.forget_events(&events);
        let entries: Vec<_> = lock(&tenant.logs).ids().collect();
        let mut held = lock(&self.logs);
        for id in entries {
            held.forget(id);
        }
    }

    /// Counts a new email, sent or received, and forgets the oldest ones if there are too many now.
    pub(crate) fn hold_mail(&self, tenant: &Arc<Tenant>, id: Uuid, bytes: usize) {
        changes::count(bytes);
        let gone = lock(&self.mails).hold(id, bytes, Arc::downgrade(tenant));
        forget_mails(gone);
    }

    /// The tenant that has this email, sent or received.
    pub(crate) fn owner(&self, email: Uuid) -> Option<Arc<Tenant>> {
        lock(&self.mails).get(email)?.upgrade()
    }

    /// Counts an email anew: its size has changed.
    pub(crate) fn resize_mail(&self, id: Uuid, bytes: usize) {
        changes::count(bytes);
        let gone = lock(&self.mails).resize(id, bytes);
        forget_mails(gone);
    }

    /// Counts what an email has grown by.
    pub(crate) fn grow_mail(&self, id: Uuid, by: usize) {
        let gone = lock(&self.mails).grow(id, by);
        forget_mails(gone);
    }

    /// Counts a new event for a webhook, and forgets the oldest ones if there are too many bytes of them now.
    pub(crate) fn hold_event(&self, tenant: &Arc<Tenant>, id: Uuid, bytes: usize) {
        let gone = lock(&self.events).hold(id, bytes, Arc::downgrade(tenant));
        remove_events(gone);
    }

    /// Counts an event for a webhook anew: its size has changed.
    pub(crate) fn resize_event(&self, id: Uuid, bytes: usize) {
        let gone = lock(&self.events).resize(id, bytes);
        remove_events(gone);
    }

    /// Notes that events for webhooks are gone already.
    pub(crate) fn forget_events(&self, ids: &[Uuid]) {
        let mut held = lock(&self.events);
        for id in ids {
            held.forget(*id);
        }
    }

    /// Adds an entry to a tenant's log.
    pub(crate) fn log(&self, tenant: &Arc<Tenant>, entry: Entry) {
        let (id, size) = (entry.id, entry.size());
        lock(&tenant.logs).insert(id, Arc::new(entry));
        let gone = lock(&self.logs).hold(id, size, Arc::downgrade(tenant));
        for (id, tenant) in gone {
            if let Some(tenant) = tenant.upgrade() {
                lock(&tenant.logs).remove(id);
            }
        }
    }
}

fn forget_mails(gone: Vec<(Uuid, Weak<Tenant>)>) {
    for (id, tenant) in gone {
        let Some(tenant) = tenant.upgrade() else { continue };
        lock(&tenant.received).remove(id);
        let email = lock(&tenant.emails).remove(id);
        if let Some(captured) = email.and_then(|email| email.captured()) {
            lock(&tenant.captured).remove(captured);
        }
    }
}

fn remove_events(gone: Vec<(Uuid, Weak<Tenant>)>) {
    for (id, tenant) in gone {
        if let Some(tenant) = tenant.upgrade() {
            tenant.told.remove(id);
        }
    }
}
