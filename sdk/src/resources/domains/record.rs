//! Domains as the service returns them.

use crate::{
    resources::shared::{Capabilities, DnsRecord, DomainStatus, Region},
    types::{DomainId, Timestamp},
};

record! {
    /// A domain in a list, without its DNS records. (The specification names the list but doesn't define its items.)
    pub struct DomainSummary {
        /// The domain's ID.
        pub id: DomainId,
        /// The domain name.
        pub name: String,
        /// The verification status.
        pub status: Option<DomainStatus>,
        /// When the domain was registered.
        pub created_at: Timestamp,
        /// The region in which the service handles the domain's mail.
        pub region: Option<Region>,
        /// Whether opens are tracked, provided that the tracking subdomain is verified.
        pub open_tracking: Option<bool>,
        /// Whether clicks are tracked, provided that the tracking subdomain is verified.
        pub click_tracking: Option<bool>,
        /// The label of the tracking subdomain; `None` if there is none.
        pub tracking_subdomain: Option<String>,
        /// Whether the domain can send and receive.
        pub capabilities: Option<Capabilities>,
    }

    /// A domain with its DNS records (`docs/specification.md`, Domain).
    pub struct Domain: DomainSummary {
        /// The DNS records to publish.
        pub records: Vec<DnsRecord>,
    }
}

items!(DomainSummary);
