//! What is remembered of the events that webhooks were told, and of each attempt.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::plus;
use crate::lock::lock;
use crate::store::budget::Budget;
use crate::store::interned::{Interned, word};
use crate::store::size::{Size, heap_size, no_heap};
use crate::store::table::{self, Rows, Table};
use crate::wire::paging::{Page, Window};
use crate::wire::problem::Problem;
use crate::wire::timestamp::iso;
use crate::wire::view::view;

/// How long after a failed attempt the next one is made; after the last of them none is.
pub(crate) const PAUSES: [SignedDuration; 7] = [
    SignedDuration::from_secs(5),
    SignedDuration::from_mins(5),
    SignedDuration::from_mins(30),
    SignedDuration::from_hours(2),
    SignedDuration::from_hours(5),
    SignedDuration::from_hours(10),
    SignedDuration::from_hours(10),
];

/// When the attempt after this many failed ones is made, counted from now. None after the last.
pub(crate) fn after(failed: usize, now: Timestamp) -> Option<Timestamp> {
    Some(plus(now, *PAUSES.get(failed.checked_sub(1)?)?))
}

/// One event for one webhook. What is sent never changes; how far it has come does.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct WebhookDelivery {
    pub(crate) id: Uuid,
    pub(crate) webhook: Uuid,
    /// Its type, such as `email.sent`.
    #[serde(deserialize_with = "word")]
    pub(crate) kind: Interned,
    pub(crate) created_at: Timestamp,
    /// The email that it speaks of.
    pub(crate) email: Option<Uuid>,
    /// The body of every attempt.
    pub(crate) payload: Bytes,
    progress: Mutex<Progress>,
}

/// A copy of its own, with the attempts so far. The payload is shared.
impl Clone for WebhookDelivery {
    fn clone(&self) -> Self {
        let Self { id, webhook, kind, created_at, email, ref payload, ref progress } = *self;
        let (payload, progress) = (payload.clone(), Mutex::new(lock(progress).clone()));
        Self { id, webhook, kind, created_at, email, payload, progress }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Progress {
    /// The state of the schedule; replays don't show in it until one succeeds.
    pub(crate) status: Status,
    /// Oldest first.
    pub(crate) attempts: Vec<Attempt>,
    /// How many scheduled attempts have failed.
    failed: usize,
    /// How many attempts are in flight, replays among them.
    running: usize,
    /// None while the scheduled attempt is in flight, and once there will be no other.
    pub(crate) next_attempt_at: Option<Timestamp>,
}

/// How an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Status {
    /// It waits for its first or its next attempt.
    Pending,
    /// An attempt is under way.
    Attempting,
    Success,
    /// No further attempt will be made.
    Failed,
}

/// One attempt.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Attempt {
    pub(crate) id: Uuid,
    /// 0 if there was no answer.
    pub(crate) http_status_code: u16,
    /// The beginning of the answer's body, or why there was none.
    pub(crate) response: String,
    pub(crate) sent_at: Timestamp,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Attempting => "attempting",
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }
}

impl Progress {
    /// The status of the event: any success is final, and any attempt in flight shows.
    pub(crate) fn status(&self) -> Status {
        match self.status {
            Status::Success => Status::Success,
            _ if self.running > 0 => Status::Attempting,
            status => status,
        }
    }

    /// Ends the schedule.
    fn end(&mut self, status: Status) {
        self.status = status;
        self.next_attempt_at = None;
    }
}

impl Attempt {
    /// Any answer of the 2xx counts.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.http_status_code)
    }
}

/// How many attempts of one event are remembered: those of the plan, and many replays.
const MOST_ATTEMPTS: usize = 100;

impl WebhookDelivery {
    pub(crate) fn new(
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
        Self { id, webhook, kind, created_at, email, payload, progress: Mutex::new(progress) }
    }

    /// The id that the receiver sees; it is the same in every attempt.
    pub(crate) fn message_id(&self) -> String {
        message_id(self.id)
    }

    pub(crate) fn progress(&self) -> Progress {
        lock(&self.progress).clone()
    }

    /// Takes it up after a new start: an attempt that was under way then has no outcome and is made again. Answers when the next attempt is due, and
    /// after how many that failed.
    pub(crate) fn take_up(&self, now: Timestamp) -> Option<(usize, Timestamp)> {
        let mut progress = lock(&self.progress);
        progress.running = 0;
        if progress.status == Status::Attempting {
            progress.status = Status::Pending;
        }
        let due = progress.next_attempt_at.unwrap_or(now);
        (progress.status == Status::Pending).then_some((progress.failed, due))
    }

    /// Whether it waits for the attempt after this many failed ones.
    pub(crate) fn awaits(&self, failed: usize) -> bool {
        let progress = lock(&self.progress);
        progress.status == Status::Pending && progress.failed == failed
    }

