//! The account's usage and quotas. (The specification doesn't define them; the format is Resend's.)

use std::time::Duration;

use crate::{
    call::{Call, RateLimit},
    types::Timestamp,
};

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
        /// Automation runs in the current month.
        pub automation_runs: PeriodQuota,
        /// Registered domains.
        pub domains: Quota,
        /// The rate limit for requests.
        pub rate_limit: RateLimitPolicy,
    }
}

record! {
    /// Email usage. Each address in `to`, `cc` and `bcc` counts.
    pub struct EmailUsage {
        /// The current day (UTC).
        pub daily: EmailQuota,
        /// The current month.
        pub monthly: EmailQuota,
    }
}

record! {
    /// An email quota, which includes both sent and received emails.
    #[derive(PartialEq, Eq)]
    pub struct EmailQuota {
        /// The number of sent and received emails.
        pub used: Option<u64>,
        /// The maximum for `used`; `None` if unlimited.
        pub limit: Option<u64>,
        /// The number of sent emails, per recipient.
        pub sent: Option<u64>,
        /// The number of received emails.
        pub received: Option<u64>,
        /// When the next period starts, in ISO 8601 format.
        pub resets_at: Option<Timestamp>,
    }
}

record! {
    /// A quota of stored records.
    #[derive(PartialEq, Eq)]
    pub struct Quota {
        /// The number of records.
        pub used: Option<u64>,
        /// The maximum; `None` if unlimited.
        pub limit: Option<u64>,
    }
}

record! {
    /// A quota for each period.
    #[derive(PartialEq, Eq)]
    pub struct PeriodQuota {
        /// The usage in the current period.
        pub used: Option<u64>,
        /// The maximum per period; `None` if unlimited.
        pub limit: Option<u64>,
        /// When the next period starts, in ISO 8601 format.
        pub resets_at: Option<Timestamp>,
    }
}

record! {
    /// Credits for the service's AI features.
    #[derive(PartialEq, Eq)]
    pub struct AiCredits {
        /// The number of used credits.
        pub used: Option<u64>,
        /// The maximum; `None` if unlimited.
        pub limit: Option<u64>,
        /// When the limit increases, in ISO 8601 format.
        pub next_increase_at: Option<Timestamp>,
    }
}

record! {
    /// The rate limit for requests.
    #[derive(PartialEq, Eq)]
    pub struct RateLimitPolicy {
        /// The maximum number of requests in [`duration`](Self::duration).
        pub limit: Option<u64>,
        /// The window, such as `1000ms`.
        pub duration: Option<String>,
    }
}

impl RateLimitPolicy {
    /// Returns the window, which the service states in milliseconds (`1000ms`) or seconds (`1s`); `None` in any other format.
    pub fn window(&self) -> Option<Duration> {
        let text = self.duration.as_deref()?;
        let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let count = text.strip_suffix(unit)?.parse().ok()?;
        match unit {
            "ms" => Some(Duration::from_millis(count)),
            "s" => Some(Duration::from_secs(count)),
            _ => None,
        }
    }

    /// Returns this limit as a client setting. A new client with this setting respects the limit from its first request on, even before a response
    /// announces one. `None` if the limit or its window is missing or zero.
    ///
    /// ```
    /// # async fn example(client: idempost::Client) -> Result<idempost::Client, Box<dyn std::error::Error>> {
    /// let limit = client.usage().get().await?.rate_limit.rate_limit().unwrap_or_default();
    /// let paced = idempost::Client::builder().base_url(client.base_url().as_str()).api_key("re_…").rate_limit(limit).build()?;
    /// # Ok(paced)
    /// # }
    /// ```
    #[expect(clippy::cast_precision_loss, reason = "a rate of 2^53 requests per second has no meaning")]
    pub fn rate_limit(&self) -> Option<RateLimit> {
        let window = self.window().filter(|window| !window.is_zero())?;
        let limit = self.limit.filter(|limit| *limit > 0)?;
        Some(RateLimit::PerSecond(limit as f64 / window.as_secs_f64()))
    }
}

macro_rules! remaining {
    ($($quota:ty),+) => {
        $(impl $quota {
            /// Returns the remaining amount; `None` if unlimited.
            pub fn remaining(&self) -> Option<u64> {
                Some(self.limit?.saturating_sub(self.used?))
            }
        })+
    };
}

remaining!(EmailQuota, Quota, PeriodQuota);

operations! {
    /// The operation on the account's usage: [`Client::usage`](crate::Client::usage).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let today = client.usage().get().await?.emails.daily;
    /// if today.remaining() == Some(0) {
    ///     println!("no more emails until {:?}", today.resets_at);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct UsageOperations;

    /// Returns the operation on the account's usage.
    accessor usage;

    /// Gets the account's usage and quotas: `GET /usage`. Any API key may call it, even one restricted to sending; access tokens need `full_access`.
    fn get() -> Call<Usage> = GET["/usage"];
}

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
    fn a_rate_limit_is_a_setting_of_a_client() {
        let rate = |limit: u64, duration: &str| {
            let policy: RateLimitPolicy =
                from_value(json!({ "limit": limit, "duration": duration })).unwrap();
            policy.rate_limit()
        };
        assert_eq!(rate(10, "1000ms"), Some(RateLimit::PerSecond(10.0)));
        assert_eq!(rate(90, "60s"), Some(RateLimit::PerSecond(1.5)));
        for unusable in ["", "ms", "0ms", "1000", "1m", "-1s", "99999999999999999999s", "1 s", "ß"] {
            assert_eq!(rate(10, unusable), None, "{unusable:?}");
        }
        assert_eq!(rate(0, "1s"), None);
    }
}
