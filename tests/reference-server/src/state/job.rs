//! The scheduler's jobs.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::lock::lock;
use crate::model::broadcast::Status;
use crate::model::contact::Subscription;
use crate::model::contact_import::rows::{Columns, Rows};
use crate::model::email::Event;
use crate::model::email::personalized::SharedContent;
use crate::model::webhook_delivery::WebhookDelivery;
use crate::state::tenant::Tenant;
use crate::store::budget::Reservation;

/// A job of an account.
pub struct Job {
    pub tenant: Weak<Tenant>,
    pub work: Work,
}

/// What a job does.
pub enum Work {
    /// A task that survives a restart.
    Task(Task),
    /// Retries a webhook delivery, whose event itself has its due time.
    RetryDelivery(Weak<WebhookDelivery>),
    /// Deletes the mails that have reached the maximum age, which may differ after a restart.
    DeleteExpired,
    /// Applies the next rows of a contact import, whose file isn't persisted.
    ContinueImport(Box<ImportTask>),
}

/// A task that survives a restart. What it concerns may be deleted in the meantime.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Task {
    /// Sends a scheduled email.
    SendEmail { email: Uuid },
    /// Records an event of a sent email.
    RecordEvent { email: Uuid, event: Event },
    /// Resumes an automation run whose delay has ended.
    ResumeRun { run: Uuid, number: u64 },
    /// Notifies automations of an email's event, which may trigger them or resume waiting runs.
    NotifyAutomations {
        email: Uuid,
        event: Event,
        /// The content of the event type's own field.
        #[serde(default)]
        detail: Option<Value>,
    },
    /// Ends the check of a domain's DNS records.
    CheckDomain { domain: Uuid, number: u64 },
    /// Runs the next step of a domain claim.
    AdvanceClaim { claim: Uuid, step: ClaimStep },
    /// Deletes a thread of an inbox that was in the trash for 30 days.
    DeleteThread { thread: Uuid },
    /// Sends a scheduled broadcast.
    SendBroadcast { broadcast: Uuid },
    /// Sends the next emails of a broadcast.
    ContinueBroadcast(BroadcastTask),
}

impl From<Task> for Work {
    fn from(task: Task) -> Self {
        Self::Task(task)
    }
}

impl Job {
    pub fn new(tenant: &Arc<Tenant>, work: impl Into<Work>) -> Self {
        Self { tenant: Arc::downgrade(tenant), work: work.into() }
    }

    /// The system's time at which the job is due, if its account doesn't follow the service's clock.
    pub fn due_on_own_clock(due: Timestamp, job: &Self) -> Option<Timestamp> {
        job.tenant.upgrade()?.clock.to_system_time(due)
    }

    /// A number unique to the jobs of one account: an account keeps its address as long as a job refers to it.
    pub fn account(job: &Self) -> usize {
        job.tenant.as_ptr().addr()
    }

    /// Whether the job still has an effect: emails are evicted, rescheduled and canceled, broadcasts are canceled, and runs end, while their jobs
    /// wait. The scheduler asks while it is locked, so no job is scheduled under the lock of an account's records.
    pub fn is_needed(due: Timestamp, job: &Self) -> bool {
        let Some(tenant) = job.tenant.upgrade() else { return false };
        match &job.work {
            Work::Task(task) => task.is_needed(&tenant, due),
            Work::RetryDelivery(delivery) => delivery.strong_count() > 0,
            Work::DeleteExpired => *lock(&tenant.expiry) == Some(due),
            Work::ContinueImport(_) => true,
        }
    }
}

impl Task {
    fn is_needed(&self, tenant: &Tenant, due: Timestamp) -> bool {
        match self {
            Self::SendEmail { email } => lock(&tenant.emails)
                .get(*email)
                .is_some_and(|email| email.is_waiting() && email.scheduled_at() == Some(due)),
            Self::RecordEvent { email, .. } | Self::NotifyAutomations { email, .. } => {
                lock(&tenant.emails).contains(*email)
            }
            Self::ResumeRun { run, .. } => tenant.runs.get(*run).is_some_and(|run| run.is_running()),
            Self::DeleteThread { thread } => {
                let thread = tenant.inboxes.threads.get(*thread);
                thread.is_some_and(|thread| thread.expires_at() == Some(due))
            }
            Self::AdvanceClaim { claim, .. } => {
                tenant.domain_claims.get(*claim).is_some_and(|claim| !claim.has_ended())
            }
            Self::CheckDomain { domain, number } => {
                tenant.domains.get(*domain).is_some_and(|domain| domain.check == *number)
            }
            Self::SendBroadcast { broadcast } => {
                tenant.broadcasts.get(*broadcast).is_some_and(|broadcast| broadcast.is_scheduled_for(due))
            }
            Self::ContinueBroadcast(rest) => {
                let broadcast = tenant.broadcasts.get(rest.broadcast);
                broadcast.is_some_and(|broadcast| broadcast.status == Status::Queued)
            }
        }
    }
}

/// A step of a domain claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClaimStep {
    /// Ends the check of its DNS record.
    Check,
    /// Ends the transfer of the domain.
    Transfer,
    Expire,
}

/// A broadcast that is being sent.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct BroadcastTask {
    pub broadcast: Uuid,
    /// The remaining contacts. The last one, which was added first, is the next.
    pub contacts: Vec<Uuid>,
    /// The number of emails sent in the current step.
    #[serde(skip)]
    pub sent: usize,
    /// The content that all its emails share, once the first was sent.
    #[serde(skip)]
    pub shared: Option<Arc<SharedContent>>,
}

/// A contact import that isn't complete.
pub struct ImportTask {
    pub import: Uuid,
    /// The remaining rows.
    pub rows: Rows,
    pub columns: Columns,
    /// Whether rows update contacts that exist; otherwise they are skipped.
    pub overwrites: bool,
    /// The segments that every contact joins.
    pub segments: Vec<Uuid>,
    /// The subscriptions of every contact.
    pub topics: BTreeMap<Uuid, Subscription>,
    /// The number of rows in the current step.
    pub step: u64,
    /// The memory of the file.
    pub(crate) _held: Reservation,
}
