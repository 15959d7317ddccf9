//! Whether the queue server syncs each record to disk before it acknowledges it.

use std::{fmt, time::Duration};

/// Whether the server syncs each record to disk before it acknowledges it (`sync_interval: always`).
///
/// By default, NATS acknowledges first and syncs every two minutes, so a power failure can lose acknowledged records. The queue's entries are
/// restored from the plan and the coordinator's journal; what can be lost are intents that the coordinator hasn't read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Each record is synced before it is acknowledged.
    Always,
    /// Records are synced at this interval.
    Interval(Duration),
    /// The interval can't be verified.
    Unverified {
        /// The reason.
        reason: String,
    },
}

impl Durability {
    /// Returns whether each record is verifiably synced before it is acknowledged.
    pub fn is_always(&self) -> bool {
        *self == Self::Always
    }

    /// Parses the server's `/varz` document.
    pub(crate) fn from_varz(document: &[u8]) -> Self {
        let unverified = |reason: &str| Self::Unverified { reason: reason.to_owned() };
        let Ok(document) = serde_json::from_slice::<serde_json::Value>(document) else {
            return unverified("the monitoring address didn't return the server's settings");
        };
        let config = &document["jetstream"]["config"];
        if config["sync_always"].as_bool() == Some(true) {
            return Self::Always;
        }
        match config["sync_interval"].as_u64() {
            Some(nanoseconds) => Self::Interval(Duration::from_nanos(nanoseconds)),
            None => unverified("the server doesn't report its `sync_interval`"),
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ADVICE: &str = "set `sync_interval: always` in the `jetstream` section of its configuration";
        match self {
            Self::Always => formatter.write_str("the queue server syncs each record to disk"),
            Self::Interval(interval) => write!(
                formatter,
                "the queue server syncs to disk only every {} s, so a power failure can lose acknowledged records; {ADVICE}",
                interval.as_secs(),
            ),
            Self::Unverified { reason } => write!(
                formatter,
                "can't verify that the queue server syncs each record to disk: {reason}; {ADVICE}",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varz_tells_whether_records_are_synced() {
        let always = br#"{"jetstream":{"config":{"sync_interval":120000000000,"sync_always":true}}}"#;
        assert_eq!(Durability::from_varz(always), Durability::Always);
        let default = br#"{"jetstream":{"config":{"sync_interval":120000000000}}}"#;
        assert_eq!(Durability::from_varz(default), Durability::Interval(Duration::from_mins(2)));
        for unclear in [&b"{}"[..], b"<html>", br#"{"jetstream":{"config":{}}}"#] {
            assert!(matches!(Durability::from_varz(unclear), Durability::Unverified { .. }));
        }
    }
}
