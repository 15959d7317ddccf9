//! Pending webhook delivery attempts.
//!
//! Every webhook has its own queue and concurrency limit. A webhook without an attempt in flight may always start one, so unresponsive endpoints
//! never delay the others. Only if the clock was moved past attempts of an account, an attempt waits for all those that were due earlier, except
//! those to an endpoint that didn't respond to its last attempt: they run concurrently, started in order.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex, Weak};

use jiff::Timestamp;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::lock::lock;
use crate::model::webhook_delivery::WebhookDelivery;
use crate::state::tenant::Tenant;

/// The maximum number of attempts in flight per webhook.
const MAX_PER_WEBHOOK: usize = 8;
/// The number of attempts in flight above which each webhook may have only one.
const MAX_SHARED: usize = 64;
/// The maximum number of attempts in flight.
const MAX_IN_FLIGHT: usize = 1_024;

/// The number of waiting attempts that are checked for evicted events whenever one is added.
const CHECKS: usize = 4;

/// A delivery attempt to make.
pub struct PendingAttempt {
    pub tenant: Weak<Tenant>,
    pub delivery: Arc<WebhookDelivery>,
    pub due: Timestamp,
    /// A scheduled attempt, as opposed to a replay.
    pub planned: bool,
}

impl PendingAttempt {
    pub fn slot(&self) -> Slot {
        let account = self.tenant.as_ptr().addr();
        Slot { account, webhook: self.delivery.webhook, due: self.due }
    }
}

/// The part of an attempt that the queues need until it ends.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// A number unique to the account.
    account: usize,
    webhook: Uuid,
    due: Timestamp,
}

/// The queues of all webhooks.
pub struct Outbox {
    /// The maximum number of waiting attempts per webhook; the oldest are dropped.
    max_waiting: usize,
    queues: Mutex<Queues>,
}

/// A waiting attempt. Its event may be evicted.
struct Waiting {
    tenant: Weak<Tenant>,
    delivery: Weak<WebhookDelivery>,
    planned: bool,
}

impl Waiting {
    fn new(job: &PendingAttempt) -> Self {
        Self {
            tenant: Weak::clone(&job.tenant),
            delivery: Arc::downgrade(&job.delivery),
            planned: job.planned,
        }
    }

    fn open(self, due: Timestamp) -> Option<PendingAttempt> {
        Some(PendingAttempt {
            tenant: self.tenant,
            delivery: self.delivery.upgrade()?,
            due,
            planned: self.planned,
        })
    }
}

/// The webhook of a waiting attempt, its due time, and its number.
type Place = (Uuid, Timestamp, u64);

/// The place before all others.
const FIRST: Place = (Uuid::nil(), Timestamp::MIN, 0);

/// The attempts of an account to one webhook with the same due time, waiting or in flight.
struct Open {
    tenant: Weak<Tenant>,
    attempts: usize,
}

struct Queues {
    /// By webhook, in order of their due times.
    waiting: BTreeMap<Place, Waiting>,
    /// The number of the next attempt.
    next: u64,
    /// The last attempt that was checked for an evicted event.
    checked: Place,
    by_webhook: HashMap<Uuid, Queue>,
    /// By account, webhook and due time.
    open: BTreeMap<(usize, Uuid, Timestamp), Open>,
    /// The listed webhooks, the next one first: those with waiting attempts, and some whose attempts were dropped.
    ready: VecDeque<Uuid>,
    running: usize,
    /// Signals that attempts have ended.
    ended: Arc<Notify>,
}

#[derive(Default)]
struct Queue {
    waiting: usize,
    running: usize,
    listed: bool,
    /// Whether its endpoint didn't respond in time to the attempt that ended last.
    unresponsive: bool,
}

impl Outbox {
    pub fn new(max_waiting: usize) -> Self {
        let queues = Queues {
            waiting: BTreeMap::new(),
            next: 0,
            checked: FIRST,
            by_webhook: HashMap::new(),
            open: BTreeMap::new(),
            ready: VecDeque::new(),
            running: 0,
            ended: Arc::default(),
        };
        Self { max_waiting: max_waiting.max(1), queues: Mutex::new(queues) }
    }

