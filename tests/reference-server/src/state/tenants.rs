//! All tenants, and the bounds on their memory.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, RwLock, Weak};

use uuid::Uuid;

use crate::clock::Clock;
use crate::lock::{lock, read, write};
use crate::model::log::Entry;
use crate::settings::Settings;
use crate::state::keys::ApiKeyIndex;
use crate::state::links::{Links, Tag, TagPurpose};
use crate::state::ratelimit::Meter;
use crate::state::requests::Requests;
use crate::state::retention::Retention;
use crate::state::tenant::Tenant;
use crate::state::uses::Uses;
use crate::store::budget::Budget;
use crate::store::changes;

/// The tenants by name, and the bounds on their memory.
#[derive(Debug)]
pub struct Tenants {
    index: RwLock<Index>,
    clock: Clock,
    links: Arc<Links>,
    uses: Mutex<Uses<Tenant>>,
    /// The names of evicted tenants that had data, for the listeners.
    evicted: Mutex<VecDeque<String>>,
    /// The rate limit meters of keys without a tenant.
    meters: Mutex<HashMap<String, Meter>>,
    tenant_limit: usize,
    record_limit: usize,
    webhook_event_limit: usize,
    /// The budget of all tables of all tenants.
    budget: Arc<Budget>,
    mails: Mutex<Retention<Uuid, Weak<Tenant>>>,
    logs: Mutex<Retention<Uuid, Weak<Tenant>>>,
    /// Webhook events. Their number is bounded per tenant, their bytes over all tenants.
    events: Mutex<Retention<Uuid, Weak<Tenant>>>,
    /// The budget of all idempotency keys of all tenants.
    answers: Arc<Budget>,
    pub requests: Requests,
    pub api_key_index: ApiKeyIndex,
}

/// The tenants by name, and their names by tag.
#[derive(Debug, Default)]
struct Index {
    by_name: HashMap<String, Arc<Tenant>>,
    names: HashMap<(TagPurpose, Tag), String>,
}

impl Index {
    fn insert(&mut self, tenant: &Arc<Tenant>, links: &Links) {
        for purpose in TagPurpose::ALL {
            self.names.insert((purpose, links.tag(purpose, &tenant.name)), tenant.name.clone());
        }
        self.by_name.insert(tenant.name.clone(), Arc::clone(tenant));
        tenant.is_stored.store(true, Ordering::Relaxed);
    }

    /// Removes this tenant, but not another of the same name.
    fn remove_same(&mut self, tenant: &Arc<Tenant>, links: &Links) -> Option<Arc<Tenant>> {
        let is_same = self.by_name.get(&tenant.name).is_some_and(|stored| Arc::ptr_eq(stored, tenant));
        if is_same { self.remove(&tenant.name, links) } else { None }
    }

    fn remove(&mut self, name: &str, links: &Links) -> Option<Arc<Tenant>> {
        for purpose in TagPurpose::ALL {
            self.names.remove(&(purpose, links.tag(purpose, name)));
        }
        let removed = self.by_name.remove(name)?;
        removed.is_stored.store(false, Ordering::Relaxed);
        Some(removed)
    }
}

impl Tenants {
    pub fn new(settings: &Settings, clock: Clock, links: Arc<Links>) -> Self {
        Self {
            index: RwLock::default(),
            clock,
            links,
            uses: Mutex::default(),
            evicted: Mutex::default(),
            meters: Mutex::default(),
            tenant_limit: settings.keep_tenants.max(1),
            record_limit: settings.keep_records,
            webhook_event_limit: settings.keep_webhook_events,
            budget: Arc::new(Budget::new(settings.record_bytes())),
            mails: Mutex::new(Retention::new(settings.keep_mails, settings.keep_mail_bytes)),
            logs: Mutex::new(Retention::new(settings.keep_requests, settings.keep_request_bytes)),
            events: Mutex::new(Retention::new(usize::MAX, settings.webhook_event_bytes())),
            answers: Arc::new(Budget::new(settings.share())),
            requests: Requests::new(settings.keep_requests, settings.keep_request_bytes),
            api_key_index: ApiKeyIndex::new(settings.password.clone()),
        }
    }

