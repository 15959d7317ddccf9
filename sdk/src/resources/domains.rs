//! Domains for sending and receiving, with their DNS records.

mod claim;
mod name;
mod new;
mod operations;
mod patch;
mod record;

pub use claim::{ClaimBlockedReason, ClaimRecord, DomainClaim, DomainClaimStatus, NewDomainClaim};
pub use new::{NewDomain, Tls};
pub use operations::Domains;
pub use patch::DomainPatch;
pub use record::{Domain, DomainSummary};

pub use super::shared::{
    Capabilities, Capability, DnsRecord, DomainStatus, ProxyStatus, RecordPurpose, RecordStatus, RecordType,
    Region,
};
