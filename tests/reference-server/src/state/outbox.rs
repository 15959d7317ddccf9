//! Pending webhook delivery attempts.
//!
//! Every webhook has a queue and a concurrency limit of its own, so an unresponsive endpoint doesn't delay the others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use uuid::Uuid;

use crate::lock::lock;
use crate::model::webhook_delivery::WebhookDelivery;
use crate::state::tenant::Tenant;

/// The maximum number of attempts in flight per webhook.
const AT_ONCE: usize = 8;
/// The maximum number of attempts in flight.
const AT_ONCE_IN_ALL: usize = 64;

/// A delivery attempt to make.
pub(crate) struct PendingAttempt {
    pub(crate) tenant: Weak<Tenant>,
    pub(crate) delivery: Arc<WebhookDelivery>,
    /// A scheduled attempt, as opposed to a replay.
    pub(crate) planned: bool,
}

/// The queues of all webhooks.
pub(crate) struct Outbox {
    /// The maximum number of waiting attempts per webhook; the oldest are dropped.
    most: usize,
    queues: Mutex<Queues>,
}

/// A waiting attempt. Its event may be evicted meanwhile.
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

    fn open(self) -> Option<PendingAttempt> {
        Some(PendingAttempt {
            tenant: self.tenant,
            delivery: self.delivery.upgrade()?,
            planned: self.planned,
        })
    }
}

#[derive(Default)]
struct Queues {
    by_webhook: HashMap<Uuid, Queue>,
    /// The webhooks with waiting attempts, the next one first.
    turns: VecDeque<Uuid>,
    running: usize,
    /// The number of waiting attempts, and the threshold above which those of evicted events are dropped.
    waiting: usize,
    purge_above: usize,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    running: usize,
}

impl Outbox {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), queues: Mutex::default() }
    }

    /// Adds an attempt. Returns the one that is dropped if the queue is full.
    #[expect(clippy::needless_pass_by_value, reason = "it is handed over, though only links to it are kept")]
    pub(crate) fn push(&self, job: PendingAttempt) -> Option<PendingAttempt> {
        let mut queues = lock(&self.queues);
        let webhook = job.delivery.webhook;
        let queues = &mut *queues;
        let queue = queues.by_webhook.entry(webhook).or_default();
        queue.waiting.push_back(Waiting::new(&job));
        queues.waiting += 1;
        if queue.waiting.len() == 1 {
            queues.turns.push_back(webhook);
        }
        let displaced = (queue.waiting.len() > self.most).then(|| queue.waiting.pop_front()).flatten();
        queues.waiting -= usize::from(displaced.is_some());
        if queues.waiting > queues.purge_above {
            queues.purge();
        }
        displaced.and_then(Waiting::open)
    }

    /// Takes the next attempt that may be made now. The caller reports its end with [`done`](Self::done).
    pub(crate) fn next(&self) -> Option<PendingAttempt> {
        let mut queues = lock(&self.queues);
        let queues = &mut *queues;
        if queues.running >= AT_ONCE_IN_ALL {
            return None;
        }
        for _ in 0..queues.turns.len() {
            let webhook = queues.turns.pop_front()?;
            let queue = queues.by_webhook.get_mut(&webhook)?;
            if queue.running >= AT_ONCE {
                queues.turns.push_back(webhook);
                continue;
            }
            let before = queue.waiting.len();
            let job = std::iter::from_fn(|| queue.waiting.pop_front()).find_map(Waiting::open);
            queues.waiting -= before - queue.waiting.len();
            if !queue.waiting.is_empty() {
                queues.turns.push_back(webhook);
            }
            if job.is_some() {
                queue.running += 1;
                queues.running += 1;
                return job;
            }
            if queue.running == 0 {
                queues.by_webhook.remove(&webhook);
            }
        }
        None
    }

    /// Ends an attempt that was taken.
    pub(crate) fn done(&self, webhook: Uuid) {
        let mut queues = lock(&self.queues);
        let queues = &mut *queues;
        queues.running = queues.running.saturating_sub(1);
        if let Some(queue) = queues.by_webhook.get_mut(&webhook) {
            queue.running = queue.running.saturating_sub(1);
            if queue.running == 0 && queue.waiting.is_empty() {
                queues.by_webhook.remove(&webhook);
            }
        }
    }

    /// Drops all waiting attempts. Those in flight end by themselves.
    pub(crate) fn clear(&self) {
        let mut queues = lock(&self.queues);
        queues.turns.clear();
        for queue in queues.by_webhook.values_mut() {
            queue.waiting.clear();
        }
        queues.by_webhook.retain(|_, queue| queue.running > 0);
        queues.waiting = 0;
    }
}

