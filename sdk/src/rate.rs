//! The client's own limiter: it learns the service's limit and keeps to it, so that a busy program is slowed down instead of refused.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderMap, HeaderName};
use tokio::time::Instant;

/// The slowest pace that refusals can bring a client to.
const SLOWEST: f64 = 0.5;
/// The headers that announce a limit.
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
/// A pace above which pacing costs more than it saves.
const UNPACED: f64 = 10_000.0;

/// How fast a client sends.
///
/// One limiter is shared by all clones of a client. The service counts per team (the specification is silent on the number; it
/// announces it in the `ratelimit-*` headers of every answer).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum RateLimit {
    /// As fast as the service announces, slower after a 429.
    #[default]
    Learn,
    /// At most so many requests a second, evenly spaced; slower after a 429.
    PerSecond(f64),
    /// As fast as calls are made. A 429 still pauses the call that got it.
    Off,
}

#[derive(Debug)]
pub(crate) struct Limiter {
    limit: RateLimit,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Requests a second that are aimed at; `None` while no limit is known.
    pace: Option<f64>,
    /// The pace to climb back to.
    ceiling: Option<f64>,
    /// When the next request may leave.
    next: Option<Instant>,
}

impl Limiter {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let pace = match limit {
            RateLimit::PerSecond(pace) => Some(pace.max(f64::MIN_POSITIVE)),
            RateLimit::Learn | RateLimit::Off => None,
        };
        Self { limit, state: Mutex::new(State { pace, ceiling: pace, next: None }) }
    }

    /// When this request may leave; `None` is at once.
    pub(crate) fn turn(&self) -> Option<Instant> {
        if self.limit == RateLimit::Off {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.pace.is_none_or(|pace| pace >= UNPACED) && state.next.is_none() {
            return None;
        }
        let now = Instant::now();
        let turn = state.next.map_or(now, |next| next.max(now));
        let gap = |pace: f64| Duration::try_from_secs_f64(1.0 / pace).unwrap_or_default();
        state.next = state.pace.map(|pace| turn + gap(pace));
        Some(turn)
    }

    /// Learns from an answer: the announced limit, what is left of it, and whether it was exceeded.
    pub(crate) fn learn(&self, headers: &HeaderMap, refused: Option<Duration>) {
        if self.limit == RateLimit::Off {
            return;
        }
        let announced = announced_pace(headers);
        if refused.is_none() && announced.is_some_and(|pace| pace >= UNPACED) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.limit == RateLimit::Learn
            && let Some(announced) = announced
            && state.ceiling != Some(announced)
        {
            state.ceiling = Some(announced);
            state.pace = Some(announced);
        }
        if let Some(pause) = refused {
            let pace = state.pace.or(announced).unwrap_or(1.0);
            state.pace = Some((pace / 2.0).max(SLOWEST));
            state.hold(pause);
        } else {
            if let (Some(pace), Some(ceiling)) = (state.pace, state.ceiling) {
                state.pace = Some((pace + ceiling / 50.0).min(ceiling));
            }
            if number(headers, REMAINING) == Some(0.0)
                && let Some(reset) = number(headers, RESET)
            {
                state.hold(Duration::try_from_secs_f64(reset.min(60.0)).unwrap_or_default());
            }
        }
    }
}

impl State {
    fn hold(&mut self, pause: Duration) {
        let until = Instant::now() + pause;
        self.next = Some(self.next.map_or(until, |next| next.max(until)));
    }
}

/// Requests a second, from `ratelimit-policy` (`10;w=1`) or `ratelimit-limit`. What can't be read counts as absent.
fn announced_pace(headers: &HeaderMap) -> Option<f64> {
    let policy = headers.get(POLICY).and_then(|value| value.to_str().ok());
    let from_policy = policy.and_then(|policy| {
        let (limit, window) = policy.split_once(";w=")?;
        Some(positive(limit)? / positive(window.split(';').next()?)?)
    });
    from_policy.or_else(|| number(headers, LIMIT).filter(|limit| *limit > 0.0))
}

fn number(headers: &HeaderMap, name: HeaderName) -> Option<f64> {
    let value = headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok()?;
    u32::try_from(value).ok().map(f64::from)
}

fn positive(text: &str) -> Option<f64> {
    text.trim().parse::<u32>().ok().filter(|number| *number > 0).map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    async fn seconds_for(limiter: &Limiter, requests: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..requests {
            if let Some(turn) = limiter.turn() {
                tokio::time::sleep_until(turn).await;
            }
        }
        start.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_slowed_before_a_limit_is_known() {
        assert!(seconds_for(&Limiter::new(RateLimit::Learn), 1_000).await < 0.01);
        assert!(seconds_for(&Limiter::new(RateLimit::Off), 1_000).await < 0.01);
    }

    #[tokio::test(start_paused = true)]
    async fn the_announced_limit_becomes_the_pace() {
        let limiter = Limiter::new(RateLimit::Learn);
        limiter.learn(&headers(&[("ratelimit-policy", "10;w=1")]), None);
        let taken = seconds_for(&limiter, 51).await;
        assert!((4.9..5.2).contains(&taken), "{taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_halves_the_pace_and_holds_everybody() {
        let limiter = Limiter::new(RateLimit::PerSecond(10.0));
        limiter.learn(&HeaderMap::new(), Some(Duration::from_secs(3)));
        let taken = seconds_for(&limiter, 6).await;
        assert!((3.9..4.2).contains(&taken), "{taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_window_is_waited_for() {
        let limiter = Limiter::new(RateLimit::Learn);
        let last = [("ratelimit-limit", "2"), ("ratelimit-remaining", "0"), ("ratelimit-reset", "1")];
        limiter.learn(&headers(&last), None);
        let taken = seconds_for(&limiter, 1).await;
        assert!((0.99..1.1).contains(&taken), "{taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn garbage_in_the_headers_changes_nothing() {
        let limiter = Limiter::new(RateLimit::Learn);
        for value in ["", "x", "-1", "0", "1e400", "99999999999999999999", "0;w=1", "5;w=0"] {
            limiter.learn(&headers(&[("ratelimit-limit", value), ("ratelimit-policy", value)]), None);
        }
        assert!(seconds_for(&limiter, 100).await < 0.01);
    }
}
