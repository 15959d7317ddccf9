//! The scheduler's jobs.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::lock::lock;
use crate::model::contact::Subscription;
use crate::model::contact_import::rows::{Columns, Rows};
use crate::model::email::personalized::SharedContent;
use crate::model::email::{Email, Event};
use crate::model::webhook_delivery::WebhookDelivery;
use crate::state::tenant::Tenant;
use crate::store::budget::Reservation;

/// A job of the scheduler.
pub enum Job {
    /// Sends a scheduled email.
    SendEmail { tenant: Weak<Tenant>, email: Weak<Email> },
    /// Records an event of a sent email.
    RecordEvent { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// Retries a webhook delivery.
    RetryDelivery { tenant: Weak<Tenant>, delivery: Weak<WebhookDelivery> },
    /// Resumes an automation run whose delay has ended.
    ResumeRun { tenant: Weak<Tenant>, run: Uuid, number: u64 },
    /// Notifies automations of an email's event, which may trigger them or resume waiting runs.
    NotifyAutomations { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// Ends the check of a domain's DNS records.
    CheckDomain { tenant: Weak<Tenant>, domain: Uuid, number: u64 },
    /// Runs the next step of a domain claim.
    AdvanceClaim { tenant: Weak<Tenant>, claim: Uuid, step: ClaimStep },
    /// Deletes a thread of an inbox that was in the trash for 30 days.
    DeleteThread { tenant: Weak<Tenant>, thread: Uuid },
    /// Deletes the mails that have reached the maximum age.
    DeleteExpired { tenant: Weak<Tenant> },
    /// Sends a scheduled broadcast.
    SendBroadcast { tenant: Weak<Tenant>, broadcast: Uuid },
    /// Sends the next emails of a broadcast.
    ContinueBroadcast(BroadcastJob),
    /// Applies the next rows of a contact import.
    ContinueImport(Box<ImportJob>),
}

impl Job {
    /// The system's time at which the job is due, if its account doesn't follow the service's clock.
    pub fn due_on_own_clock(due: Timestamp, job: &Self) -> Option<Timestamp> {
        job.tenant().upgrade()?.clock.to_system_time(due)
    }

    /// A number unique to the jobs of one account: an account keeps its address as long as a job refers to it.
    pub fn account(job: &Self) -> usize {
        job.tenant().as_ptr().addr()
    }

    /// The job's account.
    pub fn tenant(&self) -> &Weak<Tenant> {
        match self {
            Self::SendEmail { tenant, .. }
            | Self::RecordEvent { tenant, .. }
            | Self::RetryDelivery { tenant, .. }
            | Self::ResumeRun { tenant, .. }
            | Self::NotifyAutomations { tenant, .. }
            | Self::CheckDomain { tenant, .. }
            | Self::AdvanceClaim { tenant, .. }
            | Self::DeleteThread { tenant, .. }
            | Self::DeleteExpired { tenant }
            | Self::SendBroadcast { tenant, .. }
            | Self::ContinueBroadcast(BroadcastJob { tenant, .. }) => tenant,
            Self::ContinueImport(job) => &job.tenant,
        }
    }

    /// Whether the job still has an effect: emails are evicted, rescheduled and canceled, and runs end, while their jobs wait.
    pub fn is_needed(due: Timestamp, job: &Self) -> bool {
        match job {
            Self::SendEmail { email, .. } => {
                email.upgrade().is_some_and(|email| email.is_waiting() && email.scheduled_at() == Some(due))
            }
            Self::RecordEvent { email, .. } | Self::NotifyAutomations { email, .. } => {
                email.strong_count() > 0
            }
            Self::RetryDelivery { delivery, .. } => delivery.strong_count() > 0,
            Self::ResumeRun { tenant, run, .. } => {
                tenant.upgrade().and_then(|tenant| tenant.runs.get(*run)).is_some_and(|run| run.is_running())
            }
            Self::DeleteThread { tenant, thread } => {
                let thread = tenant.upgrade().and_then(|tenant| tenant.inboxes.threads.get(*thread));
                thread.is_some_and(|thread| thread.expires_at() == Some(due))
            }
            Self::DeleteExpired { tenant } => {
                tenant.upgrade().is_some_and(|tenant| *lock(&tenant.expiry) == Some(due))
            }
            Self::CheckDomain { tenant, .. } | Self::SendBroadcast { tenant, .. } => {
                tenant.strong_count() > 0
            }
            Self::AdvanceClaim { tenant, claim, .. } => tenant
                .upgrade()
                .and_then(|tenant| tenant.domain_claims.get(*claim))
                .is_some_and(|claim| !claim.has_ended()),
            Self::ContinueBroadcast(_) => true,
            Self::ContinueImport(job) => job.tenant.strong_count() > 0,
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
pub struct BroadcastJob {
    pub tenant: Weak<Tenant>,
    pub broadcast: Uuid,
    /// The remaining contacts. The last one, which was added first, is the next.
    pub contacts: Vec<Uuid>,
    /// The number of emails sent in the current step.
    pub sent: usize,
    /// The content that all its emails share, once the first was sent.
    pub shared: Option<Arc<SharedContent>>,
}

impl BroadcastJob {
    pub fn new(tenant: &Arc<Tenant>, broadcast: Uuid, contacts: Vec<Uuid>) -> Self {
        Self { tenant: Arc::downgrade(tenant), broadcast, contacts, sent: 0, shared: None }
    }

    pub fn broadcast(&self) -> Uuid {
        self.broadcast
    }

    pub fn contacts(&self) -> &[Uuid] {
        &self.contacts
    }
}

/// A contact import that isn't complete.
pub struct ImportJob {
    pub tenant: Weak<Tenant>,
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
