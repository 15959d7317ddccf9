//! Serialization of wall-clock times and durations in stored records.

/// A wall-clock time as RFC 3339 text.
pub(crate) mod instant {
    use std::time::SystemTime;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        let time = jiff::Timestamp::try_from(*time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        time.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<jiff::Timestamp>().map(SystemTime::from).map_err(D::Error::custom)
    }
}

/// A duration as whole seconds.
#[cfg(feature = "oauth")]
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_secs())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}
