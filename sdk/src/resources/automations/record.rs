//! Automations as the service returns them.

use serde::{Deserialize, Serialize};

use super::{connection::Connection, step::Step};
use crate::{
    client::Item,
    types::{AutomationId, Timestamp, null_default},
};

open_enum! {
    /// Whether an automation starts runs.
    AutomationStatus {
        /// Events start runs.
        Enabled = "enabled",
        /// Events start nothing.
        Disabled = "disabled",
    }
}

/// An automation as the list shows it (`SPEC.md`, Automation).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AutomationSummary {
    /// The automation's id.
    pub id: AutomationId,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether it starts runs.
    #[serde(default)]
    pub status: Option<AutomationStatus>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

impl Item for AutomationSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// An automation with its definition. (The specification is silent on the definition.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Automation {
    /// What the list shows of it.
    #[serde(flatten)]
    pub summary: AutomationSummary,
    /// What it does.
    #[serde(default, deserialize_with = "null_default")]
    pub steps: Vec<Step>,
    /// Which step follows which.
    #[serde(default, deserialize_with = "null_default")]
    pub connections: Vec<Connection>,
}

/// The answer to a stop: the automation, which starts nothing any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoppedAutomation {
    /// The automation's id.
    pub id: AutomationId,
    /// What it is now.
    #[serde(default)]
    pub status: Option<AutomationStatus>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_automation_of_tomorrow_is_read() {
        let read: Automation =
            serde_json::from_value(json!({"id": "a", "status": "paused", "steps": null, "owner": 1}))
                .unwrap();
        assert_eq!(read.summary.status.unwrap().as_str(), "paused");
        assert!(read.steps.is_empty() && read.connections.is_empty());
    }
}
