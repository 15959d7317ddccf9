//! Webhook events and their delivery attempts.

use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::lock::Locked;
use crate::store::budget::Budget;
use crate::store::interned::{Interned, deserialize_interned};
use crate::store::table::{self, Rows, Table};
use crate::wire::{IdForm, Page, Problem, Window, to_iso, view, words};

/// The delays of the retries, each counted from the previous failed attempt.
pub const RETRY_DELAYS: [SignedDuration; 7] = [
    SignedDuration::from_secs(5),
    SignedDuration::from_mins(5),
    SignedDuration::from_mins(30),
    SignedDuration::from_hours(2),
    SignedDuration::from_hours(5),
    SignedDuration::from_hours(10),
    SignedDuration::from_hours(10),
];

/// The time of the retry after this number of failed attempts. `None` after the last.
pub fn retry_at(failed: usize, now: Timestamp) -> Option<Timestamp> {
    Some(saturating_add(now, *RETRY_DELAYS.get(failed.checked_sub(1)?)?))
}

/// An event for one webhook. Its content never changes; its progress does. A clone shares the payload.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct WebhookDelivery {
    pub id: Uuid,
    pub webhook: Uuid,
    /// The event type, such as `email.sent`.
    #[serde(deserialize_with = "deserialize_interned")]
    pub kind: Interned,
    pub created_at: Timestamp,
    /// The email that it belongs to.
    pub email: Option<Uuid>,
    /// The body of every attempt.
    pub payload: Bytes,
    progress: Locked<Progress>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Progress {
    /// The state of the schedule; replays affect it only if they succeed.
    pub status: Status,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
    /// The number of failed scheduled attempts.
    failed: usize,
    /// The number of attempts in flight, including replays.
    running: usize,
    /// `None` while the scheduled attempt is in flight, and after the last one.
    pub next_attempt_at: Option<Timestamp>,
}

words! {
    /// The status of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    pub enum Status {
        /// It waits for its first or next attempt.
        Pending = "pending",
        /// An attempt is in flight.
        Attempting = "attempting",
        Success = "success",
        /// No further attempt will be made.
        Failed = "failed",
    }
}

/// A delivery attempt.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Attempt {
    pub id: Uuid,
    /// 0 if there was no response.
    pub http_status_code: u16,
    /// The beginning of the response's body, or the reason for having none.
    pub response: String,
    pub sent_at: Timestamp,
}

impl Progress {
    /// The status of the event: a success is final, and an attempt in flight is visible.
    pub fn status(&self) -> Status {
        match self.status {
            Status::Success => Status::Success,
            _ if self.running > 0 => Status::Attempting,
            status => status,
        }
    }

    /// Ends the schedule.
    fn finish(&mut self, status: Status) {
        self.status = status;
        self.next_attempt_at = None;
    }
}

impl Attempt {
    /// Any 2xx status counts.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.http_status_code)
    }
}

/// The maximum number of recorded attempts per event: all scheduled ones, and many replays.
const MAX_ATTEMPTS: usize = 100;

impl WebhookDelivery {
    pub fn new(
        id: Uuid,
        webhook: Uuid,
        kind: &'static str,
        created_at: Timestamp,
        email: Option<Uuid>,
        payload: Bytes,
    ) -> Self {
        let progress = Progress {
            status: Status::Pending,
            attempts: Vec::new(),
            failed: 0,
            running: 0,
            next_attempt_at: Some(created_at),
        };
        Self { id, webhook, kind, created_at, email, payload, progress: Locked::new(progress) }
    }

    /// The ID that the receiver sees, the same in every attempt.
    pub fn message_id(&self) -> String {
        MESSAGE_ID.format(self.id)
    }

    pub fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// Resumes after a restart: repeats an attempt in flight, whose outcome is unknown. Returns when the next attempt is due.
    pub fn recover(&self, now: Timestamp) -> Option<Timestamp> {
        let mut progress = self.progress.lock();
        progress.running = 0;
        if progress.status == Status::Attempting {
            progress.status = Status::Pending;
        }
        let due = progress.next_attempt_at.unwrap_or(now);
        (progress.status == Status::Pending).then_some(due)
    }

    /// Whether it waits for its first or next attempt.
    pub fn is_pending(&self) -> bool {
        self.progress.lock().status == Status::Pending
    }

    /// Starts an attempt. Returns false for a scheduled one that is no longer needed, since a replay succeeded while it was queued.
    pub fn begin(&self, planned: bool) -> bool {
        let mut progress = self.progress.lock();
        if planned {
            if progress.status != Status::Pending {
                return false;
            }
            progress.finish(Status::Attempting);
        }
        progress.running += 1;
        true
    }

