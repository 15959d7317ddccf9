//! Work on the agenda.

use std::sync::{Arc, Weak};

use jiff::Timestamp;
use uuid::Uuid;

use crate::model::email::personal::Common;
use crate::model::email::{Email, Event};
use crate::model::webhook_delivery::WebhookDelivery;
use crate::state::tenant::Tenant;

/// Work on the agenda.
pub(crate) enum Job {
    /// A scheduled email is due.
    Depart { tenant: Weak<Tenant>, email: Weak<Email> },
    /// Something happens to an email that has left.
    Note { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// The pause after a failed attempt to tell a webhook something is over.
    RetryDelivery { tenant: Weak<Tenant>, delivery: Weak<WebhookDelivery>, number: usize },
    /// A time that a run of an automation waited for has come.
    ResumeRun { tenant: Weak<Tenant>, run: Uuid, number: u64 },
    /// An event of an email triggers automations and resumes runs that wait for it.
    NotifyAutomations { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// The check of a domain's DNS records ends.
    CheckDomain { tenant: Weak<Tenant>, domain: Uuid, number: u64 },
    /// A scheduled broadcast is due.
    SendBroadcast { tenant: Weak<Tenant>, broadcast: Uuid },
    /// The next mails of a broadcast leave.
    ContinueBroadcast(BroadcastJob),
}

impl Job {
    /// Whether it still has anything to do at this time: emails are evicted, rescheduled and canceled, and runs end, while their jobs wait.
    pub(crate) fn is_needed(due: Timestamp, job: &Self) -> bool {
        match job {
            Self::Depart { email, .. } => {
                email.upgrade().is_some_and(|email| email.waits() && email.scheduled_at() == Some(due))
            }
            Self::Note { email, .. } | Self::NotifyAutomations { email, .. } => email.strong_count() > 0,
            Self::RetryDelivery { delivery, .. } => delivery.strong_count() > 0,
            Self::ResumeRun { tenant, run, .. } => {
                tenant.upgrade().and_then(|tenant| tenant.runs.get(*run)).is_some_and(|run| run.is_running())
            }
            Self::CheckDomain { tenant, .. } | Self::SendBroadcast { tenant, .. } => {
                tenant.strong_count() > 0
            }
            Self::ContinueBroadcast(_) => true,
        }
    }
}

/// A broadcast on its way out.
pub(crate) struct BroadcastJob {
    pub(crate) tenant: Weak<Tenant>,
    pub(crate) broadcast: Uuid,
    /// The contacts whose turn has not come. The last one, who has been there longest, is the next.
    pub(crate) contacts: Vec<Uuid>,
    /// How many of the step have left.
    pub(crate) left: usize,
    /// What its mails share, once the first has left.
    pub(crate) common: Option<Arc<Common>>,
}

impl BroadcastJob {
    pub(crate) fn new(tenant: &Arc<Tenant>, broadcast: Uuid, contacts: Vec<Uuid>) -> Self {
        Self { tenant: Arc::downgrade(tenant), broadcast, contacts, left: 0, common: None }
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
