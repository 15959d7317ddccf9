//! Persisted jobs, which contain names instead of references.

use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::Event;
use idempost_reference_server::state::job::{BroadcastJob, ClaimStep, Job};
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::state::tenants::Tenants;

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredJob {
    tenant: String,
    what: StoredJobKind,
}

#[derive(Debug, Deserialize, Serialize)]
enum StoredJobKind {
    SendEmail { email: Uuid },
    RecordEvent { email: Uuid, event: Event },
    ResumeRun { run: Uuid, number: u64 },
    CheckDomain { domain: Uuid, number: u64 },
    AdvanceClaim { claim: Uuid, step: ClaimStep },
    DeleteThread { thread: Uuid },
    SendBroadcast { broadcast: Uuid },
    ContinueBroadcast { broadcast: Uuid, contacts: Vec<Uuid> },
    NotifyAutomations { email: Uuid, event: Event },
}

impl StoredJob {
    /// Converts a job. `None` for jobs whose tenant or email was evicted, for webhook deliveries (the event itself has its due time), for contact
    /// imports, whose files aren't persisted, and for mails reaching the maximum age, which may differ after a restart.
    pub(super) fn from_job(job: &Job) -> Option<Self> {
        let what = match job {
            Job::SendEmail { email, .. } => StoredJobKind::SendEmail { email: email.upgrade()?.id },
            Job::RecordEvent { email, event, .. } => {
                StoredJobKind::RecordEvent { email: email.upgrade()?.id, event: *event }
            }
            Job::RetryDelivery { .. } | Job::ContinueImport(_) | Job::DeleteExpired { .. } => return None,
            Job::ResumeRun { run, number, .. } => StoredJobKind::ResumeRun { run: *run, number: *number },
            Job::NotifyAutomations { email, event, .. } => {
                StoredJobKind::NotifyAutomations { email: email.upgrade()?.id, event: *event }
            }
            Job::CheckDomain { domain, number, .. } => {
                StoredJobKind::CheckDomain { domain: *domain, number: *number }
            }
            Job::AdvanceClaim { claim, step, .. } => {
                StoredJobKind::AdvanceClaim { claim: *claim, step: *step }
            }
            Job::DeleteThread { thread, .. } => StoredJobKind::DeleteThread { thread: *thread },
            Job::SendBroadcast { broadcast, .. } => StoredJobKind::SendBroadcast { broadcast: *broadcast },
            Job::ContinueBroadcast(job) => StoredJobKind::ContinueBroadcast {
                broadcast: job.broadcast(),
                contacts: job.contacts().to_vec(),
            },
        };
        Some(Self { tenant: job.tenant().upgrade()?.name.clone(), what })
    }

    /// Restores the job; `None` if its tenant or email no longer exists.
    pub(super) fn restore(self, tenants: &Tenants) -> Option<Job> {
        let owner = tenants.find(&self.tenant)?;
        let tenant = Arc::downgrade(&owner);
        Some(match self.what {
            StoredJobKind::SendEmail { email } => {
                Job::SendEmail { tenant, email: find_email(&owner, email)? }
            }
            StoredJobKind::RecordEvent { email, event } => {
                Job::RecordEvent { tenant, email: find_email(&owner, email)?, event }
            }
            StoredJobKind::NotifyAutomations { email, event } => {
                Job::NotifyAutomations { tenant, email: find_email(&owner, email)?, event }
            }
            StoredJobKind::ResumeRun { run, number } => Job::ResumeRun { tenant, run, number },
            StoredJobKind::CheckDomain { domain, number } => Job::CheckDomain { tenant, domain, number },
            StoredJobKind::AdvanceClaim { claim, step } => Job::AdvanceClaim { tenant, claim, step },
            StoredJobKind::DeleteThread { thread } => Job::DeleteThread { tenant, thread },
            StoredJobKind::SendBroadcast { broadcast } => Job::SendBroadcast { tenant, broadcast },
            StoredJobKind::ContinueBroadcast { broadcast, contacts } => {
                Job::ContinueBroadcast(BroadcastJob::new(&owner, broadcast, contacts))
            }
        })
    }
}

fn find_email(tenant: &Tenant, id: Uuid) -> Option<Weak<idempost_reference_server::model::email::Email>> {
    lock(&tenant.emails).get(id).map(Arc::downgrade)
}