    /// Records the outcome of an attempt: any success ends the schedule; a failed replay doesn't change it. Returns when the next scheduled
    /// attempt is due.
    pub fn finish(&self, attempt: Attempt, planned: bool, now: Timestamp) -> Option<Timestamp> {
        let mut progress = self.progress.lock();
        progress.running -= 1;
        let succeeded = attempt.is_success();
        if progress.attempts.len() < MAX_ATTEMPTS {
            progress.attempts.push(attempt);
        }
        if succeeded {
            progress.finish(Status::Success);
            return None;
        }
        if !planned || progress.status != Status::Attempting {
            return None;
        }
        progress.failed += 1;
        progress.next_attempt_at = retry_at(progress.failed, now);
        progress.status = if progress.next_attempt_at.is_some() { Status::Pending } else { Status::Failed };
        progress.next_attempt_at
    }

    /// Ends the schedule as failed.
    pub fn give_up(&self) {
        let mut progress = self.progress.lock();
        if progress.status != Status::Success {
            progress.finish(Status::Failed);
        }
    }
}

/// The groups of webhook events.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Group {
    /// The events of a webhook.
    Webhook(Uuid),
    /// The events of an email.
    Email(Uuid),
}

impl table::Record for WebhookDelivery {
    const NOUN: &'static str = "a webhook event";
    const PLURAL: &'static str = "webhook events";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        std::iter::once(Group::Webhook(self.webhook)).chain(self.email.map(Group::Email)).collect()
    }
}

/// The events of one tenant's webhooks. Beyond the limit, the oldest are evicted.
#[derive(Debug)]
pub struct Deliveries {
    max: usize,
    events: Table<WebhookDelivery>,
}

impl Deliveries {
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), events: Table::new(max, &Arc::new(Budget::new(usize::MAX))) }
    }

    /// Adds an event; returns the IDs of those that were evicted.
    pub fn add(&self, delivery: Arc<WebhookDelivery>) -> Vec<Uuid> {
        let mut events = self.lock();
        events.insert(delivery.id, delivery);
        let excess = events.len().saturating_sub(self.max);
        (0..excess).filter_map(|_| events.remove_oldest()).map(|delivery| delivery.id).collect()
    }

    /// Removes an event, which gets no further attempts.
    pub fn remove(&self, id: Uuid) {
        if let Some(delivery) = self.lock().remove(id) {
            delivery.give_up();
        }
    }

    /// Locks the events themselves, for persistence.
    pub fn lock(&self) -> MutexGuard<'_, Rows<WebhookDelivery>> {
        self.events.lock()
    }

    /// Marks an event as changed.
    pub fn mark_changed(&self, id: Uuid) {
        self.lock().mark_changed(id);
    }

    pub fn get(&self, webhook: Uuid, id: Uuid) -> Option<Arc<WebhookDelivery>> {
        self.events.get(id).filter(|delivery| delivery.webhook == webhook)
    }

    /// The events of one webhook.
    pub fn page(&self, window: &Window, webhook: Uuid) -> Result<Page<Arc<WebhookDelivery>>, Problem> {
        self.events.page_of(window, [Group::Webhook(webhook)], |delivery| delivery.webhook == webhook)
    }

    /// The events of an email, oldest first.
    pub fn for_email(&self, email: Uuid) -> Vec<Arc<WebhookDelivery>> {
        self.lock().members(&Group::Email(email)).cloned().collect()
    }

    /// Removes the events of a deleted webhook; returns their IDs.
    pub fn remove_webhook(&self, webhook: Uuid) -> Vec<Uuid> {
        let mut events = self.lock();
        let gone: Vec<_> = events.members(&Group::Webhook(webhook)).map(|delivery| delivery.id).collect();
        for id in &gone {
            if let Some(delivery) = events.remove(*id) {
                delivery.give_up();
            }
        }
        gone
    }
}

/// The IDs of events.
pub const MESSAGE_ID: IdForm = IdForm::Prefixed("msg_");
/// The IDs of attempts.
pub const ATTEMPT_ID: IdForm = IdForm::Prefixed("atmpt_");

view! {
    pub Item of delivery: WebhookDelivery {
        id: MESSAGE_ID.format(delivery.id),
        type: delivery.kind,
        created_at: to_iso(delivery.created_at),
        status: delivery.progress().status().as_str(),
    }
}

view! {
    pub AttemptItem of attempt: Attempt {
        id: ATTEMPT_ID.format(attempt.id),
        http_status_code: attempt.http_status_code,
        response: attempt.response,
        sent_at: to_iso(attempt.sent_at),
    }
}
