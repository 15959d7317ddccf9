//! The rate limit that the service announces in the headers of its responses.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The longest window, in seconds, that sets a rate. The limit of a longer one is a quota, which may be used in bursts.
const MAX_WINDOW: u32 = 60;

/// A limit of requests per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) limit: u32,
    seconds: u32,
}

impl Window {
    /// The limit in requests per second.
    pub(super) fn rate(self) -> f64 {
        f64::from(self.limit) / f64::from(self.seconds)
    }

    pub(super) fn length(self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}

/// What one response announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) window: Window,
    /// The time until the next window, if this response used up the current one.
    pub(super) exhausted: Option<Duration>,
}

impl Announced {
    /// Reads the slowest limit in `ratelimit-policy` or, without a readable one, the limit per second in `ratelimit-limit`.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let window = window(headers)?;
        let exhausted = (number(headers, REMAINING) == Some(0)).then(|| number(headers, RESET)).flatten();
        let exhausted = exhausted.map(|seconds| Duration::from_secs(seconds.into()).min(window.length()));
        Some(Self { window, exhausted })
    }
}

fn window(headers: &HeaderMap) -> Option<Window> {
    let mut windows = headers
        .get_all(POLICY)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|policies| split(policies, ','))
        .filter_map(policy)
        .peekable();
    if windows.peek().is_none() {
        let limit = number(headers, LIMIT).filter(|limit| *limit > 0)?;
        return Some(Window { limit, seconds: 1 });
    }
    windows
        .filter(|window| window.seconds <= MAX_WINDOW)
        .min_by(|one, other| one.rate().total_cmp(&other.rate()))
}

/// Parses one policy: `10;w=1`, or `"default";q=10;w=1` as a structured field. Policies that don't count requests are ignored.
fn policy(text: &str) -> Option<Window> {
    let mut parts = split(text, ';').map(str::trim);
    let mut limit = positive(parts.next()?);
    let mut seconds = None;
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name {
            "q" => limit = positive(value),
            "w" => seconds = positive(value),
            "qu" if value != "\"requests\"" => return None,
            _ => {}
        }
    }
    Some(Window { limit: limit?, seconds: seconds? })
}

/// Splits at `separator`, except within a quoted string.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

fn number(headers: &HeaderMap, name: HeaderName) -> Option<u32> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&'static str, &str)]) -> Option<(f64, Option<u64>)> {
        let headers =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let announced = Announced::read(&headers.collect())?;
        Some((announced.window.rate(), announced.exhausted.map(|reset| reset.as_secs())))
    }

    #[test]
    fn the_slowest_policy_of_up_to_a_minute_is_the_limit() {
        assert_eq!(read(&[("ratelimit-policy", "10;w=1")]), Some((10.0, None)));
        assert_eq!(read(&[("ratelimit-policy", "10;w=1, 60;w=60, 100;w=86400")]), Some((1.0, None)));
        assert_eq!(read(&[("ratelimit-policy", r#""a, b";q=20;w=10"#)]), Some((2.0, None)));
        assert_eq!(read(&[("ratelimit-policy", "100;w=86400")]), None);
    }

    #[test]
    fn a_limit_without_a_policy_counts_per_second() {
        assert_eq!(read(&[("ratelimit-limit", "5")]), Some((5.0, None)));
        assert_eq!(read(&[("ratelimit-limit", "0")]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn an_exhausted_window_names_its_reset_of_at_most_one_window() {
        let policy = ("ratelimit-policy", "10;w=30");
        let read = |remaining, reset| {
            read(&[policy, ("ratelimit-remaining", remaining), ("ratelimit-reset", reset)])
        };
        assert_eq!(read("0", "7").unwrap().1, Some(7));
        assert_eq!(read("0", "700").unwrap().1, Some(30));
        assert_eq!(read("1", "7").unwrap().1, None);
        assert_eq!(read("0", "99999999999999999999").unwrap().1, None);
    }
}
