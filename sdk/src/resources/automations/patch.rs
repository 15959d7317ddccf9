//! A change of an automation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{connection::Connection, definition, record::AutomationStatus, step::Step};
use crate::{
    problem::{Problem, Problems, Validator},
    types::Patch,
};

/// A change of an automation: [`Automations::update`](super::Automations::update). Fields that aren't set stay as they are, and at least
/// one must be set.
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
    /// Creates a patch that changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the name, of at least one character.
        name: String;
        /// Sets whether events start runs. Current runs continue; [`Automations::stop`](super::Automations::stop) cancels them too.
        status: AutomationStatus;
    }

    /// Replaces steps and connections, which the service takes only together. Current runs continue with the old ones.
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

    /// Reads a patch from JSON, such as a file.
    ///
    /// # Errors
    /// Every problem of shape and rule at its place.
    pub fn from_json(json: &Value) -> Result<Self, Problems> {
        #[derive(Deserialize)]
        struct Wire {
            name: Option<String>,
            status: Option<AutomationStatus>,
            steps: Option<Vec<Step>>,
            connections: Option<Vec<Connection>>,
        }
        Validator::run(|v| definition::patch(v, json))?;
        let wire = Wire::deserialize(json).map_err(|error| Problem::new("", "type", error.to_string()))?;
        Ok(Self {
            name: wire.name.map_or(Patch::Keep, Patch::Set),
            status: wire.status.map_or(Patch::Keep, Patch::Set),
            steps: wire.steps.map_or(Patch::Keep, Patch::Set),
            connections: wire.connections.map_or(Patch::Keep, Patch::Set),
        })
    }
    fn validate(&self, v: &mut Validator) {
        definition::written(v, self, definition::patch);
    }
}

validate!(AutomationPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
