//! Points in time, in every format used by the service.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    time::{Duration, SystemTime},
};

use super::lenient;
use crate::problem::Problem;
use serde::{Deserialize, Deserializer, Serialize};

/// A point in time, stored as received from the service and parsed when used.
///
/// Most resources use `YYYY-MM-DD HH:MM:SS[.ffffff]+00`, some use ISO 8601 (`docs/specification.md`, Conventions). Both are accepted everywhere. Text
/// that isn't a valid time (such as the year 10000) is preserved, but [`to_system_time`](Self::to_system_time) returns `None`; it is never an
/// error. A leap second counts as the second before it.
///
/// Timestamps are compared by the time they represent: `2026-11-21 04:46:00+00` equals `2026-11-21T04:46:00Z`. Timestamps without a valid time come
/// first and are compared as text.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// Returns the text on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts to the standard library's type; `None` if the text isn't a valid time.
    pub fn to_system_time(&self) -> Option<SystemTime> {
        self.instant().map(SystemTime::from)
    }

    /// Returns whole seconds since 1970-01-01T00:00:00Z; `None` if the text isn't a valid time.
    pub fn unix_seconds(&self) -> Option<i64> {
        self.instant().map(jiff::Timestamp::as_second)
    }

    /// Returns the time elapsed until `now`; `None` if this time is later or the text isn't a valid time.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        now.duration_since(self.to_system_time()?).ok()
    }

    /// Returns the time in RFC 3339 format, or `None` if the text isn't a valid time.
    pub(crate) fn to_rfc3339(&self) -> Option<String> {
        self.instant().map(|instant| instant.to_string())
    }

    fn instant(&self) -> Option<jiff::Timestamp> {
        let text = self.0.trim();
        if let Ok(instant) = text.parse() {
            return Some(instant);
        }
        // A date without an offset is UTC, the only zone in the specification.
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    }

    /// Returns the key for comparing and hashing: the time, or else the text.
    fn key(&self) -> (Option<jiff::Timestamp>, &str) {
        match self.instant() {
            Some(instant) => (Some(instant), ""),
            None => (None, &self.0),
        }
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.key() == other.key()
    }
}

impl Eq for Timestamp {}

impl Hash for Timestamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

from_text!(Timestamp);

/// Formats the time in ISO 8601, in UTC. A time outside the years -9999 to 9999 is clamped.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let nearest = if time < SystemTime::UNIX_EPOCH { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Self(jiff::Timestamp::try_from(time).unwrap_or(nearest).to_string())
    }
}

impl TryFrom<&Timestamp> for SystemTime {
    type Error = Problem;

    fn try_from(time: &Timestamp) -> Result<Self, Problem> {
        time.to_system_time()
            .ok_or_else(|| Problem::new("", "type", "must be a valid date and time").with_value(&time.0))
    }
}

impl TryFrom<Timestamp> for SystemTime {
    type Error = Problem;

    fn try_from(time: Timestamp) -> Result<Self, Problem> {
        Self::try_from(&time)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient::value(deserializer)
    }
}

lenient_text!(Timestamp, absent: Some(Self::default()));

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const FORMS: [&str; 9] = [
        "2026-11-21 04:46:00+00",
        "2026-11-21 04:46:00.0+00",
        "2026-11-21 04:46:00.000+00",
        "2026-11-21 04:46:00.000000+00",
        "2026-11-21 04:46:00.000000000+00:00",
        "2026-11-21T04:46:00Z",
        "2026-11-21T04:46:00.000Z",
        "2026-11-21T05:46:00+01:00",
        "2026-11-21 04:46:00",
    ];

    #[test]
    fn every_form_of_a_time_is_parsed() {
        // GEN-22, GEN-24, B-21
        for form in FORMS {
            assert_eq!(Timestamp::from(form).unix_seconds(), Some(1_795_236_360), "{form}");
        }
    }

    #[test]
    fn a_leap_second_counts_as_the_second_before_it() {
        let before = Timestamp::from("2016-12-31T23:59:59Z");
        assert_eq!(Timestamp::from("2016-12-31 23:59:60+00"), before);
    }

    #[test]
    fn text_that_is_not_a_valid_time_is_kept() {
        // B-21
        for form in ["", "soon", "10000-01-01 00:00:00+00", "2026-13-01T00:00:00Z"] {
            let time = Timestamp::from(form);
            assert_eq!(time.to_system_time(), None, "{form}");
            assert_eq!(time.as_str(), form);
        }
    }

    #[test]
    fn equal_times_are_equal_and_hash_alike_whatever_their_form() {
        let times: HashSet<Timestamp> = FORMS.into_iter().map(Timestamp::from).collect();
        assert_eq!(times.len(), 1);
        assert!(!times.contains(&Timestamp::from("2026-11-21T04:46:00.000000001Z")));
        assert_ne!(Timestamp::from("soon"), Timestamp::from("later"));
    }

    #[test]
    fn timestamps_sort_by_time_and_invalid_ones_come_first() {
        let sorted =
            ["", "soon", "2026-11-21T05:00:00+01:00", "2026-11-21 04:30:00+00", "2026-11-21T04:31:00Z"];
        let mut times: Vec<_> = sorted.into_iter().rev().map(Timestamp::from).collect();
        times.sort();
        assert_eq!(times.iter().map(Timestamp::as_str).collect::<Vec<_>>(), sorted);
    }

    #[test]
    fn a_system_time_converts_to_a_timestamp_and_back() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_795_236_360_123_456_789);
        let written = Timestamp::from(time);
        assert_eq!(written.as_str(), "2026-11-21T04:46:00.123456789Z");
        assert_eq!(SystemTime::try_from(&written).unwrap(), time);
        assert!(SystemTime::try_from(Timestamp::from("soon")).is_err());
    }
}
