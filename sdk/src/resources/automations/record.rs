//! Automations as the service returns them.

use super::{connection::Connection, step::Step};
use crate::types::{AutomationId, Timestamp};

open_enum! {
    /// Whether an automation is enabled.
    AutomationStatus {
        /// Events start runs.
        Enabled = "enabled",
        /// Events start no runs.
        Disabled = "disabled",
    }
}

record! {
    /// An automation in a list (`docs/specification.md`, Automation).
    pub struct AutomationSummary {
        /// The automation's ID.
        pub id: AutomationId,
        /// The automation's name.
        pub name: Option<String>,
        /// Whether events start runs.
        pub status: Option<AutomationStatus>,
        /// When the automation was created.
        pub created_at: Option<Timestamp>,
        /// When the automation was last updated.
        pub updated_at: Option<Timestamp>,
    }

    /// An automation with its definition. (The specification doesn't define the definition.)
    pub struct Automation: AutomationSummary {
        /// The steps.
        pub steps: Vec<Step>,
        /// The connections between the steps.
        pub connections: Vec<Connection>,
    }
}

items!(AutomationSummary);

record! {
    /// The response to [`Automations::stop`](super::Automations::stop).
    #[derive(PartialEq, Eq)]
    pub struct StoppedAutomation {
        /// The automation's ID.
        pub id: AutomationId,
        /// The automation's status.
        pub status: Option<AutomationStatus>,
    }
}
