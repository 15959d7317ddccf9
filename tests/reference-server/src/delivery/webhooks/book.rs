//! What is remembered of the events that webhooks were told, and of each attempt.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use jiff::Timestamp;
use uuid::Uuid;

use super::after;
use crate::keep::word::{Word, word};
use crate::lock::lock;
use crate::paging::{Page, Window};
use crate::problem::Problem;
use crate::store::budget::Budget;
use crate::store::size::{Size, heap_size, no_heap};
use crate::store::table::{self, Rows, Table};

/// One event for one webhook. What is sent never changes; how far it has come does.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Told {
    pub(crate) id: Uuid,
    pub(crate) webhook: Uuid,
    /// Its type, such as `email.sent`.
    #[serde(deserialize_with = "word")]
    pub(crate) kind: Word,
    pub(crate) created_at: Timestamp,
    /// The email that it speaks of.
    pub(crate) email: Option<Uuid>,
    /// The body of every attempt.
    pub(crate) payload: Bytes,
    progress: Mutex<Progress>,
}

/// A copy of its own, with the attempts so far. The payload is shared.
impl Clone for Told {
    fn clone(&self) -> Self {
        let Self { id, webhook, kind, created_at, email, ref payload, ref progress } = *self;
        let (payload, progress) = (payload.clone(), Mutex::new(lock(progress).clone()));
        Self { id, webhook, kind, created_at, email, payload, progress }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Progress {
    /// The state of the schedule; replays don't show in it until one succeeds.
    status: Status,
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

impl Told {
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
    pub(super) fn awaits(&self, failed: usize) -> bool {
        let progress = lock(&self.progress);
        progress.status == Status::Pending && progress.failed == failed
    }

    /// Starts an attempt. Returns false for a scheduled one that is no longer needed, since a replay succeeded while it waited for its turn.
    pub(super) fn begin(&self, planned: bool) -> bool {
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
    pub(super) fn finish(
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
    pub(super) fn give_up(&self) {
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

impl Size for Told {
    fn heap_size(&self) -> usize {
        let Self { id: _, webhook: _, kind: _, created_at: _, email: _, payload, progress } = self;
        payload.heap_size() + lock(progress).heap_size()
    }
}

impl table::Record for Told {
    const PLURAL: &'static str = "webhook events";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        std::iter::once(Group::Webhook(self.webhook)).chain(self.email.map(Group::Email)).collect()
    }
}

/// The events of one tenant's webhooks. When there are too many, the oldest are forgotten.
#[derive(Debug)]
pub(crate) struct Book {
    most: usize,
    events: Table<Told>,
}

impl Book {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), events: Table::new(most, &Arc::new(Budget::of(usize::MAX))) }
    }

    /// Adds an event; returns the IDs of those that are forgotten for it.
    pub(super) fn add(&self, told: Arc<Told>) -> Vec<Uuid> {
        let mut events = self.lock();
        events.insert(told.id, told);
        let excess = events.len().saturating_sub(self.most);
        (0..excess).filter_map(|_| events.remove_oldest()).map(|told| told.id).collect()
    }

    /// Forgets an event, for which no more attempts are made.
    pub(crate) fn remove(&self, id: Uuid) {
        if let Some(told) = self.lock().remove(id) {
            told.give_up();
        }
    }

    /// The events themselves, for whoever keeps them.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Rows<Told>> {
        self.events.lock()
    }

    /// Notes that an event has come further.
    pub(super) fn touch(&self, id: Uuid) {
        self.lock().touch(id);
    }

    pub(crate) fn get(&self, webhook: Uuid, id: Uuid) -> Option<Arc<Told>> {
        self.events.get(id).filter(|told| told.webhook == webhook)
    }

    /// The events of one webhook.
    pub(crate) fn page(&self, window: &Window, webhook: Uuid) -> Result<Page<Arc<Told>>, Problem> {
        self.events.page_of(window, [Group::Webhook(webhook)], |told| told.webhook == webhook)
    }

    /// The events that speak of an email, oldest first.
    pub(crate) fn of_email(&self, email: Uuid) -> Vec<Arc<Told>> {
        self.lock().members(&Group::Email(email)).cloned().collect()
    }

    /// Forgets the events of a webhook that is gone; returns their IDs.
    pub(crate) fn forget(&self, webhook: Uuid) -> Vec<Uuid> {
        let mut events = self.lock();
        let gone: Vec<_> = events.members(&Group::Webhook(webhook)).map(|told| told.id).collect();
        for id in &gone {
            if let Some(told) = events.remove(*id) {
                told.give_up();
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
