//! Parts of domains, used in records and webhook events.

open_enum! {
    /// The verification status of a domain. The specification documents the first two; the others are Resend's.
    DomainStatus {
        /// No verification was requested yet.
        NotStarted = "not_started",
        /// Verification is in progress.
        Pending = "pending",
        /// All records were found.
        Verified = "verified",
        /// Some records were found; others haven't been found yet.
        PartiallyVerified = "partially_verified",
        /// Some records were found; others failed.
        PartiallyFailed = "partially_failed",
        /// The records weren't found.
        Failed = "failed",
        /// The domain was verified before, but its records are currently missing; the service keeps checking.
        TemporaryFailure = "temporary_failure",
    }
}

impl DomainStatus {
    /// Returns whether a verification has an outcome, successful or not. `Unknown` doesn't count as one.
    ///
    /// [`PartiallyVerified`](Self::PartiallyVerified) and [`TemporaryFailure`](Self::TemporaryFailure) may change again without another request; the
    /// specification doesn't say how long that takes, so [`Domains::wait`](crate::resources::domains::Domains::wait) doesn't wait for it.
    pub fn is_checked(&self) -> bool {
        !matches!(self, Self::NotStarted | Self::Pending | Self::Unknown(_))
    }
}

open_enum! {
    /// The region in which the service handles a domain's mail.
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
    /// Whether a capability of a domain is enabled.
    Capability {
        /// Enabled.
        Enabled = "enabled",
        /// Disabled.
        Disabled = "disabled",
    }
}

open_enum! {
    /// The purpose of a DNS record.
    RecordPurpose {
        /// Authorizes the service to send for the domain, and routes bounces.
        Spf = "SPF",
        /// Publishes the key with which emails are signed.
        Dkim = "DKIM",
        /// Points tracked links to the service.
        Tracking = "Tracking",
        /// Authorizes certificates for tracked links.
        TrackingCaa = "TrackingCAA",
        /// Routes incoming mail to the service.
        Receiving = "Receiving",
        /// Routes incoming mail to the service, in Resend's current spelling.
        ReceivingMx = "Receiving MX",
    }
}

open_enum! {
    /// The type of a DNS record.
    RecordType {
        /// A mail exchanger, with a [priority](DnsRecord::priority).
        Mx = "MX",
        /// A text record.
        Txt = "TXT",
        /// An alias.
        Cname = "CNAME",
        /// A certification authority authorization.
        Caa = "CAA",
    }
}

open_enum! {
    /// The verification status of a DNS record.
    RecordStatus {
        /// Not checked yet.
        NotStarted = "not_started",
        /// The check is in progress.
        Pending = "pending",
        /// Found.
        Verified = "verified",
        /// Not found.
        Failed = "failed",
        /// Found before, but currently missing.
        TemporaryFailure = "temporary_failure",
    }
}

open_enum! {
    /// Whether the DNS provider proxies a record.
    ProxyStatus {
        /// Proxied.
        Enable = "enable",
        /// Not proxied.
        Disable = "disable",
    }
}

record! {
    /// The capabilities of a domain.
    #[derive(PartialEq, Eq)]
    pub struct Capabilities {
        /// Whether the domain can send.
        pub sending: Option<Capability>,
        /// Whether the domain can receive.
        pub receiving: Option<Capability>,
    }
}

record! {
    /// A DNS record to publish (`docs/specification.md`, Domain).
    #[derive(PartialEq, Eq)]
    pub struct DnsRecord {
        /// The purpose of the record.
        pub record: RecordPurpose,
        /// The name.
        pub name: String,
        /// The type.
        pub kind as "type": RecordType,
        /// The value.
        pub value: String,
        /// The time to live, such as `Auto`.
        pub ttl: Option<String>,
        /// The verification status.
        pub status: Option<RecordStatus>,
        /// The preference of a mail exchanger; `None` for other types.
        pub priority: Option<u16>,
        /// The record's routing policy at its DNS provider. (The specification doesn't define it.)
        pub routing_policy: Option<String>,
        /// Whether the DNS provider proxies the record. (The specification doesn't define it.)
        pub proxy_status: Option<ProxyStatus>,
    }
}