    /// Adds an attempt. If the queue is full, returns the attempt that it dropped.
    #[expect(clippy::needless_pass_by_value, reason = "it is handed over, though only links to it are kept")]
    pub fn push(&self, job: PendingAttempt) -> Option<PendingAttempt> {
        let mut queues = lock(&self.queues);
        let webhook = job.delivery.webhook;
        let queues = &mut *queues;
        queues.add_open(&job);
        queues.waiting.insert((webhook, job.due, queues.next), Waiting::new(&job));
        queues.next += 1;
        let queue = queues.by_webhook.entry(webhook).or_default();
        queue.waiting += 1;
        if !std::mem::replace(&mut queue.listed, true) {
            queues.ready.push_back(webhook);
        }
        let is_full = queue.waiting > self.max_waiting;
        let oldest = queues.first(webhook).filter(|_| is_full);
        let displaced = oldest.and_then(|place| queues.remove(place)?.open(place.1));
        queues.purge();
        displaced
    }

    /// Whether no attempt waits.
    pub fn is_empty(&self) -> bool {
        lock(&self.queues).waiting.is_empty()
    }

    /// Takes the next attempt that may be made now. The caller reports its end with [`finish_attempt`](Self::finish_attempt).
    pub fn next(&self) -> Option<PendingAttempt> {
        let mut queues = lock(&self.queues);
        let queues = &mut *queues;
        if queues.running >= MAX_IN_FLIGHT {
            return None;
        }
        for _ in 0..queues.ready.len() {
            let webhook = queues.ready.pop_front()?;
            let limit = if queues.running < MAX_SHARED { MAX_PER_WEBHOOK } else { 1 };
            let is_busy = queues.by_webhook.get(&webhook).is_some_and(|queue| queue.running >= limit);
            if is_busy || queues.is_early(webhook) {
                queues.ready.push_back(webhook);
                continue;
            }
            let job = queues.pop(webhook);
            let queue = queues.by_webhook.entry(webhook).or_default();
            queue.listed = queue.waiting > 0;
            if queue.listed {
                queues.ready.push_back(webhook);
            }
            if let Some(job) = job {
                queue.running += 1;
                queues.running += 1;
                queues.add_open(&job);
                return Some(job);
            }
            queues.remove_idle(webhook);
        }
        None
    }

    /// Ends an attempt that was taken. `timed_out` is whether the endpoint didn't respond in time; `None` if it
    /// wasn't asked.
    pub fn finish_attempt(&self, slot: Slot, timed_out: Option<bool>) {
        let mut queues = lock(&self.queues);
        queues.running = queues.running.saturating_sub(1);
        if let Some(queue) = queues.by_webhook.get_mut(&slot.webhook) {
            queue.running = queue.running.saturating_sub(1);
            queue.unresponsive = timed_out.unwrap_or(queue.unresponsive);
        }
        queues.remove_open(slot);
        queues.remove_idle(slot.webhook);
    }

    /// Waits until all attempts that the clock was moved past have ended: those of one account, as a number, or of all.
    pub async fn wait_for_skipped(&self, account: Option<usize>) {
        let ended = Arc::clone(&lock(&self.queues).ended);
        loop {
            let ended = ended.notified();
            if !lock(&self.queues).has_skipped(account) {
                return;
            }
            ended.await;
        }
    }

    /// Drops all waiting attempts. Those in flight still complete.
    pub fn clear(&self) {
        let mut queues = lock(&self.queues);
        queues.ready.clear();
        while let Some((place, _)) = queues.waiting.first_key_value() {
            let place = *place;
            queues.remove(place);
        }
        queues.by_webhook.retain(|_, queue| queue.running > 0);
        for queue in queues.by_webhook.values_mut() {
            queue.listed = false;
        }
    }
}

impl Queues {
    /// The place of the oldest waiting attempt of a webhook.
    fn first(&self, webhook: Uuid) -> Option<Place> {
        let mut places = self.waiting.range((webhook, Timestamp::MIN, 0)..).map(|(place, _)| *place);
        places.next().filter(|place| place.0 == webhook)
    }

