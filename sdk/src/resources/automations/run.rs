//! Runs: what an automation did for one contact, step by step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    client::Item,
    types::{AutomationRunId, Timestamp, null_default},
};

open_enum! {
    /// How far a run is.
    RunStatus {
        /// On its way; it may be waiting.
        Running = "running",
        /// Done.
        Completed = "completed",
        /// A step could not be done.
        Failed = "failed",
        /// Stopped on its way.
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// Whether it has ended, well or badly. A status of tomorrow has not.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

open_enum! {
    /// How far one step of a run is.
    StepStatus {
        /// The run has not come to it.
        Pending = "pending",
        /// It is being done.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It could not be done.
        Failed = "failed",
        /// The run went another way, or ended before it.
        Skipped = "skipped",
        /// It waits, for a time or an event.
        Waiting = "waiting",
    }
}

/// A run as the list shows it (`SPEC.md`, Automation run).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AutomationRunSummary {
    /// The run's id.
    pub id: AutomationRunId,
    /// How far it is.
    #[serde(default)]
    pub status: Option<RunStatus>,
    /// When its first step began.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// When it ended; none while it is running.
    #[serde(default)]
    pub completed_at: Option<Timestamp>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

impl Item for AutomationRunSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A run with its steps. (The specification names the operation and is silent on the fields.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AutomationRun {
    /// What the list shows of it.
    #[serde(flatten)]
    pub summary: AutomationRunSummary,
    /// What became of every step.
    #[serde(default, deserialize_with = "null_default")]
    pub steps: Vec<RunStep>,
}

/// What became of one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunStep {
    /// The step's name within the automation.
    pub key: String,
    /// The step's type: `send_email`.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// How far it is.
    #[serde(default)]
    pub status: Option<StepStatus>,
    /// When it began; none before.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// When it ended; none before.
    #[serde(default)]
    pub completed_at: Option<Timestamp>,
    /// What came of it; its shape depends on the step.
    #[serde(default)]
    pub output: Option<Value>,
    /// Why it could not be done.
    #[serde(default)]
    pub error: Option<Value>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}
