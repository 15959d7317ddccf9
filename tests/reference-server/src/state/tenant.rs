//! The state of one tenant.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use uuid::Uuid;

use crate::clock::Clock;
use crate::digest::uuid_of;
use crate::lock::lock;
use crate::model::api_key::ApiKey;
use crate::model::automation::Automation;
use crate::model::automation::run::Run;
use crate::model::broadcast::Broadcast;
use crate::model::contact::Contact;
use crate::model::contact_import::ContactImport;
use crate::model::contact_property::ContactProperty;
use crate::model::domain::Domain;
use crate::model::domain_claim::DomainClaim;
use crate::model::email::Email;
use crate::model::email::index::EmailIndex;
use crate::model::event::Event;
use crate::model::log::Entry;
use crate::model::mail::Mail;
use crate::model::metric::Metric;
use crate::model::received::Received;
use crate::model::segment::Segment;
use crate::model::suppression::Suppression;
use crate::model::template::Template;
use crate::model::topic::Topic;
use crate::model::usage::Usage;
use crate::model::webhook::Webhook;
use crate::model::webhook_delivery::Deliveries;
use crate::state::idempotency::Keys;
use crate::state::inboxes::InboxTables;
use crate::state::ratelimit::Meter;
use crate::state::uses::Used;
use crate::store::budget::Budget;
use crate::store::ledger::Ledger;
use crate::store::mails::Mails;
use crate::store::single::Single;
use crate::store::table::Table;

/// The number of index entries that are read under one lock.
const READ_STEP: usize = 1_000;

/// The state of one tenant. Each table has its own lock.
#[derive(Debug)]
pub struct Tenant {
    pub name: String,
    pub clock: Clock,
    pub emails: Mutex<Ledger<Arc<Email>>>,
    /// Taken only under the lock of the emails.
    pub email_index: Mutex<EmailIndex>,
    pub captured: Mutex<Mails<Mail>>,
    pub logs: Mutex<Ledger<Arc<Entry>>>,
    pub received: Mutex<Mails<Received>>,
    /// When the oldest mail will be deleted, if mails have a maximum age.
    pub expiry: Mutex<Option<Timestamp>>,
    pub api_keys: Table<ApiKey>,
    pub automations: Table<Automation>,
    pub runs: Table<Run>,
    pub broadcasts: Table<Broadcast>,
    pub contacts: Table<Contact>,
    pub contact_imports: Table<ContactImport>,
    pub contact_properties: Table<ContactProperty>,
    pub domains: Table<Domain>,
    pub domain_claims: Table<DomainClaim>,
    pub events: Table<Event>,
    pub inboxes: InboxTables,
    pub segments: Table<Segment>,
    pub suppressions: Table<Suppression>,
    pub templates: Table<Template>,
    pub topics: Table<Topic>,
    pub webhooks: Table<Webhook>,
    /// The events of its webhooks.
    pub deliveries: Deliveries,
    pub keys: Keys,
    pub meter: Mutex<Meter>,
    /// The usage of its quotas.
    pub usage: Mutex<Single<Usage>>,
    /// The number of its last use, counted over all tenants.
    pub last_used: AtomicU64,
    /// Whether the service stores it, which only the index of all tenants changes.
    pub(super) is_stored: AtomicBool,
}

