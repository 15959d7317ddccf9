//! The rate limit that the service announces in its response headers.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The longest window, in seconds, that determines a rate. A limit with a longer window is a quota, which may be used in bursts.
const MAX_WINDOW: u32 = 60;

/// A rate limit announced in the response headers: a number of requests per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AnnouncedLimit {
    requests: u32,
    seconds: u32,
}

impl AnnouncedLimit {
    /// Returns the slowest limit in `ratelimit-policy` or, without a readable policy, the limit per second in `ratelimit-limit`. Limits with windows
    /// longer than 60 s are quotas and are ignored.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut limits = headers
            .get_all(POLICY)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|policies| split(policies, ','))
            .filter_map(parse_policy)
            .peekable();
        if limits.peek().is_none() {
            let limit = parse_number(headers, LIMIT).filter(|limit| *limit > 0)?;
            return Some(Self { requests: limit, seconds: 1 });
        }
        limits
            .filter(|limit| limit.seconds <= MAX_WINDOW)
            .min_by(|one, other| one.per_second().total_cmp(&other.per_second()))
    }

    /// Returns the time until the window resets, if it is used up (`ratelimit-remaining` is 0).
    pub(super) fn reset_if_exhausted(headers: &HeaderMap) -> Option<Duration> {
        let exhausted = parse_number(headers, REMAINING) == Some(0);
        exhausted
            .then(|| parse_number(headers, RESET))
            .flatten()
            .map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// Returns the number of requests per window.
    pub(super) fn requests(self) -> u32 {
        self.requests
    }

    /// Returns the length of the window, at most 60 s.
    pub(super) fn window(self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    /// Returns the limit in requests per second.
    pub(super) fn per_second(self) -> f64 {
        f64::from(self.requests) / f64::from(self.seconds)
    }
}

/// Parses one policy: `10;w=1`, or `"default";q=10;w=1` as a structured field. Policies that don't count requests are ignored.
fn parse_policy(text: &str) -> Option<AnnouncedLimit> {
    let mut parts = split(text, ';').map(str::trim);
    let mut requests = parse_positive(parts.next()?);
    let mut seconds = None;
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name {
            "q" => requests = parse_positive(value),
            "w" => seconds = parse_positive(value),
            "qu" if value != "\"requests\"" => return None,
            _ => {}
        }
    }
    Some(AnnouncedLimit { requests: requests?, seconds: seconds? })
}

/// Splits at `separator`, except within a quoted string.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

fn parse_positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

fn parse_number(headers: &HeaderMap, name: HeaderName) -> Option<u32> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}