    /// Finds a tenant by name.
    pub fn find(&self, name: &str) -> Option<Arc<Tenant>> {
        read(&self.index).by_name.get(name).cloned()
    }

    /// Finds a tenant by name, which counts as a use, or returns an empty one that isn't stored.
    pub fn find_or_empty(&self, name: &str) -> Arc<Tenant> {
        match self.find(name) {
            Some(tenant) => {
                lock(&self.uses).add(&tenant);
                tenant
            }
            None => self.new_tenant(name),
        }
    }

    /// Lists all tenants, most recently used first.
    pub fn all(&self) -> Vec<Arc<Tenant>> {
        let mut tenants: Vec<_> = read(&self.index).by_name.values().cloned().collect();
        tenants.sort_by_key(|tenant| std::cmp::Reverse(tenant.last_used.load(Ordering::Relaxed)));
        tenants
    }

    /// Finds a tenant by its tag for a purpose.
    pub fn find_by_tag(&self, purpose: TagPurpose, tag: Tag) -> Option<Arc<Tenant>> {
        let index = read(&self.index);
        index.by_name.get(index.names.get(&(purpose, tag))?).cloned()
    }

    /// Finds or creates the tenant of this name.
    pub fn tenant(&self, name: &str) -> Arc<Tenant> {
        let tenant = self.find(name).unwrap_or_else(|| self.create(name));
        lock(&self.uses).add(&tenant);
        self.evict();
        tenant
    }

    /// Restores a tenant with the number of its last use; those beyond the limit are evicted by [`order`](Self::order).
    pub fn restore(&self, name: &str, last_used: u64) -> Arc<Tenant> {
        let tenant = self.create(name);
        tenant.last_used.store(last_used, Ordering::Relaxed);
        tenant
    }

    /// Orders the restored tenants by their last use, and evicts those beyond the limit.
    pub fn order(&self) {
        *lock(&self.uses) = Uses::new(self.all().iter().rev());
        self.evict();
    }

    fn create(&self, name: &str) -> Arc<Tenant> {
        let mut index = write(&self.index);
        if let Some(tenant) = index.by_name.get(name) {
            return Arc::clone(tenant);
        }
        let tenant = self.new_tenant(name);
        if let Some(meter) = lock(&self.meters).remove(name) {
            *lock(&tenant.meter) = meter;
        }
        index.insert(&tenant, &self.links);
        tenant
    }

    /// Evicts tenants beyond the limit: the least recently used one without data, or with data if there is none.
    fn evict(&self) {
        loop {
            let mut index = write(&self.index);
            if index.by_name.len() <= self.tenant_limit {
                return;
            }
            let mut uses = lock(&self.uses);
            let Some(oldest) = uses.take_empty(Tenant::is_unused).or_else(|| uses.take_oldest()) else {
                return;
            };
            let evicted = index.remove_same(&oldest, &self.links);
            drop((uses, index));
            // After the locks were released: a tenant can have many records.
            let Some(evicted) = evicted else { continue };
            if !evicted.is_empty() {
                lock(&self.evicted).push_back(evicted.name.clone());
            }
            self.forget(&evicted);
        }
    }

    /// Takes the name of the next evicted tenant for the listeners.
    pub fn next_evicted(&self) -> Option<String> {
        lock(&self.evicted).pop_front()
    }

    /// Counts a request of a tenant against the rate limit. Keys without a tenant have separate meters.
    pub fn meter<T>(&self, tenant: &Arc<Tenant>, count: impl FnOnce(&mut Meter) -> T) -> T {
        if tenant.is_stored() {
            return count(&mut lock(&tenant.meter));
        }
        let mut meters = lock(&self.meters);
        // A meter covers one second, so a client gains at most one.
        if meters.len() >= self.tenant_limit && !meters.contains_key(&tenant.name) {
            meters.clear();
        }
        count(meters.entry(tenant.name.clone()).or_default())
    }

