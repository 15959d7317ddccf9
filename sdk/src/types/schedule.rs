//! The time at which to send an email or a broadcast.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// The time at which to send: a point in time, or text such as `in 1 hour` or `friday at 9am`, which the service interprets.
///
/// A [`Timestamp`] or a [`SystemTime`] is sent in RFC 3339 format. Text is sent unchanged.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use idempost::ScheduledAt;
///
/// let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_236_360);
/// assert_eq!(ScheduledAt::from(moment).as_str(), "2026-11-21T04:46:00Z");
/// assert_eq!(ScheduledAt::from("in 1 hour").as_str(), "in 1 hour");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScheduledAt(String);

impl ScheduledAt {
    /// Returns the text on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

from_text!(ScheduledAt);

conversions! {
    ScheduledAt {
        &Timestamp: time => Self(time.to_rfc3339().unwrap_or_else(|| time.as_str().to_owned())),
        Timestamp: time => Self::from(&time),
        /// A time after the year 9999 can't be represented on the wire: it becomes empty, which validation rejects.
        SystemTime: time => Self(jiff::Timestamp::try_from(time).map(|time| time.to_string()).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_of_either_style_is_sent_as_rfc_3339() {
        for text in ["2026-11-21 04:46:00+00", "2026-11-21T05:46:00+01:00", "2026-11-21T04:46:00Z"] {
            assert_eq!(ScheduledAt::from(Timestamp::from(text)).as_str(), "2026-11-21T04:46:00Z");
        }
        assert_eq!(ScheduledAt::from(Timestamp::from("soon")).as_str(), "soon");
    }
}
