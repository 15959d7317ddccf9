//! Connections: which step follows which, and when.

use serde::{Deserialize, Serialize};

use crate::types::lenient::null_default;

open_enum! {
    /// When a connection is taken.
    ConnectionType {
        /// When the step is done.
        Default = "default",
        /// When the condition holds.
        ConditionMet = "condition_met",
        /// When the condition does not hold.
        ConditionNotMet = "condition_not_met",
        /// When the event did not come in time.
        Timeout = "timeout",
        /// When the event came.
        EventReceived = "event_received",
    }
}

/// One step follows another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Connection {
    /// The key of the step that is left.
    pub from: String,
    /// The key of the step that comes next.
    pub to: String,
    /// When it is taken.
    #[serde(rename = "type", default, deserialize_with = "null_default")]
    pub kind: ConnectionType,
}

strict!(Connection);

#[expect(clippy::derivable_impls, reason = "the macro that defines the type derives no default")]
impl Default for ConnectionType {
    fn default() -> Self {
        Self::Default
    }
}

impl Connection {
    /// `to` follows `from` when that is done.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), kind: ConnectionType::Default }
    }

    /// The same, taken at another time. Only a condition and a wait for an event know other times than the default.
    #[must_use]
    pub fn kind(mut self, kind: ConnectionType) -> Self {
        self.kind = kind;
        self
    }

    /// `to` follows the condition `from` when it holds.
    pub fn if_met(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::ConditionMet)
    }

    /// `to` follows the condition `from` when it does not hold.
    pub fn if_not_met(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::ConditionNotMet)
    }

    /// `to` follows the wait `from` when the event has come.
    pub fn on_event(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::EventReceived)
    }

    /// `to` follows the wait `from` when the event has not come in time.
    pub fn on_timeout(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_connection_without_a_type_or_with_one_of_tomorrow_is_read() {
        let read = |wire| serde_json::from_value::<Connection>(wire).unwrap();
        assert_eq!(read(json!({"from": "a", "to": "b"})), Connection::new("a", "b"));
        assert_eq!(read(json!({"from": "a", "to": "b", "type": null})), Connection::new("a", "b"));
        let tomorrow = json!({"from": "a", "to": "b", "type": "on_error"});
        assert_eq!(serde_json::to_value(read(tomorrow.clone())).unwrap(), tomorrow);
    }
}
