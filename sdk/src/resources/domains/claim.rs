//! Claims of domains that another account has verified. (The specification mentions them without details; the format is Resend's.)

use super::new::check_setup;
use crate::{
    problem::Validator,
    resources::shared::{RecordType, Region},
    types::{DomainClaimId, DomainId, Timestamp},
};

input! {
    /// A domain to claim with [`Domains::claim`](super::Domains::claim).
    ///
    /// ```
    /// use idempost::domains::NewDomainClaim;
    ///
    /// assert!(NewDomainClaim::new("acme.test").tracking_subdomain("links").check().is_ok());
    /// assert!(NewDomainClaim::new("https://acme.test/").check().is_err());
    /// ```
    pub struct NewDomainClaim {
        /// Claims the domain with this name, in the region `us-east-1`.
        new(name: String);
        optional {
            /// Sets the region in which the service will handle the domain's mail; [`Region::UsEast1`] by default.
            region: Region,
            /// Sets the label of the return path; `send` by default.
            custom_return_path: String,
            /// Sets whether opens are tracked. This requires a verified [`tracking_subdomain`](Self::tracking_subdomain).
            open_tracking: bool,
            /// Sets whether clicks are tracked. This requires a verified [`tracking_subdomain`](Self::tracking_subdomain).
            click_tracking: bool,
            /// Sets the label of the subdomain for tracked links.
            tracking_subdomain: String,
        }
    }
}

impl NewDomainClaim {
    fn validate(&self, v: &mut Validator) {
        let (return_path, tracking) =
            (self.custom_return_path.as_deref(), self.tracking_subdomain.as_deref());
        check_setup(v, &self.name, self.region.as_ref(), return_path, tracking);
    }
}

validate!(NewDomainClaim);

open_enum! {
    /// The status of a domain claim.
    DomainClaimStatus {
        /// The DNS record is missing or being checked.
        Pending = "pending",
        /// The record was found; the domain is being transferred.
        Verified = "verified",
        /// The domain belongs to this account. It has new DKIM records to publish and verify.
        Completed = "completed",
        /// The other account keeps the domain for now; see [`DomainClaim::blocked_reason`].
        Blocked = "blocked",
        /// The record wasn't found within 7 days.
        Expired = "expired",
        /// A newer claim of the domain exists.
        Superseded = "superseded",
        /// The claimed domain was deleted.
        Canceled = "canceled",
        /// It failed; see [`DomainClaim::failure_reason`].
        Failed = "failed",
    }
}

impl DomainClaimStatus {
    /// Returns whether the claim has an outcome, successful or not. `Unknown` doesn't count as one.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Pending | Self::Verified | Self::Unknown(_))
    }
}

open_enum! {
    /// Why a claim is blocked.
    ClaimBlockedReason {
        /// The other account's time to object hasn't passed yet.
        GracePeriod = "grace_period",
        /// The other account has used the domain recently.
        RecentOwnerActivity = "recent_owner_activity",
        /// The other account has scheduled emails from the domain.
        PendingScheduledEmails = "pending_scheduled_emails",
    }
}

record! {
    /// A claim of a domain.
    pub struct DomainClaim {
        /// The claim's ID. Operations on claims take [`domain_id`](Self::domain_id) instead.
        pub id: DomainClaimId,
        /// The domain name.
        pub name: String,
        /// The status.
        pub status: Option<DomainClaimStatus>,
        /// The domain of this account that was created for the claim. Deleting it cancels the claim.
        pub domain_id: Option<DomainId>,
        /// The region in which the service will handle the domain's mail.
        pub region: Option<Region>,
        /// The DNS record to publish as proof.
        pub record: Option<ClaimRecord>,
        /// Why the claim is blocked.
        pub blocked_reason: Option<ClaimBlockedReason>,
        /// Why the claim failed, human-readable.
        pub failure_reason: Option<String>,
        /// When the domain was claimed.
        pub created_at: Option<Timestamp>,
        /// When the claim expires unless the record is found: 7 days after the claim was made.
        pub expires_at: Option<Timestamp>,
    }
}

record! {
    /// The DNS record that proves a claim.
    #[derive(PartialEq, Eq)]
    pub struct ClaimRecord {
        /// The type, `TXT`.
        pub kind as "type": RecordType,
        /// The name, which is the domain itself.
        pub name: String,
        /// The value.
        pub value: String,
        /// The time to live, such as `Auto`.
        pub ttl: Option<String>,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;

    #[test]
    fn only_fields_that_were_set_are_sent() {
        assert_eq!(to_value(NewDomainClaim::new("acme.test")).unwrap(), json!({ "name": "acme.test" }));
        let all = NewDomainClaim::new("acme.test")
            .region(Region::SaEast1)
            .custom_return_path("bounce")
            .open_tracking(true)
            .click_tracking(false)
            .tracking_subdomain("links");
        assert!(all.check().is_ok());
        assert_eq!(
            to_value(all).unwrap(),
            json!({"name": "acme.test", "region": "sa-east-1", "custom_return_path": "bounce", "open_tracking": true,
                "click_tracking": false, "tracking_subdomain": "links"})
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let wrong =
            NewDomainClaim::new("acme").region("mars-1").custom_return_path("a.b").tracking_subdomain("A.b");
        let found: Vec<_> =
            wrong.check().unwrap_err().into_vec().into_iter().map(|problem| problem.path).collect();
        assert_eq!(
            found,
            ["/name", "/region", "/custom_return_path", "/tracking_subdomain", "/tracking_subdomain"]
        );
    }
}
