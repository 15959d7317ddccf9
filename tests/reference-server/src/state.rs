//! The state of one service: its settings, clock, tenants, logins and queues.

pub mod arrivals;
pub mod event_bus;
pub mod faults;
pub mod fetches;
pub mod http_clients;
pub mod idempotency;
pub mod images;
pub mod in_flight;
pub mod inboxes;
pub mod job;
pub mod keys;
pub mod links;
pub mod mails;
pub mod moment;
pub mod names;
pub mod oauth;
pub mod outbox;
pub mod quota;
pub mod ratelimit;
pub mod relay;
pub mod requests;
pub mod retention;
pub mod tenant;
pub mod tenants;
pub mod uses;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use http::HeaderMap;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use uuid::Uuid;

use self::arrivals::Arrivals;
use self::event_bus::{BusEventKind, EventBus};
use self::faults::Faults;
use self::fetches::FetchQueue;
use self::http_clients::HttpClients;
use self::images::ImageStore;
use self::in_flight::InFlight;
use self::job::Job;
use self::keys::DEFAULT_KEY;
use self::links::Links;
use self::oauth::OAuthStore;
use self::outbox::Outbox;
use self::relay::Relay;
use self::tenants::Tenants;
use crate::clock::Clock;
use crate::lock::lock;
use crate::model::credential::Credential;
use crate::model::mail::Mail;
use crate::scheduler::Scheduler;
use crate::seeds::Ids;
use crate::settings::Settings;
use crate::store::snapshot_lock::SnapshotLock;
use crate::wire::Problem;

/// The state of one service.
pub struct State {
    pub settings: Settings,
    pub clock: Clock,
    pub scheduler: Scheduler<Job>,
    pub faults: Faults,
    ids: Ids,
    request_ids: Ids,
    secrets: Ids,
    pub links: Arc<Links>,
    pub tenants: Tenants,
    pub oauth: OAuthStore,
    pub fetches: FetchQueue,
    pub images: ImageStore,
    pub outbox: Outbox,
    pub http_clients: HttpClients,
    pub in_flight: InFlight,
    /// The real server for forwarded and released mails.
    pub relay: OnceLock<Relay>,
    pub event_bus: EventBus,
    pub arrivals: Arrivals,
    /// Captured emails that the listeners have not received yet.
    for_listeners: Mutex<VecDeque<Arc<Mail>>>,
    /// Entered by every mutating thread.
    pub snapshot_lock: SnapshotLock,
    /// Whether the state survives a restart.
    pub persistent: AtomicBool,
    /// Whether the last write of changes to disk succeeded.
    pub saved: AtomicBool,
}

impl State {
    pub fn new(settings: Settings, links: Links, oauth: OAuthStore) -> Self {
        let settings = settings.within_memory();
        for host in &settings.allowed_hosts {
            links.allow(host);
        }
        let clock = Clock::new(settings.clock);
        let links = Arc::new(match &settings.public_url {
            Some(address) => links.published_at(address),
            None => links,
        });
        Self {
            scheduler: Scheduler::new(Job::is_needed, Job::due_on_own_clock, Job::account),
            faults: Faults::new(settings.seed),
            ids: Ids::new(settings.seed, 0),
            request_ids: Ids::new(settings.seed, 1),
            secrets: Ids::new(settings.seed, 2),
            tenants: Tenants::new(&settings, clock.clone(), Arc::clone(&links)),
            clock,
            links,
            oauth,
            fetches: FetchQueue::new(settings.fetch_bytes()),
            images: ImageStore::new(settings.image_bytes()),
            outbox: Outbox::new(settings.keep_webhook_events),
            http_clients: HttpClients::new(settings.allow_private_addresses, settings.public_url.as_deref()),
            in_flight: InFlight::new(settings.in_flight_bytes()),
            relay: OnceLock::new(),
            event_bus: EventBus::default(),
            arrivals: Arrivals::default(),
            for_listeners: Mutex::default(),
            snapshot_lock: SnapshotLock::default(),
            persistent: AtomicBool::new(false),
            saved: AtomicBool::new(false),
            settings,
        }
    }

    pub fn next_id(&self) -> Uuid {
        self.ids.next()
    }

    pub fn next_request_id(&self) -> Uuid {
        self.request_ids.next()
    }

    /// A random UUID that can't be guessed, for keys.
    pub fn next_secret(&self) -> Uuid {
        self.secrets.next()
    }

    /// Resolves the credential of a request.
    pub fn credential<'a>(&self, headers: &'a HeaderMap) -> Result<Credential<'a>, Problem> {
        keys::read(headers, &self.tenants.api_key_index, &self.oauth, &self.clock)
    }

    /// The current time of the account of an email, or of the service if it no longer exists.
    pub fn now_for_mail(&self, email: Uuid) -> Timestamp {
        self.tenants.owner(email).map_or_else(|| self.clock.now(), |tenant| tenant.clock.now())
    }

    /// The account of requests without one: the password's, if there is one.
    pub fn default_account(&self) -> String {
        let password = self.settings.password.as_ref().map(SecretString::expose_secret);
        password.map_or_else(|| DEFAULT_KEY.to_owned(), |password| format!("sb_{password}"))
    }

    /// Queues a captured email for the listeners, which run when no lock is held, so that they may call the service.
    pub fn queue_captured(&self, mail: Arc<Mail>) {
        lock(&self.for_listeners).push_back(mail);
    }

    /// Takes the next captured email for the listeners.
    pub fn next_captured(&self) -> Option<Arc<Mail>> {
        lock(&self.for_listeners).pop_front()
    }

    /// Deletes all tenants, requests, faults and scheduled jobs.
    pub fn reset(&self) {
        self.scheduler.clear();
        self.fetches.clear();
        self.images.clear();
        self.outbox.clear();
        lock(&self.for_listeners).clear();
        self.faults.clear();
        self.tenants.reset();
        self.oauth.reset();
        self.event_bus.publish_to_all(BusEventKind::Forgotten);
    }
}