    fn new_tenant(&self, name: &str) -> Arc<Tenant> {
        let (records, events) = (self.record_limit, self.webhook_event_limit);
        Arc::new(Tenant::new(
            name,
            self.clock.for_account(name),
            records,
            events,
            &self.budget,
            &self.answers,
        ))
    }

    /// Deletes all data of one tenant.
    pub fn reset_tenant(&self, name: &str) {
        self.requests.remove_account(name);
        let tenant = write(&self.index).remove(name, &self.links);
        if let Some(tenant) = tenant {
            self.forget(&tenant);
        }
    }

    /// Deletes everything.
    pub fn reset(&self) {
        for tenant in std::mem::take(&mut *write(&self.index)).by_name.into_values() {
            tenant.is_stored.store(false, Ordering::Relaxed);
        }
        // Each entry keeps the memory of its tenant alive.
        *lock(&self.uses) = Uses::default();
        lock(&self.meters).clear();
        lock(&self.mails).clear();
        lock(&self.logs).clear();
        lock(&self.events).clear();
        self.requests.clear();
        self.api_key_index.clear();
        self.clock.reset_all();
    }

    fn forget(&self, tenant: &Tenant) {
        tenant.clock.reset();
        for key in tenant.api_keys.all() {
            self.api_key_index.remove(&key.token);
        }
        let mut mails: Vec<_> = lock(&tenant.emails).ids().collect();
        mails.extend(lock(&tenant.received).ids());
        self.forget_mails(&mails);
        let events: Vec<_> = tenant.deliveries.lock().oldest_first().map(|delivery| delivery.id).collect();
        self.forget_events(&events);
        let entries: Vec<_> = lock(&tenant.logs).ids().collect();
        let mut retention = lock(&self.logs);
        for id in entries {
            retention.remove(id);
        }
    }

    /// Counts a new email, sent or received, and evicts beyond the limits the oldest of the largest account.
    pub fn count_mail(&self, tenant: &Arc<Tenant>, id: Uuid, bytes: usize) {
        changes::count(bytes);
        let evicted = lock(&self.mails).insert(id, bytes, group(tenant), Arc::downgrade(tenant));
        remove_mails(evicted);
    }

    /// Removes emails that no longer exist.
    pub fn forget_mails(&self, ids: &[Uuid]) {
        let mut retention = lock(&self.mails);
        for id in ids {
            retention.remove(*id);
        }
    }

    /// Finds the tenant of an email, sent or received.
    pub fn owner(&self, email: Uuid) -> Option<Arc<Tenant>> {
        lock(&self.mails).get(email)?.upgrade()
    }

    /// Updates the size of an email.
    pub fn resize_mail(&self, id: Uuid, bytes: usize) {
        changes::count(bytes);
        let evicted = lock(&self.mails).resize(id, bytes);
        remove_mails(evicted);
    }

    /// Adds to the size of an email, which is written again as a whole.
    pub fn grow_mail(&self, id: Uuid, by: usize) {
        let mut mails = lock(&self.mails);
        let bytes = mails.bytes(id) + by;
        changes::count(bytes);
        let evicted = mails.resize(id, bytes);
        drop(mails);
        remove_mails(evicted);
    }

    /// Counts a new webhook event, and evicts the oldest beyond the limit.
    pub fn count_event(&self, tenant: &Arc<Tenant>, id: Uuid, bytes: usize) {
        let evicted = lock(&self.events).insert(id, bytes, group(tenant), Arc::downgrade(tenant));
        remove_events(evicted);
    }

    /// Updates the size of a webhook event.
    pub fn resize_event(&self, id: Uuid, bytes: usize) {
        let evicted = lock(&self.events).resize(id, bytes);
        remove_events(evicted);
    }

    /// Removes webhook events that no longer exist.
    pub fn forget_events(&self, ids: &[Uuid]) {
        let mut retention = lock(&self.events);
        for id in ids {
            retention.remove(*id);
        }
    }

