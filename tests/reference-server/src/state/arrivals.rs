//! Wakes tasks that wait for a captured email.
//!
//! Unlike the [event bus](super::event_bus), it wakes only the waiters of one tenant, carries no data, and loses nothing: however many emails are
//! captured before a waiter looks, they wake it once.

use std::sync::{Arc, Mutex, Weak};

use foldhash::HashMap;
use tokio::sync::{Semaphore, watch};

use crate::lock::lock;
use crate::model::mail::Mail;
use crate::state::tenant::Tenant;

/// The maximum number of concurrent checks, each of which needs a blocking thread.
const MAX_SEARCHES: usize = 4;
/// The number of emails taken from the list together.
const CHUNK: usize = 64;

/// The waiters, by the name of their tenant, which needn't exist yet.
#[derive(Debug)]
pub struct Arrivals {
    waiting: Mutex<HashMap<Arc<str>, watch::Sender<()>>>,
    /// The permits for concurrent checks.
    pub looking: Arc<Semaphore>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { waiting: Mutex::default(), looking: Arc::new(Semaphore::new(MAX_SEARCHES)) }
    }
}

impl Arrivals {
    /// Wakes the waiters of a tenant.
    pub fn publish(&self, tenant: &str) {
        if let Some(waiting) = lock(&self.waiting).get(tenant) {
            waiting.send_replace(());
        }
    }

    /// Subscribes to all captures of a tenant from now on, until it is dropped.
    pub fn subscribe(&self, tenant: &str) -> Subscription<'_> {
        let mut waiting = lock(&self.waiting);
        let sender = waiting.entry(tenant.into()).or_insert_with(|| watch::channel(()).0);
        Subscription { arrivals: self, tenant: tenant.into(), receiver: sender.subscribe() }
    }
}

/// A waiter.
pub struct Subscription<'a> {
    arrivals: &'a Arrivals,
    tenant: Arc<str>,
    receiver: watch::Receiver<()>,
}

impl Subscription<'_> {
    /// Waits for an email that was captured after the last call.
    pub async fn next_capture(&mut self) {
        // The sender lives as long as its receivers.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.arrivals.waiting);
        if waiting.get(&self.tenant).is_some_and(|sender| sender.receiver_count() == 1) {
            waiting.remove(&self.tenant);
        }
    }
}

/// The emails of a tenant that were already compared.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// A reset replaces the tenant, and positions start again.
    tenant: Weak<Tenant>,
    /// The position of the first uncompared email.
    next: u64,
}

impl Seen {
    /// All emails up to a position.
    pub fn up_to(tenant: &Arc<Tenant>, position: u64) -> Self {
        Self { tenant: Arc::downgrade(tenant), next: position + 1 }
    }

    /// Finds the newest email that wasn't compared yet and matches. All others then also count as compared.
    pub fn newest_match(
        &mut self,
        tenant: &Arc<Tenant>,
        mut matches: impl FnMut(&Arc<Mail>) -> bool,
    ) -> Option<Arc<Mail>> {
        if !std::ptr::eq(self.tenant.as_ptr(), Arc::as_ptr(tenant)) {
            *self = Self { tenant: Arc::downgrade(tenant), next: 0 };
        }
        let from = self.next;
        let mut end = lock(&tenant.captured).next_position();
        self.next = end;
        // A filter may be slow, so it doesn't run under the lock.
        loop {
            let chunk: Vec<_> = {
                let captured = lock(&tenant.captured);
                captured.entries(from..end).take(CHUNK).cloned().collect()
            };
            end = chunk.last()?.0;
            if let Some((_, mail)) = chunk.into_iter().find(|(_, mail)| matches(mail)) {
                return Some(mail);
            }
        }
    }
}
