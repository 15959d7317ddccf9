//! The current access token, and its remaining lifetime according to two clocks.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::HeaderValue;

use super::protocol::Now;
use crate::{
    auth::record::TokenRecord,
    clock::{Instant, wall},
};

/// Below this remaining lifetime, a call waits for a new access token.
const MIN_LIFETIME: Duration = Duration::from_secs(10);
/// Below this remaining lifetime, a call tries to get a new access token, but otherwise uses the old one.
const REFRESH_AHEAD: Duration = Duration::from_secs(2 * 60);
/// The maximum jitter, so that processes started together don't refresh simultaneously.
const JITTER: Duration = Duration::from_secs(30);

/// Reads both clocks.
#[derive(Clone)]
pub(crate) struct Clocks {
    wall: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    began: Instant,
    /// This process's random share of the jitter, from 0 to 1.
    chance: f64,
}

impl Default for Clocks {
    fn default() -> Self {
        Self::with_wall_clock(wall)
    }
}

impl Clocks {
    pub(crate) fn with_wall_clock(wall: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self { wall: Arc::new(wall), began: Instant::now(), chance: rand::random() }
    }

    /// Reads both clocks. If the application's wall clock panics, the system's is used: nothing may interrupt a refresh.
    pub(crate) fn now(&self) -> Now {
        let wall = catch_unwind(AssertUnwindSafe(|| (self.wall)())).unwrap_or_else(|_| wall());
        Now { wall, monotonic: self.began.elapsed() }
    }

    /// Returns the hard and the soft limit for a token with this lifetime. Short-lived tokens have proportionally lower limits; otherwise every call
    /// would refresh them.
    fn limits(&self, lifetime: Duration) -> (Duration, Duration) {
        (MIN_LIFETIME.min(lifetime / 10), (REFRESH_AHEAD + JITTER.mul_f64(self.chance)).min(lifetime / 4))
    }
}

partial_debug!(Clocks = "Clocks");

/// A record as this process first saw it.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) record: Arc<TokenRecord>,
    /// The value of the `Authorization` header, if there is an access token.
    pub(crate) header: Option<HeaderValue>,
    /// When the record was first seen, and its maximum remaining lifetime at that time.
    seen: Now,
    max: Duration,
    /// Whether this process, or its delegate, requested its tokens.
    pub(super) own: bool,
}

impl Token {
    /// Creates a token. `since` is when this process requested its tokens, if it did.
    pub(crate) fn new(record: TokenRecord, now: Now, since: Option<Now>) -> Self {
        let header = record.access_token.as_ref().map(crate::types::AccessToken::header);
        let max = match since {
            Some(_) => record.expires_in,
            // Never longer than the lifetime: a clock that is behind both the writer's and the server's proves nothing.
            None => record
                .expires_at_by(now.wall)
                .duration_since(now.wall)
                .unwrap_or_default()
                .min(record.expires_in),
        };
        Self { record: Arc::new(record), header, seen: since.unwrap_or(now), max, own: since.is_some() }
    }

    /// Returns the same tokens for a record that was written again.
    pub(crate) fn with_record(&self, record: TokenRecord) -> Self {
        Self { record: Arc::new(record), ..self.clone() }
    }

    /// Returns the remaining lifetime of the access token, by whichever clock shows less.
    pub(crate) fn remaining_lifetime(&self, now: Now) -> Duration {
        if self.header.is_none() {
            return Duration::ZERO;
        }
        // A clock that was set back proves nothing; the other clock and the service's 401 responses still do.
        let by_wall = now.wall.duration_since(self.seen.wall).unwrap_or_default();
        self.max.saturating_sub(now.monotonic.saturating_sub(self.seen.monotonic).max(by_wall))
    }

    /// Returns the hard and the soft limit for this token's lifetime. A token that can't be refreshed is used to the end.
    pub(crate) fn limits(&self, clocks: &Clocks) -> (Duration, Duration) {
        match self.record.refresh_token {
            Some(_) => clocks.limits(self.record.expires_in),
            None => (Duration::ZERO, Duration::ZERO),
        }
    }

    /// Returns whether this is the same access token of the same grant.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.record.generation == other.record.generation && self.header == other.header
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::AccessToken;

    fn token(now: Now) -> Token {
        let mut record = TokenRecord::new("https://a.test", "https://a.test/t", "c", "rt".to_owned().into());
        record.access_token = Some(AccessToken::new("at").unwrap());
        record.obtained_at = now.wall;
        record.expires_in = Duration::from_mins(15);
        Token::new(record, now, None)
    }

    fn at(wall: u64, monotonic: u64) -> Now {
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(wall);
        Now { wall, monotonic: Duration::from_secs(monotonic) }
    }

    proptest! {
        #[test]
        fn a_token_is_invalid_as_soon_as_either_clock_says_so(wall in 0_u64..3_000, monotonic in 0_u64..3_000) {
            // D-16
            let left = token(at(10_000, 50)).remaining_lifetime(at(9_000 + wall, 50 + monotonic));
            let by_wall = wall.saturating_sub(1_000);
            prop_assert_eq!(left, Duration::from_secs(900_u64.saturating_sub(by_wall.max(monotonic))));
        }
    }

    #[test]
    fn the_server_s_time_counts_if_the_clock_that_obtained_a_token_was_ahead() {
        let mut token = token(at(13_600, 0));
        let record = Arc::get_mut(&mut token.record).unwrap();
        record.served_at = Some(at(10_000, 0).wall);
        let left = |wall| {
            Token::new(TokenRecord::clone(&token.record), at(wall, 0), None).remaining_lifetime(at(wall, 0))
        };
        // The clock has been corrected, or is still ahead.
        for (wall, seconds) in
            [(10_000, 900), (10_100, 800), (10_900, 0), (13_500, 0), (13_700, 800), (14_500, 0)]
        {
            assert_eq!(left(wall).as_secs(), seconds, "{wall}");
        }
        assert_eq!(token.record.expires_at_by(at(10_100, 0).wall), at(10_900, 0).wall);
    }

    #[test]
    fn extreme_clocks_cause_no_panic() {
        // D-16
        for wall in [0, 1, u64::from(u32::MAX), i64::MAX.unsigned_abs() - 1_000] {
            for monotonic in [0, u64::MAX] {
                let seen = at(wall, monotonic);
                token(seen).remaining_lifetime(at(i64::MAX.unsigned_abs() - wall, u64::MAX - monotonic));
            }
        }
    }

    #[test]
    fn short_lived_tokens_are_used_before_they_are_refreshed() {
        let clocks = Clocks { chance: 1.0, ..Clocks::default() };
        assert_eq!(clocks.limits(Duration::from_mins(15)), (MIN_LIFETIME, REFRESH_AHEAD + JITTER));
        assert_eq!(clocks.limits(Duration::from_mins(1)), (Duration::from_secs(6), Duration::from_secs(15)));
        assert_eq!(clocks.limits(Duration::ZERO), (Duration::ZERO, Duration::ZERO));
    }
}
