//! Runs of automations, each for one contact.

use serde_json::Value;

use crate::types::{AutomationRunId, Timestamp};

open_enum! {
    /// The status of a run.
    RunStatus {
        /// In progress, or waiting for a time or an event.
        Running = "running",
        /// Completed.
        Completed = "completed",
        /// A step failed.
        Failed = "failed",
        /// Canceled before its end.
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// Returns whether the run has ended. `Unknown` counts as not ended.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

open_enum! {
    /// The status of a step of a run.
    StepStatus {
        /// Not reached yet.
        Pending = "pending",
        /// In progress.
        Running = "running",
        /// Completed.
        Completed = "completed",
        /// Failed.
        Failed = "failed",
        /// Skipped: the run took another path or ended earlier.
        Skipped = "skipped",
        /// Waiting for a time or an event.
        Waiting = "waiting",
    }
}

record! {
    /// A run in a list (`docs/specification.md`, Automation run).
    pub struct AutomationRunSummary {
        /// The run's ID.
        pub id: AutomationRunId,
        /// The run's status.
        pub status: Option<RunStatus>,
        /// When the first step started.
        pub started_at: Option<Timestamp>,
        /// When the run ended; `None` while it is running.
        pub completed_at: Option<Timestamp>,
        /// When the run was created.
        pub created_at: Option<Timestamp>,
    }

    /// A run with its steps. (The specification names the operation but doesn't define the fields.)
    pub struct AutomationRun: AutomationRunSummary {
        /// The steps with their results.
        pub steps: Vec<RunStep>,
    }
}

items!(AutomationRunSummary);

record! {
    /// A step of a run with its result.
    pub struct RunStep {
        /// The step's key in the automation.
        pub key: String,
        /// The step's type, such as `send_email`.
        pub kind as "type": Option<String>,
        /// The step's status.
        pub status: Option<StepStatus>,
        /// When the step started; `None` if it hasn't.
        pub started_at: Option<Timestamp>,
        /// When the step ended; `None` if it hasn't.
        pub completed_at: Option<Timestamp>,
        /// The step's output; its format depends on the type.
        pub output: Option<Value>,
        /// Why the step failed.
        pub error: Option<Value>,
        /// When the step was created.
        pub created_at: Option<Timestamp>,
    }
}