    /// Takes the oldest waiting attempt of a webhook whose event still exists.
    fn pop(&mut self, webhook: Uuid) -> Option<PendingAttempt> {
        while let Some(place) = self.first(webhook) {
            let job = self.remove(place).and_then(|waiting| waiting.open(place.1));
            if job.is_some() {
                return job;
            }
        }
        None
    }

    /// Whether the next attempt of a webhook must wait for another one of the account that was due earlier.
    fn is_early(&self, webhook: Uuid) -> bool {
        let Some(place) = self.first(webhook) else { return false };
        let tenant = &self.waiting[&place].tenant;
        let account = tenant.as_ptr().addr();
        let is_unresponsive = |webhook| self.by_webhook.get(&webhook).is_some_and(|queue| queue.unresponsive);
        tenant.upgrade().is_some_and(|tenant| tenant.clock.skipped(place.1))
            && self.first_open(account).any(|(webhook, due)| due < place.1 && !is_unresponsive(webhook))
    }

    /// The due time of the oldest open attempt of each webhook of an account.
    fn first_open(&self, account: usize) -> impl Iterator<Item = (Uuid, Timestamp)> {
        let key_from = |bound| self.open.range((bound, Unbounded)).next().map(|(key, _)| *key);
        let first = key_from(Included((account, Uuid::nil(), Timestamp::MIN)));
        std::iter::successors(first, move |(account, webhook, _)| {
            key_from(Excluded((*account, *webhook, Timestamp::MAX)))
        })
        .take_while(move |key| key.0 == account)
        .map(|(_, webhook, due)| (webhook, due))
    }

    /// Whether the clock was moved past an attempt that hasn't ended.
    fn has_skipped(&self, account: Option<usize>) -> bool {
        let (first, last) = account.map_or((0, usize::MAX), |account| (account, account));
        let mut open =
            self.open.range((first, Uuid::nil(), Timestamp::MIN)..=(last, Uuid::max(), Timestamp::MAX));
        open.any(|((.., due), open)| open.tenant.upgrade().is_some_and(|tenant| tenant.clock.skipped(*due)))
    }

    fn add_open(&mut self, job: &PendingAttempt) {
        let slot = job.slot();
        let open = self.open.entry((slot.account, slot.webhook, slot.due));
        open.or_insert_with(|| Open { tenant: Weak::clone(&job.tenant), attempts: 0 }).attempts += 1;
    }

    fn remove_open(&mut self, slot: Slot) {
        if let Entry::Occupied(mut open) = self.open.entry((slot.account, slot.webhook, slot.due)) {
            open.get_mut().attempts -= 1;
            if open.get().attempts == 0 {
                open.remove();
                self.ended.notify_waiters();
            }
        }
    }

    fn remove(&mut self, place: Place) -> Option<Waiting> {
        let waiting = self.waiting.remove(&place)?;
        let account = waiting.tenant.as_ptr().addr();
        self.remove_open(Slot { account, webhook: place.0, due: place.1 });
        if let Some(queue) = self.by_webhook.get_mut(&place.0) {
            queue.waiting -= 1;
        }
        Some(waiting)
    }

    /// Drops a queue with nothing in it.
    fn remove_idle(&mut self, webhook: Uuid) {
        let idle = |queue: &Queue| queue.waiting == 0 && queue.running == 0 && !queue.listed;
        if self.by_webhook.get(&webhook).is_some_and(idle) {
            self.by_webhook.remove(&webhook);
        }
    }

