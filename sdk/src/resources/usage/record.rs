//! Usage and quotas as the service returns them.

use crate::types::Timestamp;

record! {
    /// The account's usage and quotas. A quota without a `limit` is unlimited.
    pub struct Usage {
        /// Emails per day and month.
        pub emails: EmailUsage,
        /// Stored contacts.
        pub contacts: Quota,
        /// Stored segments.
        pub segments: Quota,
        /// Stored broadcasts.
        pub broadcasts: Quota,
        /// Credits for the service's AI features.
        pub ai_credits: AiCredits,
        /// Runs of automations in the current month.
        pub automation_runs: PeriodQuota,
        /// Registered domains.
        pub domains: Quota,
        /// The rate limit of requests.
        pub rate_limit: RateLimitPolicy,
    }
}

record! {
    /// The usage of emails. Each address in to, cc and bcc counts.
    pub struct EmailUsage {
        /// In the current day (UTC).
        pub daily: EmailQuota,
        /// In the current month.
        pub monthly: EmailQuota,
    }
}

record! {
    /// A quota of emails, which sent and received ones use up.
    #[derive(PartialEq, Eq)]
    pub struct EmailQuota {
        /// The sent and received emails.
        pub used: Option<u64>,
        /// The maximum of `used`; `None` if it is unlimited.
        pub limit: Option<u64>,
        /// The sent emails, per recipient.
        pub sent: Option<u64>,
        /// The received emails.
        pub received: Option<u64>,
        /// When the next period starts, in ISO 8601.
        pub resets_at: Option<Timestamp>,
    }
}

record! {
    /// A quota of stored records.
    #[derive(PartialEq, Eq)]
    pub struct Quota {
        /// The number of records.
        pub used: Option<u64>,
        /// The maximum; `None` if it is unlimited.
        pub limit: Option<u64>,
    }
}

record! {
    /// A quota per period.
    #[derive(PartialEq, Eq)]
    pub struct PeriodQuota {
        /// What was used in the current period.
        pub used: Option<u64>,
        /// The maximum per period; `None` if it is unlimited.
        pub limit: Option<u64>,
        /// When the next period starts, in ISO 8601.
        pub resets_at: Option<Timestamp>,
    }
}

record! {
    /// Credits for the service's AI features.
    #[derive(PartialEq, Eq)]
    pub struct AiCredits {
        /// The used credits.
        pub used: Option<u64>,
        /// The maximum; `None` if it is unlimited.
        pub limit: Option<u64>,
        /// When the limit rises, in ISO 8601.
        pub next_increase_at: Option<Timestamp>,
    }
}

record! {
    /// The rate limit of requests.
    #[derive(PartialEq, Eq)]
    pub struct RateLimitPolicy {
        /// The maximum number of requests in [`duration`](Self::duration).
        pub limit: Option<u64>,
        /// The window, such as `1000ms`.
        pub duration: Option<String>,
    }
}

fn remaining(used: Option<u64>, limit: Option<u64>) -> Option<u64> {
    Some(limit?.saturating_sub(used?))
}

macro_rules! remaining {
    ($($quota:ty),+) => {
        $(impl $quota {
            /// Returns how much of the limit is left; `None` if it is unlimited.
            pub fn remaining(&self) -> Option<u64> {
                remaining(self.used, self.limit)
            }
        })+
    };
}

remaining!(EmailQuota, Quota, PeriodQuota);

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn what_remains_is_never_negative_and_unlimited_without_a_limit() {
        let remaining = |used: u64, limit: Option<u64>| {
            let quota: Quota = from_value(json!({ "used": used, "limit": limit })).unwrap();
            quota.remaining()
        };
        assert_eq!(remaining(3, Some(10)), Some(7));
        assert_eq!(remaining(12, Some(10)), Some(0));
        assert_eq!(remaining(12, None), None);
    }

    #[test]
    fn a_usage_without_some_of_its_parts_is_read() {
        let usage: Usage =
            from_value(json!({ "object": "usage", "emails": { "daily": { "used": 3 } } })).unwrap();
        assert_eq!((usage.emails.daily.used, usage.contacts.used), (Some(3), None));
    }
}
