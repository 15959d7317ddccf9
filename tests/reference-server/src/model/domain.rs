//! Domains: their settings, DNS records and verification status.

pub mod dns;
pub mod verification;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::dns::{DnsRecord, RecordStatus};
use crate::store::table::{self, NoGroup};
use crate::wire::{Problem, enabled_or_disabled, to_database_format, view, words};

/// A domain of a tenant.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Domain {
    pub id: Uuid,
    pub created_at: Timestamp,
    pub setup: Setup,
    pub status: Status,
    pub records: Vec<DnsRecord>,
    /// The number of the latest check; results of earlier ones are ignored.
    pub check: u64,
    /// The latest completed check found the records for sending. It stays set during the next check.
    pub proven: bool,
    /// Whether it could receive when the latest check began.
    #[serde(default)]
    pub could_receive: bool,
}

impl table::Record for Domain {
    const NOUN: &'static str = "a domain";
    const PLURAL: &'static str = "domains";
    const IGNORES_CASE: bool = true;

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        Some(&self.setup.name)
    }

    fn conflict(&self, holder: &Self) -> Problem {
        Problem::forbidden(format!(
            "The domain {} is registered already; its id is {}.",
            self.setup.name, holder.id
        ))
    }
}

/// The settings that the caller chooses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Setup {
    /// In lower case.
    pub name: String,
    pub region: Region,
    pub return_path: String,
    pub open_tracking: bool,
    pub click_tracking: bool,
    pub tracking_subdomain: Option<String>,
    pub tls: Tls,
    pub capabilities: Capabilities,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Capabilities {
    pub sending: bool,
    pub receiving: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { sending: true, receiving: false }
    }
}

words! {
    /// The behavior if the recipient's server doesn't offer TLS.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    pub enum Tls {
        /// Send unencrypted.
        #[default]
        Opportunistic = "opportunistic",
        /// Don't send.
        Enforced = "enforced",
    }
}

words! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    pub enum Region {
        #[default]
        UsEast1 = "us-east-1",
        EuWest1 = "eu-west-1",
        SaEast1 = "sa-east-1",
        ApNortheast1 = "ap-northeast-1",
    }
}

words! {
    /// The specification names the first two. Of the other known ones, `temporary_failure` doesn't occur here: no record of a sandbox
    /// disappears after it was found.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    pub enum Status {
        NotStarted = "not_started",
        Pending = "pending",
        Verified = "verified",
        PartiallyVerified = "partially_verified",
        PartiallyFailed = "partially_failed",
        Failed = "failed",
    }
}

impl Domain {
    pub fn new(id: Uuid, created_at: Timestamp, setup: Setup) -> Self {
        let records = dns::records(id, &setup);
        Self {
            id,
            created_at,
            setup,
            status: Status::NotStarted,
            records,
            check: 0,
            proven: false,
            could_receive: false,
        }
    }

    /// Replaces the settings. Existing records keep their status.
    pub fn set_up(&mut self, setup: Setup) {
        let known = std::mem::replace(&mut self.records, dns::records(self.id, &setup));
        for record in &mut self.records {
            if let Some(known) = known.iter().find(|known| known.is_same(record)) {
                record.status = known.status;
            }
        }
        self.setup = setup;
    }

    /// Whether it is verified for sending, even while it is checked again.
    pub fn can_send(&self) -> bool {
        self.proven && self.setup.capabilities.sending
    }

    /// Whether it is verified for receiving, even while it is checked again.
    pub fn can_receive(&self) -> bool {
        let is_found = |record: &DnsRecord| {
            record.is_for_receiving()
                && (record.status == RecordStatus::Verified
                    || (record.status == RecordStatus::Pending && self.could_receive))
        };
        self.proven && self.records.iter().any(is_found)
    }

    /// The host of tracked links, if it is verified. Without one, neither opens nor clicks are tracked.
    pub fn tracking_host(&self) -> Option<String> {
        let label = self.setup.tracking_subdomain.as_ref()?;
        let verified = |record: &DnsRecord| record.is_tracking() && record.status == RecordStatus::Verified;
        self.records.iter().any(verified).then(|| format!("{label}.{}", self.setup.name))
    }
}

view! {
    pub Item of domain: Domain {
        id: domain.id,
        name: domain.setup.name,
        status: domain.status.as_str(),
        created_at: to_database_format(domain.created_at),
        region: domain.setup.region.as_str(),
        open_tracking: domain.setup.open_tracking,
        click_tracking: domain.setup.click_tracking,
        tracking_subdomain: domain.setup.tracking_subdomain,
        capabilities: CapabilitiesItem(&domain.setup.capabilities),
    }
}

view! {
    pub Created of domain: Domain {
        ..Item,
        records: domain.records,
    }
}

view! {
    pub Detail of domain: Domain { object: "domain", ..Created, }
}

view! {
    pub CapabilitiesItem of capabilities: Capabilities {
        sending: enabled_or_disabled(capabilities.sending),
        receiving: enabled_or_disabled(capabilities.receiving),
    }
}
