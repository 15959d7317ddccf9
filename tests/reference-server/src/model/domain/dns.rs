//! The DNS records that a domain needs (`docs/specification.md`, Domain).
//!
//! SPF for the return path's subdomain (MX for bounces, and TXT), three DKIM keys as CNAME, an MX record of the domain itself if it
//! receives, and a CNAME for a tracking subdomain. The specification shows no values. Here they name hosts of the region under
//! `mail.example`, which can't be registered; the DKIM names are derived from the domain's ID, so they never change. `name` is the full
//! name of the record, as the specification writes `<label>.<domain>`.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::digest::sha256;
use crate::model::domain::Setup;
use crate::store::interned::{Interned, deserialize_interned};

/// The parent domain of the hosts of all regions.
const SERVICE: &str = "mail.example";
/// The preference of mail exchangers; each name has only one, so any number works.
const PRIORITY: u16 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsRecord {
    #[serde(deserialize_with = "deserialize_interned")]
    record: Interned,
    name: String,
    #[serde(rename = "type", deserialize_with = "deserialize_interned")]
    kind: Interned,
    value: String,
    #[serde(deserialize_with = "deserialize_interned")]
    ttl: Interned,
    pub status: RecordStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordStatus {
    NotStarted,
    Pending,
    Verified,
    Failed,
}

impl DnsRecord {
    fn new(record: &'static str, name: String, kind: &'static str, value: String) -> Self {
        let priority = (kind == "MX").then_some(PRIORITY);
        Self { record, name, kind, value, ttl: "Auto", status: RecordStatus::NotStarted, priority }
    }

    /// Whether it is the same DNS record.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.record, &self.name, self.kind, &self.value)
            == (other.record, &other.name, other.kind, &other.value)
    }

    /// Whether sending requires it.
    pub fn is_for_sending(&self) -> bool {
        matches!(self.record, "SPF" | "DKIM")
    }

    pub fn is_for_receiving(&self) -> bool {
        self.record == "Receiving MX"
    }

    pub fn is_tracking(&self) -> bool {
        self.record == "Tracking"
    }
}

/// All records of a domain with these settings.
pub fn records(id: Uuid, setup: &Setup) -> Vec<DnsRecord> {
    let (domain, region) = (&setup.name, setup.region.as_str());
    let return_path = format!("{}.{domain}", setup.return_path);
    let mut records = vec![
        DnsRecord::new("SPF", return_path.clone(), "MX", format!("feedback.{region}.{SERVICE}")),
        DnsRecord::new("SPF", return_path, "TXT", format!("v=spf1 include:spf.{region}.{SERVICE} ~all")),
    ];
    records.extend((1..=3).map(|number| {
        let selector = selector(id, number);
        let value = format!("{selector}.dkim.{region}.{SERVICE}");
        DnsRecord::new("DKIM", format!("{selector}._domainkey.{domain}"), "CNAME", value)
    }));
    if setup.capabilities.receiving {
        records.push(DnsRecord::new(
            "Receiving MX",
            domain.clone(),
            "MX",
            format!("inbound.{region}.{SERVICE}"),
        ));
    }
    if let Some(label) = &setup.tracking_subdomain {
        let value = format!("track.{region}.{SERVICE}");
        records.push(DnsRecord::new("Tracking", format!("{label}.{domain}"), "CNAME", value));
    }
    records
}

/// The selector of one of a domain's DKIM keys: 32 letters and digits.
fn selector(id: Uuid, number: u8) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let digest = sha256(&[id.as_bytes(), &[number]]);
    digest.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}
