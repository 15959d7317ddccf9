//! Persisted jobs, with names in place of references.

use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::lock::lock;
use crate::model::email::Event;
use crate::state::job::{BroadcastJob, Job};
use crate::state::tenant::Tenant;
use crate::state::tenants::Tenants;

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredJob {
    tenant: String,
    what: StoredJobKind,
}

#[derive(Debug, Deserialize, Serialize)]
enum StoredJobKind {
    Depart { email: Uuid },
    Note { email: Uuid, event: Event },
    ResumeRun { run: Uuid, number: u64 },
    CheckDomain { domain: Uuid, number: u64 },
    SendBroadcast { broadcast: Uuid },
    ContinueBroadcast { broadcast: Uuid, contacts: Vec<Uuid> },
    NotifyAutomations { email: Uuid, event: Event },
}

impl StoredJob {
    /// `None` for jobs whose tenant or email was evicted, and for webhook deliveries: the event itself has its due time.
    pub(super) fn of(work: &Job) -> Option<Self> {
        let (tenant, what) = match work {
            Job::Depart { tenant, email } => {
                (tenant.upgrade(), StoredJobKind::Depart { email: email.upgrade()?.id })
            }
            Job::Note { tenant, email, event } => {
                (tenant.upgrade(), StoredJobKind::Note { email: email.upgrade()?.id, event: *event })
            }
            Job::RetryDelivery { .. } => return None,
            Job::ResumeRun { tenant, run, number } => {
                (tenant.upgrade(), StoredJobKind::ResumeRun { run: *run, number: *number })
            }
            Job::NotifyAutomations { tenant, email, event } => (
                tenant.upgrade(),
                StoredJobKind::NotifyAutomations { email: email.upgrade()?.id, event: *event },
            ),
            Job::CheckDomain { tenant, domain, number } => {
                (tenant.upgrade(), StoredJobKind::CheckDomain { domain: *domain, number: *number })
            }
            Job::SendBroadcast { tenant, broadcast } => {
                (tenant.upgrade(), StoredJobKind::SendBroadcast { broadcast: *broadcast })
            }
            Job::ContinueBroadcast(departure) => (
                departure.tenant(),
                StoredJobKind::ContinueBroadcast {
                    broadcast: departure.broadcast(),
                    contacts: departure.contacts().to_vec(),
                },
            ),
        };
        Some(Self { tenant: tenant?.name.clone(), what })
    }

    /// `None` if the tenant or email no longer exists.
    pub(super) fn revive(self, tenants: &Tenants) -> Option<Job> {
        let owner = tenants.find(&self.tenant)?;
        let tenant = Arc::downgrade(&owner);
        Some(match self.what {
            StoredJobKind::Depart { email } => Job::Depart { tenant, email: email_of(&owner, email)? },
            StoredJobKind::Note { email, event } => {
                Job::Note { tenant, email: email_of(&owner, email)?, event }
            }
            StoredJobKind::NotifyAutomations { email, event } => {
                Job::NotifyAutomations { tenant, email: email_of(&owner, email)?, event }
            }
            StoredJobKind::ResumeRun { run, number } => Job::ResumeRun { tenant, run, number },
            StoredJobKind::CheckDomain { domain, number } => Job::CheckDomain { tenant, domain, number },
            StoredJobKind::SendBroadcast { broadcast } => Job::SendBroadcast { tenant, broadcast },
            StoredJobKind::ContinueBroadcast { broadcast, contacts } => {
                Job::ContinueBroadcast(BroadcastJob::new(&owner, broadcast, contacts))
            }
        })
    }
}

fn email_of(tenant: &Tenant, id: Uuid) -> Option<Weak<crate::model::email::Email>> {
    lock(&tenant.emails).get(id).map(Arc::downgrade)
}