    /// Drops attempts of evicted events, a few per call and in turn: all are checked before as many again are added.
    fn purge(&mut self) {
        for _ in 0..CHECKS {
            let after = (Excluded(self.checked), Unbounded);
            let Some((place, waiting)) = self.waiting.range(after).next() else {
                self.checked = FIRST;
                return;
            };
            self.checked = *place;
            if waiting.delivery.strong_count() == 0 {
                self.remove(self.checked);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn job(webhook: u128) -> PendingAttempt {
        let webhook = Uuid::from_u128(webhook);
        let delivery = WebhookDelivery::new(
            Uuid::new_v4(),
            webhook,
            "email.sent",
            Timestamp::UNIX_EPOCH,
            None,
            Bytes::new(),
        );
        let due = Timestamp::UNIX_EPOCH;
        PendingAttempt { tenant: Weak::new(), delivery: Arc::new(delivery), due, planned: true }
    }

    /// Adds attempts for these webhooks; the events exist for as long as the returned value.
    fn push_all(outbox: &Outbox, webhooks: impl Iterator<Item = u128>) -> Vec<Arc<WebhookDelivery>> {
        let push = |webhook| {
            let job = job(webhook);
            let delivery = Arc::clone(&job.delivery);
            outbox.push(job);
            delivery
        };
        webhooks.map(push).collect()
    }

    #[test]
    fn attempts_of_evicted_events_are_dropped_a_few_at_a_time() {
        let outbox = Outbox::new(10_000);
        let kept = push_all(&outbox, std::iter::once(3));
        let evicted = push_all(&outbox, (0..40_000).map(|number| number % 5));
        let waiting = || lock(&outbox.queues).waiting.len();
        assert_eq!(waiting(), 40_001);
        drop(evicted);
        for _ in 0..20_002 {
            let before = waiting();
            outbox.push(job(9));
            assert!(waiting() + CHECKS > before, "a push checks at most {CHECKS} attempts");
        }
        assert!(waiting() < 10, "{}", waiting());
        let taken: Vec<_> = std::iter::from_fn(|| outbox.next()).collect();
        assert!(matches!(&taken[..], [job] if Arc::ptr_eq(&job.delivery, &kept[0])));
    }

    #[test]
    fn many_unresponsive_webhooks_delay_no_other() {
        let outbox = Outbox::new(10_000);
        let _events = push_all(&outbox, (0..10_000).map(|number| number % 100));
        let taken: Vec<_> = std::iter::from_fn(|| outbox.next()).collect();
        let of = |webhook| taken.iter().filter(|job| job.delivery.webhook.as_u128() == webhook).count();
        for webhook in 0..100 {
            assert_eq!(of(webhook), 1, "{webhook}");
        }
        // Another one starts immediately, and again when it has ended.
        let _events = push_all(&outbox, std::iter::repeat_n(200, 3));
        for _ in 0..3 {
            let job = outbox.next().expect("an attempt of the responsive webhook");
            assert_eq!(job.delivery.webhook.as_u128(), 200);
            assert!(outbox.next().is_none());
            outbox.finish_attempt(job.slot(), None);
        }
        for job in &taken {
            outbox.finish_attempt(job.slot(), None);
        }
        assert_eq!(std::iter::from_fn(|| outbox.next()).count(), 100);
    }

    #[test]
    fn oldest_attempt_is_dropped_when_the_queue_is_full() {
        let outbox = Outbox::new(2);
        let jobs: Vec<_> = (0..3).map(|_| job(1)).collect();
        let events: Vec<_> = jobs.iter().map(|job| Arc::clone(&job.delivery)).collect();
        let displaced: Vec<_> = jobs.into_iter().filter_map(|job| outbox.push(job)).collect();
        assert!(matches!(&displaced[..], [job] if Arc::ptr_eq(&job.delivery, &events[0])));
        assert_eq!(std::iter::from_fn(|| outbox.next()).count(), 2);
    }

    #[test]
    fn clear_drops_all_waiting_attempts() {
        let outbox = Outbox::new(10_000);
        let _events = push_all(&outbox, 1..=3);
        let under_way = outbox.next().unwrap().slot();
        outbox.clear();
        assert!(outbox.next().is_none());
        outbox.finish_attempt(under_way, None);
        assert!(lock(&outbox.queues).by_webhook.is_empty());
    }

    #[test]
    fn every_pushed_attempt_is_returned_once() {
        let outbox = Outbox::new(10_000);
        let _events = push_all(&outbox, (0..500).map(|number| number % 7));
        let mut left = 0;
        while let Some(job) = outbox.next() {
            left += 1;
            outbox.finish_attempt(job.slot(), None);
        }
        assert_eq!(left, 500);
        assert!(lock(&outbox.queues).by_webhook.is_empty(), "finished attempts leave no entry");
    }
}
