//! The rate limit: requests per second, and the headers that announce it.
//!
//! The specification doesn't define rate limits; the headers follow the IETF draft "RateLimit header fields for HTTP", as clients of this
//! format expect. While the limit is off, the headers announce one that no client reaches, so that clients which adapt to them aren't
//! slowed.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::Timestamp;

use crate::wire::Problem;

/// The announced limit while the limit is off.
const UNLIMITED: u32 = 1_000_000;

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The limit as announced.
pub fn announced_limit(limit: Option<u32>) -> u32 {
    limit.unwrap_or(UNLIMITED)
}

/// A tenant's requests in the current second.
#[derive(Debug, Default)]
pub struct Meter {
    second: i64,
    used: u32,
}

/// The state of the limit after a request was counted.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    limit: u32,
    remaining: u32,
}

impl Allowance {
    /// For requests that aren't counted: without a limit or a tenant.
    pub fn uncounted(limit: Option<u32>) -> Self {
        let limit = announced_limit(limit);
        Self { limit, remaining: limit }
    }

    /// Adds the rate limit headers, unless the response has them.
    pub fn add_headers(self, headers: &mut HeaderMap) {
        let policy = if self.limit == UNLIMITED {
            HeaderValue::from_static("1000000;w=1")
        } else {
            HeaderValue::try_from(format!("{};w=1", self.limit)).unwrap_or(HeaderValue::from(self.limit))
        };
        headers.entry(LIMIT).or_insert_with(|| header_value(self.limit));
        headers.entry(REMAINING).or_insert_with(|| header_value(self.remaining));
        headers.entry(RESET).or_insert(HeaderValue::from_static("1"));
        headers.entry(POLICY).or_insert(policy);
    }
}

/// Most responses contain the constant for no limit, which needs no formatting.
fn header_value(number: u32) -> HeaderValue {
    if number == UNLIMITED { HeaderValue::from_static("1000000") } else { HeaderValue::from(number) }
}

impl Meter {
    /// Counts a request. The window is a second of the service's clock, without bursts.
    pub fn count(&mut self, limit: u32, now: Timestamp) -> (Allowance, Result<(), Problem>) {
        if self.second != now.as_second() {
            *self = Self { second: now.as_second(), used: 0 };
        }
        if self.used >= limit {
            let soon = (header::RETRY_AFTER, HeaderValue::from(1));
            return (Allowance { limit, remaining: 0 }, Err(Problem::rate_limited().with_headers([soon])));
        }
        self.used += 1;
        (Allowance { limit, remaining: limit - self.used }, Ok(()))
    }
}
