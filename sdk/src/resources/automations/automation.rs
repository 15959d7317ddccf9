//! Automations as they are sent and received.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Connection, Step, definition};
use crate::{
    client::Item,
    problem::{Problem, Problems},
    types::{AutomationId, Patch, Timestamp},
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

/// An automation to be made: `POST /automations`.
///
/// ```
/// use posthaste::{AutomationStatus, Connection, NewAutomation, Rule, Step};
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
/// # Ok::<(), posthaste::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewAutomation {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<AutomationStatus>,
    steps: Vec<Step>,
    connections: Vec<Connection>,
}

impl NewAutomation {
    /// An automation without steps, of at least one character's name. It needs one trigger at least.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), status: None, steps: Vec::new(), connections: Vec::new() }
    }

    /// Whether it starts runs; [`AutomationStatus::Disabled`] without it.
    #[must_use]
    pub fn status(mut self, status: AutomationStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds a step; 1 to 150 in all.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds steps.
    #[must_use]
    pub fn steps(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }

    /// Adds a connection.
    #[must_use]
    pub fn connection(mut self, connection: Connection) -> Self {
        self.connections.push(connection);
        self
    }

    /// Adds connections.
    #[must_use]
    pub fn connections(mut self, connections: impl IntoIterator<Item = Connection>) -> Self {
        self.connections.extend(connections);
        self
    }

    /// Everything that is wrong with it, as JSON pointers into the body (`/steps/3/config/duration`, `/connections/0/to`).
    ///
    /// The specification is silent on what a definition may look like: every key names one step, connections name steps that exist,
    /// one step at least is a trigger and nothing leads to it, no connection leads back to a step on the way to it, a step has one
    /// connection of each type, and the types that depend on an outcome belong to conditions and waits.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        serde_json::to_value(self).map_or_else(unwritable, |json| definition::new_automation(&json))
    }

    /// Reads one from JSON, such as a file, with every problem of shape and rule at its place.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn from_json(json: &Value) -> Result<Self, Problems> {
        Problems::check(definition::new_automation(json))?;
        Self::deserialize(json).map_err(|error| Problem::new("", "type", error.to_string()).into())
    }
}

fn unwritable(error: serde_json::Error) -> Vec<Problem> {
    vec![Problem::new("", "type", "it can't be written as JSON").found(error)]
}

/// A change of an automation: `PATCH /automations/{id}`. What is not named stays as it is, and something must be named.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AutomationPatch {
    #[serde(skip_serializing_if = "Patch::is_keep")]
    name: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    status: Patch<AutomationStatus>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    steps: Patch<Vec<Step>>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    connections: Patch<Vec<Connection>>,
}

impl AutomationPatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name, of at least one character.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Patch::Set(name.into());
        self
    }

    /// Whether it starts runs. Runs on their way go on; [`Automations::stop`](super::Automations::stop) ends them too.
    #[must_use]
    pub fn status(mut self, status: AutomationStatus) -> Self {
        self.status = Patch::Set(status);
        self
    }

    /// Steps and connections, which the service takes together only. Runs on their way go on by the old ones.
    #[must_use]
    pub fn definition(
        mut self,
        steps: impl IntoIterator<Item = Step>,
        connections: impl IntoIterator<Item = Connection>,
    ) -> Self {
        self.steps = Patch::Set(steps.into_iter().collect());
        self.connections = Patch::Set(connections.into_iter().collect());
        self
    }

    /// Everything that is wrong with it: it changes nothing, or what [`NewAutomation::check`] says of a definition.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        serde_json::to_value(self).map_or_else(unwritable, |json| definition::patch(&json))
    }

    /// Reads one from JSON, such as a file, with every problem of shape and rule at its place.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn from_json(json: &Value) -> Result<Self, Problems> {
        #[derive(Deserialize)]
        struct Wire {
            name: Option<String>,
            status: Option<AutomationStatus>,
            steps: Option<Vec<Step>>,
            connections: Option<Vec<Connection>>,
        }
        fn set<T>(value: Option<T>) -> Patch<T> {
            value.map_or(Patch::Keep, Patch::Set)
        }
        Problems::check(definition::patch(json))?;
        let wire = Wire::deserialize(json).map_err(|error| Problem::new("", "type", error.to_string()))?;
        Ok(Self {
            name: set(wire.name),
            status: set(wire.status),
            steps: set(wire.steps),
            connections: set(wire.connections),
        })
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
    #[serde(default, deserialize_with = "or_empty")]
    pub steps: Vec<Step>,
    /// Which step follows which.
    #[serde(default, deserialize_with = "or_empty")]
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

pub(super) fn or_empty<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read_from_a_file_is_what_is_sent() {
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

    #[test]
    fn an_update_holds_only_what_changes() {
        let patch = AutomationPatch::new().status(AutomationStatus::Disabled);
        assert_eq!(serde_json::to_value(&patch).unwrap(), json!({"status": "disabled"}));
        assert_eq!(AutomationPatch::from_json(&json!({"status": "disabled"})).unwrap(), patch);
        let patch = AutomationPatch::new().definition([Step::trigger("a", "e")], []);
        assert!(patch.check().is_ok());
        assert_eq!(serde_json::to_value(&patch).unwrap()["connections"], json!([]));
        assert_eq!(AutomationPatch::new().check().unwrap_err()[0].code, "required");
    }

    #[test]
    fn an_automation_of_tomorrow_is_read() {
        let read: Automation =
            serde_json::from_value(json!({"id": "a", "status": "paused", "steps": null, "owner": 1}))
                .unwrap();
        assert_eq!(read.summary.status.unwrap().as_str(), "paused");
        assert!(read.steps.is_empty() && read.connections.is_empty());
    }
}