impl Tenant {
    pub fn new(
        name: &str,
        clock: Clock,
        max_records: usize,
        max_deliveries: usize,
        budget: &Arc<Budget>,
        answers: &Arc<Budget>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            clock,
            emails: Mutex::new(Ledger::new()),
            email_index: Mutex::default(),
            captured: Mutex::new(Mails::new()),
            logs: Mutex::new(Ledger::new()),
            received: Mutex::new(Mails::new()),
            expiry: Mutex::default(),
            api_keys: Table::new(max_records, budget),
            automations: Table::new(max_records, budget),
            runs: Table::new(max_records, budget),
            broadcasts: Table::new(max_records, budget),
            contacts: Table::new(max_records, budget),
            contact_imports: Table::new(max_records, budget),
            contact_properties: Table::new(max_records, budget),
            domains: Table::new(max_records, budget),
            domain_claims: Table::new(max_records, budget),
            events: Table::new(max_records, budget),
            inboxes: InboxTables::new(max_records, budget),
            segments: Table::new(max_records, budget),
            suppressions: Table::new(max_records, budget),
            templates: Table::new(max_records, budget),
            topics: Table::new(max_records, budget),
            webhooks: Table::new(max_records, budget),
            deliveries: Deliveries::new(max_deliveries),
            keys: Keys::new(Arc::clone(answers)),
            meter: Mutex::default(),
            usage: Mutex::new(Single::new()),
            last_used: AtomicU64::new(0),
            is_stored: AtomicBool::new(false),
        }
    }

    /// Whether the service stores it: reads of an unknown account get an empty one that it doesn't.
    pub fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Relaxed)
    }

    /// Adds an email.
    pub fn add_email(&self, email: &Arc<Email>) {
        let mut emails = lock(&self.emails);
        let position = emails.insert(email.id, Arc::clone(email));
        lock(&self.email_index).add_all(email, position);
    }

    /// Marks an email as changed by a fact. An evicted email isn't marked.
    pub fn index_email(&self, email: &Email, at: Timestamp, metric: Option<Metric>) {
        let mut emails = lock(&self.emails);
        emails.mark_changed(email.id);
        if let (Some(position), Some(metric)) = (emails.position(email.id), metric) {
            lock(&self.email_index).add(email, position, at, metric);
        }
    }

    /// Removes an email.
    pub fn remove_email(&self, id: Uuid) -> Option<Arc<Email>> {
        let mut emails = lock(&self.emails);
        let position = emails.position(id)?;
        let email = emails.remove(id)?;
        lock(&self.email_index).remove(&email, position);
        Some(email)
    }

    /// The emails of a broadcast with this event, oldest first, read a part at a time, so that no request waits for all of them.
    pub fn emails_of_broadcast(&self, broadcast: Uuid, metric: Metric) -> Vec<Arc<Email>> {
        let (mut found, mut start) = (Vec::new(), 0);
        loop {
            let emails = lock(&self.emails);
            let index = lock(&self.email_index);
            let positions = index.recipients(broadcast, metric, start..u64::MAX).take(READ_STEP);
            let positions: Vec<_> = positions.collect();
            found.extend(emails.get_many(positions.iter().copied()).cloned());
            match positions.last() {
                Some(last) if positions.len() == READ_STEP => start = last + 1,
                _ => return found,
            }
        }
    }

    /// The emails with an event in a range of time that includes its end, read a part at a time.
    pub fn emails_in_range(&self, start: Timestamp, end: Timestamp) -> Vec<Arc<Email>> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Bound::Included((start, Uuid::nil()));
        loop {
            let emails = lock(&self.emails);
            let index = lock(&self.email_index);
            let mut read = 0;
            for (at, id) in index.next(next, end).take(READ_STEP) {
                read += 1;
                next = Bound::Excluded((*at, *id));
                if seen.insert(*id) {
                    found.extend(emails.get(*id).cloned());
                }
            }
            if read < READ_STEP {
                return found;
            }
        }
    }

    /// Indexes the restored emails.
    pub fn index_emails(&self) {
        let emails = lock(&self.emails);
        let positions = emails.entries(0..u64::MAX);
        *lock(&self.email_index) =
            EmailIndex::from_emails(positions.map(|(position, email)| (*position, &**email)));
    }

    /// The ID of the audience of contacts without a segment: constant for this tenant, and not one of its segments.
    pub fn default_audience(&self) -> Uuid {
        uuid_of(&[b"default audience\n", self.name.as_bytes()])
    }

    /// Whether it has no data. Logs and recorded requests don't count.
    pub fn is_empty(&self) -> bool {
        lock(&self.emails).is_empty()
            && lock(&self.captured).is_empty()
            && lock(&self.received).is_empty()
            && self.api_keys.is_empty()
            && self.automations.is_empty()
            && self.runs.is_empty()
            && self.broadcasts.is_empty()
            && self.contacts.is_empty()
            && self.contact_imports.is_empty()
            && self.contact_properties.is_empty()
            && self.domains.is_empty()
            && self.domain_claims.is_empty()
            && self.events.is_empty()
            && self.inboxes.inboxes.is_empty()
            && self.segments.is_empty()
            && self.suppressions.is_empty()
            && self.templates.is_empty()
            && self.topics.is_empty()
            && self.webhooks.is_empty()
    }

    /// Whether it has neither data nor a separate clock.
    pub fn is_unused(&self) -> bool {
        self.is_empty() && !self.clock.is_own()
    }

    /// Finds a domain of the tenant by its name.
    pub fn domain(&self, name: &str) -> Option<Arc<Domain>> {
        self.domains.find_by_key(name)
    }

    /// Whether the tenant has verified this domain for sending. The specification doesn't mention subdomains: each counts as a separate domain,
    /// since it has its own records.
    pub fn can_send_from(&self, domain: &str) -> bool {
        self.domain(domain).is_some_and(|domain| domain.can_send())
    }
}

impl Used for Tenant {
    fn last_used(&self) -> &AtomicU64 {
        &self.last_used
    }
}
