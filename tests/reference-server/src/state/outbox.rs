//! What is to be sent to webhooks next.
//!
//! Every webhook has a queue of its own and only so many attempts under way: one that never answers keeps no other waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use uuid::Uuid;

use crate::lock::lock;
use crate::model::webhook_delivery::WebhookDelivery;
use crate::state::tenant::Tenant;

/// How many attempts one webhook may have under way.
const AT_ONCE: usize = 8;
/// How many all of them may have.
const AT_ONCE_IN_ALL: usize = 64;

/// An attempt that is to be made.
pub(crate) struct PendingAttempt {
    pub(crate) tenant: Weak<Tenant>,
    pub(crate) delivery: Arc<WebhookDelivery>,
    /// It is one of the plan, not a replay.
    pub(crate) planned: bool,
}

/// The queues.
pub(crate) struct Outbox {
    /// How many attempts may wait for one webhook; the oldest give way.
    most: usize,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    by_webhook: HashMap<Uuid, Queue>,
    /// The webhooks for which something waits, the next one first.
    turns: VecDeque<Uuid>,
    running: usize,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<PendingAttempt>,
    running: usize,
}

impl Outbox {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), queues: Mutex::default() }
    }

    /// Adds an attempt. Returns the one that is dropped if the queue is full.
    pub(crate) fn push(&self, job: PendingAttempt) -> Option<PendingAttempt> {
        let mut queues = lock(&self.queues);
        let webhook = job.delivery.webhook;
        let queues = &mut *queues;
        let queue = queues.by_webhook.entry(webhook).or_default();
        queue.waiting.push_back(job);
        if queue.waiting.len() == 1 {
            queues.turns.push_back(webhook);
        }
        if queue.waiting.len() > self.most { queue.waiting.pop_front() } else { None }
    }

    /// The next attempt, if there is one that may be made now. Whoever takes it says when it is [`done`](Self::done).
    pub(crate) fn next(&self) -> Option<PendingAttempt> {
        let mut queues = lock(&self.queues);
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
            let job = queue.waiting.pop_front()?;
            queue.running += 1;
            let more = !queue.waiting.is_empty();
            if more {
                queues.turns.push_back(webhook);
            }
            queues.running += 1;
            return Some(job);
        }
        None
    }

    /// An attempt that was taken is over.
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

    /// Forgets what waits. What is under way ends by itself.
    pub(crate) fn clear(&self) {
        let mut queues = lock(&self.queues);
        queues.turns.clear();
        for queue in queues.by_webhook.values_mut() {
            queue.waiting.clear();
        }
        queues.by_webhook.retain(|_, queue| queue.running > 0);
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

    #[test]
    fn a_webhook_that_never_answers_keeps_no_other_waiting() {
        let outbox = Outbox::new(10_000);
        for _ in 0..1_000 {
            outbox.push(job(1));
        }
        outbox.push(job(2));
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
        let first = Arc::clone(&jobs[0].delivery);
        let displaced: Vec<_> = jobs.into_iter().filter_map(|job| outbox.push(job)).collect();
        assert!(matches!(&displaced[..], [job] if Arc::ptr_eq(&job.delivery, &first)));
        assert_eq!(std::iter::from_fn(|| outbox.next()).count(), 2);
    }

    #[test]
    fn what_is_cleared_leaves_nothing_behind() {
        let outbox = Outbox::new(10_000);
        for webhook in 1..=3 {
            outbox.push(job(webhook));
        }
        let under_way = outbox.next().map(|job| job.delivery.webhook).into_iter().collect::<Vec<_>>();
        outbox.clear();
        assert!(outbox.next().is_none());
        outbox.done(under_way[0]);
        assert!(lock(&outbox.queues).by_webhook.is_empty());
    }

    #[test]
    fn everything_that_was_pushed_comes_out_once() {
        let outbox = Outbox::new(10_000);
        for number in 0..500 {
            outbox.push(job(number % 7));
        }
        let mut left = 0;
        while let Some(job) = outbox.next() {
            left += 1;
            outbox.done(job.delivery.webhook);
        }
        assert_eq!(left, 500);
        assert!(lock(&outbox.queues).by_webhook.is_empty(), "nothing is kept of what is done");
    }
}
