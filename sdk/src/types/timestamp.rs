//! Moments in time, in every form that the service writes them.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

/// A moment, kept as the service wrote it and read when it is asked for.
///
/// Most resources use `YYYY-MM-DD HH:MM:SS[.ffffff]+00`, some use ISO 8601 (`SPEC.md`, Conventions). Both are read
/// everywhere. A text that names no moment (a leap second, the year 10000) is kept and simply has no
/// [`to_system_time`](Self::to_system_time); it is never an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// The text on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The moment as the standard library's type, or `None` when the text can't be read.
    pub fn to_system_time(&self) -> Option<SystemTime> {
        self.instant().map(SystemTime::from)
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, or `None` when the text can't be read.
    pub fn unix_seconds(&self) -> Option<i64> {
        self.instant().map(jiff::Timestamp::as_second)
    }

    /// How long before `now` this moment was; `None` when it lies after it or can't be read.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        now.duration_since(self.to_system_time()?).ok()
    }

    /// The moment in RFC 3339, or `None` when the text can't be read.
    pub(crate) fn to_rfc3339(&self) -> Option<String> {
        self.instant().map(|instant| instant.to_string())
    }

    fn instant(&self) -> Option<jiff::Timestamp> {
        let text = self.0.trim();
        if let Ok(instant) = text.parse() {
            return Some(instant);
        }
        // A date without an offset is UTC, as the specification has no other zone.
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    }
}

impl From<String> for Timestamp {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Timestamp {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_styles_name_the_same_moment() {
        // GEN-22, GEN-24
        let forms = [
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
        for form in forms {
            assert_eq!(Timestamp::from(form).unix_seconds(), Some(1_795_236_360), "{form}");
        }
    }

    #[test]
    fn a_text_that_names_no_moment_is_kept() {
        for form in ["", "soon", "10000-01-01 00:00:00+00", "2026-13-01T00:00:00Z"] {
            let time = Timestamp::from(form);
            assert_eq!(time.to_system_time(), None, "{form}");
            assert_eq!(time.as_str(), form);
        }
    }
}
