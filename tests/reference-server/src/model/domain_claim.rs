//! Claims of domains that another tenant has verified.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::model::domain::Setup;
use crate::store::table;
use crate::wire::{to_database_format, view, words};

/// The time limit for a claim's DNS record.
const LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// A claim. Each tenant has at most one per name: the latest.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DomainClaim {
    pub id: Uuid,
    /// The new domain: a placeholder until the claim is completed.
    pub domain: Uuid,
    pub setup: Setup,
    pub status: Status,
    /// Whether its DNS record is being checked.
    pub checking: bool,
    /// The name of the tenant that owns the domain.
    pub owner: String,
    /// The content of the DNS record.
    pub proof: String,
    pub created_at: Timestamp,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    pub enum Status {
        /// It waits for its DNS record.
        Pending = "pending",
        /// The record was found; the domain is being transferred.
        Verified = "verified",
        /// The domain belongs to the tenant.
        Completed = "completed",
        Blocked = "blocked",
        Expired = "expired",
        /// A newer claim of the domain exists.
        Superseded = "superseded",
        /// The placeholder was deleted.
        Canceled = "canceled",
        Failed = "failed",
    }
}

impl table::Record for DomainClaim {
    const NOUN: &'static str = "a domain claim";
    const PLURAL: &'static str = "domain claims";
    const IGNORES_CASE: bool = true;

    /// Its domain.
    type Group = Uuid;

    fn key(&self) -> Option<&str> {
        Some(&self.setup.name)
    }

    fn groups(&self) -> Vec<Uuid> {
        vec![self.domain]
    }
}

impl DomainClaim {
    pub fn expires_at(&self) -> Timestamp {
        saturating_add(self.created_at, LIFETIME)
    }

    /// Whether it may still be completed without another request.
    pub fn is_open(&self) -> bool {
        matches!(self.status, Status::Pending | Status::Verified)
    }

    /// Whether it no longer changes.
    pub fn has_ended(&self) -> bool {
        !self.is_open() && self.status != Status::Blocked
    }

    fn blocked_reason(&self) -> Option<&'static str> {
        (self.status == Status::Blocked).then_some("recent_owner_activity")
    }

    fn failure_reason(&self) -> Option<String> {
        let name = &self.setup.name;
        (self.status == Status::Failed).then(|| format!("The TXT record of {name} has another value."))
    }
}

view! {
    pub Detail of claim: DomainClaim {
        object: "domain_claim",
        id: claim.id,
        name: claim.setup.name,
        status: claim.status.as_str(),
        domain_id: claim.domain,
        region: claim.setup.region.as_str(),
        record: Proof(claim),
        blocked_reason: claim.blocked_reason(),
        failure_reason: claim.failure_reason(),
        created_at: to_database_format(claim.created_at),
        expires_at: to_database_format(claim.expires_at()),
    }
}

view! {
    /// The DNS record to publish.
    Proof of claim: DomainClaim {
        type: "TXT",
        name: claim.setup.name,
        value: claim.proof,
        ttl: "Auto",
    }
}