    /// Starts an attempt. Returns false for a scheduled one that is no longer needed, since a replay succeeded while it waited for its turn.
    pub(crate) fn begin(&self, planned: bool) -> bool {
        let mut progress = lock(&self.progress);
        if planned {
            if progress.status != Status::Pending {
                return false;
            }
            progress.end(Status::Attempting);
        }
        progress.running += 1;
        true
    }

    /// Takes the result of an attempt: any success ends the schedule, a failed replay leaves it as it is. Returns when the next scheduled attempt is
    /// due, and after how many that failed.
    pub(crate) fn finish(
        &self,
        attempt: Attempt,
        planned: bool,
        now: Timestamp,
    ) -> Option<(usize, Timestamp)> {
        let mut progress = lock(&self.progress);
        progress.running -= 1;
        let succeeded = attempt.succeeded();
        if progress.attempts.len() < MOST_ATTEMPTS {
            progress.attempts.push(attempt);
        }
        if succeeded {
            progress.end(Status::Success);
            return None;
        }
        if !planned || progress.status != Status::Attempting {
            return None;
        }
        progress.failed += 1;
        progress.next_attempt_at = after(progress.failed, now);
        progress.status = if progress.next_attempt_at.is_some() { Status::Pending } else { Status::Failed };
        Some((progress.failed, progress.next_attempt_at?))
    }

    /// Ends the schedule without a success.
    pub(crate) fn give_up(&self) {
        let mut progress = lock(&self.progress);
        if progress.status != Status::Success {
            progress.end(Status::Failed);
        }
    }
}

/// The groups of events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// The events of a webhook.
    Webhook(Uuid),
    /// The events that speak of an email.
    Email(Uuid),
}

no_heap!(Group, Status);
heap_size!(Attempt { id, http_status_code, response, sent_at });
heap_size!(Progress { status, attempts, failed, running, next_attempt_at });

impl Size for WebhookDelivery {
    fn heap_size(&self) -> usize {
        let Self { id: _, webhook: _, kind: _, created_at: _, email: _, payload, progress } = self;
        payload.heap_size() + lock(progress).heap_size()
    }
}

impl table::Record for WebhookDelivery {
    const PLURAL: &'static str = "webhook events";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        std::iter::once(Group::Webhook(self.webhook)).chain(self.email.map(Group::Email)).collect()
    }
}

/// The events of one tenant's webhooks. When there are too many, the oldest are forgotten.
#[derive(Debug)]
pub(crate) struct Deliveries {
    most: usize,
    events: Table<WebhookDelivery>,
}

impl Deliveries {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), events: Table::new(most, &Arc::new(Budget::of(usize::MAX))) }
    }

    /// Adds an event; returns the IDs of those that are forgotten for it.
    pub(crate) fn add(&self, delivery: Arc<WebhookDelivery>) -> Vec<Uuid> {
        let mut events = self.lock();
        events.insert(delivery.id, delivery);
        let excess = events.len().saturating_sub(self.most);
        (0..excess).filter_map(|_| events.remove_oldest()).map(|delivery| delivery.id).collect()
    }

    /// Forgets an event, for which no more attempts are made.
    pub(crate) fn remove(&self, id: Uuid) {
        if let Some(delivery) = self.lock().remove(id) {
            delivery.give_up();
        }
    }

    /// The events themselves, for whoever keeps them.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Rows<WebhookDelivery>> {
        self.events.lock()
    }

    /// Notes that an event has come further.
    pub(crate) fn touch(&self, id: Uuid) {
        self.lock().touch(id);
    }

    pub(crate) fn get(&self, webhook: Uuid, id: Uuid) -> Option<Arc<WebhookDelivery>> {
        self.events.get(id).filter(|delivery| delivery.webhook == webhook)
    }

    /// The events of one webhook.
    pub(crate) fn page(&self, window: &Window, webhook: Uuid) -> Result<Page<Arc<WebhookDelivery>>, Problem> {
        self.events.page_of(window, [Group::Webhook(webhook)], |delivery| delivery.webhook == webhook)
    }

    /// The events that speak of an email, oldest first.
    pub(crate) fn of_email(&self, email: Uuid) -> Vec<Arc<WebhookDelivery>> {
        self.lock().members(&Group::Email(email)).cloned().collect()
    }

    /// Forgets the events of a webhook that is gone; returns their IDs.
    pub(crate) fn forget(&self, webhook: Uuid) -> Vec<Uuid> {
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

/// How an event's id is written.
pub(crate) fn message_id(id: Uuid) -> String {
    format!("msg_{}", id.simple())
}

/// How an attempt's id is written.
pub(crate) fn attempt_id(id: Uuid) -> String {
    format!("atmpt_{}", id.simple())
}

view! {
    pub(crate) Item of delivery: WebhookDelivery {
        id: message_id(delivery.id),
        type: delivery.kind,
        created_at: iso(delivery.created_at),
        status: delivery.progress().status().as_str(),
    }
}

view! {
    pub(crate) AttemptItem of attempt: Attempt {
        id: attempt_id(attempt.id),
        http_status_code: attempt.http_status_code,
        response: attempt.response,
        sent_at: iso(attempt.sent_at),
    }
}
