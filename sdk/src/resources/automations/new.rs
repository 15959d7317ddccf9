//! The input for creating an automation.

use serde::Deserialize as _;
use serde_json::Value;

use super::{connection::Connection, definition, record::AutomationStatus, step::Step};
use crate::problem::{Problem, Problems, Validator};

input! {
    /// An automation to create with [`Automations::create`](super::Automations::create).
    ///
    /// ```
    /// use idempost::automations::{AutomationStatus, Connection, NewAutomation, Rule, Step};
    ///
    /// let series = NewAutomation::new("Welcome series")
    ///     .status(AutomationStatus::Enabled)
    ///     .step(Step::trigger("signed_up", "user.created"))
    ///     .step(Step::send_email("welcome", "welcome-mail"))
    ///     .step(Step::delay("a_day", "1 day"))
    ///     .step(Step::condition("is_pro", Rule::equals("event.plan", "pro")))
    ///     .step(Step::send_email("tour", "pro-tour"))
    ///     .connection(Connection::new("signed_up", "welcome"))
    ///     .connection(Connection::new("welcome", "a_day"))
    ///     .connection(Connection::new("a_day", "is_pro"))
    ///     .connection(Connection::if_met("is_pro", "tour"));
    /// series.check()?;
    /// # Ok::<(), idempost::problem::Problems>(())
    /// ```
    #[derive(serde::Deserialize)]
    pub struct NewAutomation {
        /// Creates an automation without steps. The name must not be empty, and at least one step must be a trigger.
        new(name: String);
        optional {
            /// Sets whether events start runs; [`AutomationStatus::Disabled`] by default.
            status: AutomationStatus,
        }
        other { steps: Vec<Step>, connections: Vec<Connection>, }
    }
}

impl NewAutomation {
    setters! {
        /// Adds a step; an automation has 1 to 150.
        step += Step => steps;
        /// Adds a connection.
        connection += Connection => connections;
    }

    /// Adds steps.
    pub fn steps(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Adds connections.
    pub fn connections(mut self, connections: impl IntoIterator<Item = Connection>) -> Self {
        self.connections.extend(connections);
        self
    }

    /// Parses an automation from JSON, such as a file.
    ///
    /// # Errors
    /// All format and rule problems, each with its JSON pointer.
    pub fn from_json(json: &Value) -> Result<Self, Problems> {
        Validator::run(|v| definition::new_automation(v, json))?;
        Self::deserialize(json).map_err(|error| Problem::new("", "type", error.to_string()).into())
    }

    fn validate(&self, v: &mut Validator) {
        definition::validate_built(v, self, definition::new_automation);
    }
}

validate! {
    /// Locations are JSON pointers into the body (`/steps/3/config/duration`, `/connections/0/to`). The specification doesn't define valid
    /// definitions. Here, keys must be unique, connections must refer to existing steps, at least one step must be a trigger, no connection may lead
    /// to a trigger or close a cycle, a step has at most one connection of each type, and types that depend on an outcome require conditions or
    /// waits.
    ///
    NewAutomation
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_automation_from_json_is_sent_unchanged() {
        let json = json!({"name": "x", "status": "enabled", "steps": [
            {"key": "a", "type": "trigger", "config": {"event_name": "e"}},
        ], "connections": []});
        let read = NewAutomation::from_json(&json).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), json);
        let wrong = json!({"name": "", "steps": [], "connections": [{}]});
        let paths: Vec<_> = NewAutomation::from_json(&wrong)
            .unwrap_err()
            .iter()
            .map(|problem| problem.path.clone())
            .collect();
        assert_eq!(paths, ["/name", "/steps", "/connections/0/from", "/connections/0/to"]);
    }
}