    /// Adds an entry to a tenant's log. A tenant that isn't stored has no log.
    pub fn log(&self, tenant: &Arc<Tenant>, entry: Entry) {
        if !tenant.is_stored() {
            return;
        }
        let (id, size) = (entry.id, entry.size());
        lock(&tenant.logs).insert(id, Arc::new(entry));
        let evicted = lock(&self.logs).insert(id, size, group(tenant), Arc::downgrade(tenant));
        for (id, tenant) in evicted {
            if let Some(tenant) = tenant.upgrade() {
                lock(&tenant.logs).remove(id);
            }
        }
    }
}

/// The group of a tenant's entries. Each entry holds a link to the tenant, so no other tenant gets its address in the meantime.
fn group(tenant: &Arc<Tenant>) -> usize {
    Arc::as_ptr(tenant).addr()
}

fn remove_mails(evicted: Vec<(Uuid, Weak<Tenant>)>) {
    for (id, tenant) in evicted {
        let Some(tenant) = tenant.upgrade() else { continue };
        lock(&tenant.received).remove(id);
        let email = tenant.remove_email(id);
        if let Some(captured) = email.and_then(|email| email.captured_id()) {
            lock(&tenant.captured).remove(captured);
        }
    }
}

fn remove_events(evicted: Vec<(Uuid, Weak<Tenant>)>) {
    for (id, tenant) in evicted {
        if let Some(tenant) = tenant.upgrade() {
            tenant.deliveries.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockStart;

    fn tenants(keep_tenants: usize, links: &Arc<Links>) -> Tenants {
        let settings = Settings { keep_tenants, ..Settings::default() };
        Tenants::new(&settings, Clock::new(ClockStart::Real), Arc::clone(links))
    }

    #[test]
    fn tags_find_existing_tenants_for_their_purpose_only() {
        let links = Arc::new(Links::new(None));
        let tenants = tenants(2, &links);
        let found = |name: &str| {
            let by =
                |purpose| tenants.find_by_tag(purpose, links.tag(purpose, name)).map(|one| one.name.clone());
            let [link, account] = TagPurpose::ALL.map(by);
            assert_eq!(link, account);
            link
        };
        for name in ["a", "b", "c"] {
            tenants.tenant(name);
        }
        assert_eq!(["a", "b", "c"].map(found), [None, Some("b".to_owned()), Some("c".to_owned())]);
        let seen_by_recipients = links.tag(TagPurpose::UnsubscribeLink, "b");
        assert!(tenants.find_by_tag(TagPurpose::Account, seen_by_recipients).is_none());
        tenants.reset_tenant("b");
        assert_eq!(["b", "c"].map(found), [None, Some("c".to_owned())]);
        tenants.reset();
        assert!(read(&tenants.index).names.is_empty());
    }

    #[test]
    fn a_tenant_is_stored_until_it_is_evicted_or_deleted() {
        let tenants = tenants(1, &Arc::new(Links::new(None)));
        let (first, second) = (tenants.tenant("a"), tenants.tenant("b"));
        assert!(!first.is_stored() && second.is_stored(), "the first one was evicted");
        tenants.reset_tenant("b");
        assert!(!second.is_stored() && !tenants.find_or_empty("b").is_stored());
        let again = tenants.tenant("b");
        assert!(again.is_stored());
        tenants.reset();
        assert!(!again.is_stored());
    }

    #[test]
    fn the_least_recently_used_tenant_is_evicted() {
        let tenants = tenants(3, &Arc::new(Links::new(None)));
        for name in ["a", "b", "c"] {
            tenants.tenant(name);
        }
        tenants.tenant("a");
        tenants.find_or_empty("b");
        tenants.tenant("d");
        let stored = || ["a", "b", "c", "d", "e", "f"].map(|name| tenants.find(name).is_some());
        assert_eq!(stored(), [true, true, false, true, false, false]);
        tenants.tenant("e");
        assert_eq!(stored(), [false, true, false, true, true, false]);
        tenants.reset_tenant("b");
        tenants.tenant("b");
        tenants.tenant("f");
        assert_eq!(stored(), [false, true, false, false, true, true]);
        assert_eq!(tenants.next_evicted(), None, "none of them had data");
    }
}
