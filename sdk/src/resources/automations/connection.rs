//! Connections: the order of steps, and the conditions for each transition.

use serde::{Deserialize, Serialize};

use crate::types::lenient::null_default;

open_enum! {
    /// The condition under which a connection is taken.
    ConnectionType {
        /// The step has completed.
        Default = "default",
        /// The condition is met.
        ConditionMet = "condition_met",
        /// The condition is not met.
        ConditionNotMet = "condition_not_met",
        /// The wait has timed out.
        Timeout = "timeout",
        /// The event was received.
        EventReceived = "event_received",
    }
}

/// A connection from one step to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct Connection {
    /// The key of the source step.
    pub from: String,
    /// The key of the target step.
    pub to: String,
    /// The condition under which the connection is taken.
    #[serde(rename = "type", default, deserialize_with = "null_default")]
    pub kind: ConnectionType,
}

strict!(Connection);
json_field!(Connection);

#[expect(clippy::derivable_impls, reason = "the macro that defines the type derives no default")]
impl Default for ConnectionType {
    fn default() -> Self {
        Self::Default
    }
}

impl Connection {
    /// Connects `from` to `to`, taken when `from` has completed.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), kind: ConnectionType::Default }
    }

    setters! {
        /// Sets the type. Only connections from conditions and event waits have types other than the default.
        kind(ConnectionType);
    }

    /// Connects the condition `from` to `to`, taken if it is met.
    pub fn if_met(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::ConditionMet)
    }

    /// Connects the condition `from` to `to`, taken if it is not met.
    pub fn if_not_met(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::ConditionNotMet)
    }

    /// Connects the wait `from` to `to`, taken when the event is received.
    pub fn on_event(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::EventReceived)
    }

    /// Connects the wait `from` to `to`, taken when it times out.
    pub fn on_timeout(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::new(from, to).kind(ConnectionType::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_connection_with_a_missing_or_unknown_type_is_decoded() {
        let read = |wire| serde_json::from_value::<Connection>(wire).unwrap();
        assert_eq!(read(json!({"from": "a", "to": "b"})), Connection::new("a", "b"));
        assert_eq!(read(json!({"from": "a", "to": "b", "type": null})), Connection::new("a", "b"));
        let tomorrow = json!({"from": "a", "to": "b", "type": "on_error"});
        assert_eq!(serde_json::to_value(read(tomorrow.clone())).unwrap(), tomorrow);
    }
}
