//! The scheduler's jobs.

use std::sync::{Arc, Weak};

use jiff::Timestamp;
use uuid::Uuid;

use crate::model::email::personalized::SharedContent;
use crate::model::email::{Email, Event};
use crate::model::webhook_delivery::WebhookDelivery;
use crate::state::tenant::Tenant;

/// A job of the scheduler.
pub(crate) enum Job {
    /// Sends a scheduled email.
    SendEmail { tenant: Weak<Tenant>, email: Weak<Email> },
    /// Records an event of a sent email.
    RecordEvent { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// Retries a webhook delivery.
    RetryDelivery { tenant: Weak<Tenant>, delivery: Weak<WebhookDelivery>, number: usize },
    /// Resumes an automation run whose delay has ended.
    ResumeRun { tenant: Weak<Tenant>, run: Uuid, number: u64 },
    /// Notifies automations of an email's event, which may trigger them or resume waiting runs.
    NotifyAutomations { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// Ends the check of a domain's DNS records.
    CheckDomain { tenant: Weak<Tenant>, domain: Uuid, number: u64 },
    /// Deletes a thread of an inbox that was in the trash for 30 days.
    DeleteThread { tenant: Weak<Tenant>, thread: Uuid },
    /// Sends a scheduled broadcast.
    SendBroadcast { tenant: Weak<Tenant>, broadcast: Uuid },
    /// Sends the next emails of a broadcast.
    ContinueBroadcast(BroadcastJob),
}

impl Job {
    /// Whether the job still has an effect: emails are evicted, rescheduled and canceled, and runs end, while their jobs wait.
    pub(crate) fn is_needed(due: Timestamp, job: &Self) -> bool {
        match job {
            Self::SendEmail { email, .. } => {
                email.upgrade().is_some_and(|email| email.waits() && email.scheduled_at() == Some(due))
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
            Self::CheckDomain { tenant, .. } | Self::SendBroadcast { tenant, .. } => {
                tenant.strong_count() > 0
            }
            Self::ContinueBroadcast(_) => true,
        }
    }
}

/// A broadcast that is being sent.
pub(crate) struct BroadcastJob {
    pub(crate) tenant: Weak<Tenant>,
    pub(crate) broadcast: Uuid,
    /// The remaining contacts. The last one, which was added first, is the next.
    pub(crate) contacts: Vec<Uuid>,
    /// The number of emails sent in the current step.
    pub(crate) sent: usize,
    /// The content that all its emails share, once the first was sent.
    pub(crate) shared: Option<Arc<SharedContent>>,
}

impl BroadcastJob {
    pub(crate) fn new(tenant: &Arc<Tenant>, broadcast: Uuid, contacts: Vec<Uuid>) -> Self {
        Self { tenant: Arc::downgrade(tenant), broadcast, contacts, sent: 0, shared: None }
    }

    pub(crate) fn tenant(&self) -> Option<Arc<Tenant>> {
        self.tenant.upgrade()
    }

    pub(crate) fn broadcast(&self) -> Uuid {
        self.broadcast
    }

    pub(crate) fn contacts(&self) -> &[Uuid] {
        &self.contacts
    }
}
