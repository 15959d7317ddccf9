//! Work that waits, as it is kept: with names where the agenda has links.

use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::lock::lock;
use crate::model::email::Event;
use crate::state::tenant::Tenant;
use crate::state::tenants::Tenants;
use crate::state::work::{Departure, Work};

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct KeptWork {
    tenant: String,
    what: What,
}

#[derive(Debug, Deserialize, Serialize)]
enum What {
    Depart { email: Uuid },
    Note { email: Uuid, event: Event },
    WakeRun { run: Uuid, number: u64 },
    CheckDomain { domain: Uuid, number: u64 },
    SendBroadcast { broadcast: Uuid },
    GoOnWithBroadcast { broadcast: Uuid, contacts: Vec<Uuid> },
    MoveAutomations { email: Uuid, event: Event },
}

impl KeptWork {
    /// None for work that has lost its tenant or email, and for attempts to tell a webhook something: the event itself says when it is due.
    pub(super) fn of(work: &Work) -> Option<Self> {
        let (tenant, what) = match work {
            Work::Depart { tenant, email } => (tenant.upgrade(), What::Depart { email: email.upgrade()?.id }),
            Work::Note { tenant, email, event } => {
                (tenant.upgrade(), What::Note { email: email.upgrade()?.id, event: *event })
            }
            Work::TellWebhook { .. } => return None,
            Work::WakeRun { tenant, run, number } => {
                (tenant.upgrade(), What::WakeRun { run: *run, number: *number })
            }
            Work::MoveAutomations { tenant, email, event } => {
                (tenant.upgrade(), What::MoveAutomations { email: email.upgrade()?.id, event: *event })
            }
            Work::CheckDomain { tenant, domain, number } => {
                (tenant.upgrade(), What::CheckDomain { domain: *domain, number: *number })
            }
            Work::SendBroadcast { tenant, broadcast } => {
                (tenant.upgrade(), What::SendBroadcast { broadcast: *broadcast })
            }
            Work::GoOnWithBroadcast(departure) => (
                departure.tenant(),
                What::GoOnWithBroadcast {
                    broadcast: departure.broadcast(),
                    contacts: departure.contacts().to_vec(),
                },
            ),
        };
        Some(Self { tenant: tenant?.name.clone(), what })
    }

    /// None if its tenant or its email is there no more.
    pub(super) fn revive(self, tenants: &Tenants) -> Option<Work> {
        let owner = tenants.find(&self.tenant)?;
        let tenant = Arc::downgrade(&owner);
        Some(match self.what {
            What::Depart { email } => Work::Depart { tenant, email: email_of(&owner, email)? },
            What::Note { email, event } => Work::Note { tenant, email: email_of(&owner, email)?, event },
            What::MoveAutomations { email, event } => {
                Work::MoveAutomations { tenant, email: email_of(&owner, email)?, event }
            }
            What::WakeRun { run, number } => Work::WakeRun { tenant, run, number },
            What::CheckDomain { domain, number } => Work::CheckDomain { tenant, domain, number },
            What::SendBroadcast { broadcast } => Work::SendBroadcast { tenant, broadcast },
            What::GoOnWithBroadcast { broadcast, contacts } => {
                Work::GoOnWithBroadcast(Departure::new(&owner, broadcast, contacts))
            }
        })
    }
}

fn email_of(tenant: &Tenant, id: Uuid) -> Option<Weak<crate::model::email::Email>> {
    lock(&tenant.emails).get(id).map(Arc::downgrade)
}
