//! What one response announces of the service's rate limit.

use std::time::Duration;

use http::HeaderMap;
use idempost::call::AnnouncedLimit;

/// What one response announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) limit: AnnouncedLimit,
    /// The time until the next window, if this response used up the current one.
    pub(super) exhausted: Option<Duration>,
}

impl Announced {
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let limit = AnnouncedLimit::from_headers(headers)?;
        let exhausted = AnnouncedLimit::reset_if_exhausted(headers).map(|reset| reset.min(limit.window()));
        Some(Self { limit, exhausted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_window_is_reset_after_at_most_its_length() {
        let read = |remaining: &str, reset: &str| {
            let headers = [("policy", "10;w=30"), ("remaining", remaining), ("reset", reset)];
            let headers = headers
                .map(|(name, value)| (format!("ratelimit-{name}").parse().unwrap(), value.parse().unwrap()));
            Announced::read(&headers.into_iter().collect()).unwrap().exhausted.map(|reset| reset.as_secs())
        };
        assert_eq!([read("0", "7"), read("0", "700"), read("1", "7")], [Some(7), Some(30), None]);
    }
}
