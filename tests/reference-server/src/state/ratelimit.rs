//! The request limit: so many requests in each second, and the headers that announce it.
//!
//! The specification is silent on request limits; the headers follow the IETF draft "RateLimit header fields for
//! HTTP", as clients of this format expect. While the limit is off the headers announce a limit that nobody reaches,
//! so that a client which learns its pace from them is not slowed.

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;

use crate::wire::problem::Problem;

/// What is announced while there is no limit.
const UNLIMITED: u32 = 1_000_000;

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The requests of one tenant in the current second.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    second: i64,
    used: u32,
}

/// What a request found when it was counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    limit: u32,
    remaining: u32,
}

impl Allowance {
    /// For requests that are not counted: no limit, or nobody to count them for.
    pub(crate) fn uncounted(limit: Option<u32>) -> Self {
        let limit = limit.unwrap_or(UNLIMITED);
        Self { limit, remaining: limit }
    }

    /// Adds the headers that announce it, where the response has none of that name.
    pub(crate) fn announce(self, headers: &mut HeaderMap) {
        let policy = if self.limit == UNLIMITED {
            HeaderValue::from_static("1000000;w=1")
        } else {
            HeaderValue::try_from(format!("{};w=1", self.limit)).unwrap_or(HeaderValue::from(self.limit))
        };
        headers.entry(LIMIT).or_insert_with(|| number(self.limit));
        headers.entry(REMAINING).or_insert_with(|| number(self.remaining));
        headers.entry(RESET).or_insert(HeaderValue::from_static("1"));
        headers.entry(POLICY).or_insert(policy);
    }
}

/// Most responses have the number that stands for no limit.
fn number(number: u32) -> HeaderValue {
    if number == UNLIMITED { HeaderValue::from_static("1000000") } else { HeaderValue::from(number) }
}

impl Meter {
    /// Counts a request. The window is a second of the service's clock, without bursts.
    pub(crate) fn count(&mut self, limit: u32, now: Timestamp) -> (Allowance, Result<(), Problem>) {
        if self.second != now.as_second() {
            *self = Self { second: now.as_second(), used: 0 };
        }
        if self.used >= limit {
            return (Allowance { limit, remaining: 0 }, Err(Problem::rate_limited()));
        }
        self.used += 1;
        (Allowance { limit, remaining: limit - self.used }, Ok(()))
    }
}
