//! What the service tells of domains.

use serde::{Deserialize, Serialize};

use crate::{
    client::Item,
    types::{DomainId, Timestamp},
};

open_enum! {
    /// How the verification of a domain stands. The specification has seen the first two; the others are known from elsewhere.
    DomainStatus {
        /// Nobody has asked for a check yet.
        NotStarted = "not_started",
        /// A check is running.
        Pending = "pending",
        /// Every record was found.
        Verified = "verified",
        /// Some records were found, others not yet.
        PartiallyVerified = "partially_verified",
        /// Some records were found, others were not.
        PartiallyFailed = "partially_failed",
        /// The records were not found.
        Failed = "failed",
        /// The domain was verified once, and its records are not found any more; the service goes on looking.
        TemporaryFailure = "temporary_failure",
    }
}

impl DomainStatus {
    /// Whether a check has shown something, good or bad. A status that this version has no name for counts as none.
    ///
    /// [`PartiallyVerified`](Self::PartiallyVerified) and [`TemporaryFailure`](Self::TemporaryFailure) may change again without another
    /// check being asked for; the specification is silent on how long that takes, so nobody is made to wait for it.
    pub fn is_checked(&self) -> bool {
        !matches!(self, Self::NotStarted | Self::Pending | Self::Unknown(_))
    }
}

open_enum! {
    /// Where the service handles a domain's mail.
    Region {
        /// North Virginia; the default.
        UsEast1 = "us-east-1",
        /// Ireland.
        EuWest1 = "eu-west-1",
        /// São Paulo.
        SaEast1 = "sa-east-1",
        /// Tokyo.
        ApNortheast1 = "ap-northeast-1",
    }
}

open_enum! {
    /// Whether a domain is there for something.
    Capability {
        /// It is.
        Enabled = "enabled",
        /// It is not.
        Disabled = "disabled",
    }
}

open_enum! {
    /// What a DNS record is for.
    RecordKind {
        /// It allows the service to send in the domain's name, and brings bounces back.
        Spf = "SPF",
        /// It holds a key that mails are signed with.
        Dkim = "DKIM",
        /// It leads tracked links to the service.
        Tracking = "Tracking",
        /// It lets certificates be issued for tracked links.
        TrackingCaa = "TrackingCAA",
        /// It brings mail to the service.
        Receiving = "Receiving",
        /// The same, as events name it.
        ReceivingMx = "Receiving MX",
    }
}

open_enum! {
    /// The type of a DNS record.
    RecordType {
        /// A mail exchanger, with a [priority](DnsRecord::priority).
        Mx = "MX",
        /// A text.
        Txt = "TXT",
        /// Another name of a host.
        Cname = "CNAME",
        /// Who may issue certificates.
        Caa = "CAA",
    }
}

open_enum! {
    /// What the last check has found of a DNS record.
    RecordStatus {
        /// Nobody has looked yet.
        NotStarted = "not_started",
        /// It is being looked for.
        Pending = "pending",
        /// It was found.
        Verified = "verified",
        /// It was not found.
        Failed = "failed",
        /// It was found once and is not any more.
        TemporaryFailure = "temporary_failure",
    }
}

/// What a domain is there for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether it sends.
    #[serde(default)]
    pub sending: Option<Capability>,
    /// Whether it receives.
    #[serde(default)]
    pub receiving: Option<Capability>,
}

/// A DNS record to publish (`SPEC.md`, Domain).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DnsRecord {
    /// What it is for.
    pub record: RecordKind,
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub record_type: RecordType,
    /// Its value.
    pub value: String,
    /// How long it may be remembered, such as `Auto`.
    #[serde(default)]
    pub ttl: Option<String>,
    /// What the last check has found.
    #[serde(default)]
    pub status: Option<RecordStatus>,
    /// Of a mail exchanger, its preference; `None` of the other types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u16>,
}

/// A domain with its DNS records (`SPEC.md`, Domain).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Domain {
    /// The domain's id.
    pub id: DomainId,
    /// Its name.
    pub name: String,
    /// When it was registered.
    pub created_at: Timestamp,
    /// How its verification stands.
    #[serde(default)]
    pub status: Option<DomainStatus>,
    /// Whether opens are tracked, if there is a verified [`tracking_subdomain`](Self::tracking_subdomain).
    #[serde(default)]
    pub open_tracking: Option<bool>,
    /// Whether clicks are tracked, if there is a verified [`tracking_subdomain`](Self::tracking_subdomain).
    #[serde(default)]
    pub click_tracking: Option<bool>,
    /// The label of the subdomain for tracking; `None` if there is none.
    #[serde(default)]
    pub tracking_subdomain: Option<String>,
    /// What it is there for.
    #[serde(default)]
    pub capabilities: Option<Capabilities>,
    /// The DNS records to publish.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub records: Vec<DnsRecord>,
    /// Where the service handles its mail.
    #[serde(default)]
    pub region: Option<Region>,
}

/// A domain as the list shows it: without its DNS records. (The specification names the list and is silent on its items.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DomainSummary {
    /// The domain's id.
    pub id: DomainId,
    /// Its name.
    pub name: String,
    /// How its verification stands.
    #[serde(default)]
    pub status: Option<DomainStatus>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Where the service handles its mail.
    #[serde(default)]
    pub region: Option<Region>,
    /// Whether opens are tracked, if there is a verified subdomain for that.
    #[serde(default)]
    pub open_tracking: Option<bool>,
    /// Whether clicks are tracked, if there is a verified subdomain for that.
    #[serde(default)]
    pub click_tracking: Option<bool>,
    /// What it is there for.
    #[serde(default)]
    pub capabilities: Option<Capabilities>,
}

impl Item for DomainSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}