impl Queues {
    /// Drops the attempts of evicted events, once they may be half of all.
    fn purge(&mut self) {
        for queue in self.by_webhook.values_mut() {
            queue.waiting.retain(|waiting| waiting.delivery.strong_count() > 0);
        }
        self.by_webhook.retain(|_, queue| queue.running > 0 || !queue.waiting.is_empty());
        self.turns
            .retain(|webhook| self.by_webhook.get(webhook).is_some_and(|queue| !queue.waiting.is_empty()));
        self.waiting = self.by_webhook.values().map(|queue| queue.waiting.len()).sum();
        self.purge_above = 2 * self.waiting + 1_024;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use jiff::Timestamp;

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
        PendingAttempt { tenant: Weak::new(), delivery: Arc::new(delivery), planned: true }
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
    fn attempts_of_forgotten_events_are_dropped() {
        let outbox = Outbox::new(10_000);
        let kept = push_all(&outbox, std::iter::once(3));
        for webhook in 0..100_000 {
            outbox.push(job(webhook % 5));
        }
        let queues = lock(&outbox.queues);
        assert!(
            queues.waiting < 3_000 && queues.by_webhook.values().all(|queue| queue.waiting.len() < 3_000)
        );
        drop(queues);
        let taken: Vec<_> = std::iter::from_fn(|| outbox.next()).collect();
        assert!(matches!(&taken[..], [job] if Arc::ptr_eq(&job.delivery, &kept[0])));
    }

    #[test]
    fn a_webhook_that_never_answers_keeps_no_other_waiting() {
        let outbox = Outbox::new(10_000);
        let _events = push_all(&outbox, std::iter::repeat_n(1, 1_000).chain([2]));
        let taken: Vec<_> =
            std::iter::from_fn(|| outbox.next()).map(|job| job.delivery.webhook.as_u128()).collect();
        assert_eq!(taken.iter().filter(|webhook| **webhook == 1).count(), AT_ONCE);
        assert!(taken.contains(&2));
        // One of each is done; only the first has more.
        outbox.done(Uuid::from_u128(1));
        outbox.done(Uuid::from_u128(2));
        assert_eq!(std::iter::from_fn(|| outbox.next()).count(), 1);
    }

    #[test]
    fn of_too_much_that_waits_the_oldest_gives_way() {
        let outbox = Outbox::new(2);
        let jobs: Vec<_> = (0..3).map(|_| job(1)).collect();
        let events: Vec<_> = jobs.iter().map(|job| Arc::clone(&job.delivery)).collect();
        let displaced: Vec<_> = jobs.into_iter().filter_map(|job| outbox.push(job)).collect();
        assert!(matches!(&displaced[..], [job] if Arc::ptr_eq(&job.delivery, &events[0])));
        assert_eq!(std::iter::from_fn(|| outbox.next()).count(), 2);
    }

    #[test]
    fn what_is_cleared_leaves_nothing_behind() {
        let outbox = Outbox::new(10_000);
        let _events = push_all(&outbox, 1..=3);
        let under_way = outbox.next().map(|job| job.delivery.webhook).into_iter().collect::<Vec<_>>();
        outbox.clear();
        assert!(outbox.next().is_none());
        outbox.done(under_way[0]);
        assert!(lock(&outbox.queues).by_webhook.is_empty());
    }

    #[test]
    fn everything_that_was_pushed_comes_out_once() {
        let outbox = Outbox::new(10_000);
        let _events = push_all(&outbox, (0..500).map(|number| number % 7));
        let mut left = 0;
        while let Some(job) = outbox.next() {
            left += 1;
            outbox.done(job.delivery.webhook);
        }
        assert_eq!(left, 500);
        assert!(lock(&outbox.queues).by_webhook.is_empty(), "finished attempts leave no entry");
    }
}
