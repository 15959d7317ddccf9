//! The input for updating an automation.

use serde::Deserialize as _;
use serde_json::Value;

use super::{connection::Connection, definition, record::AutomationStatus, step::Step};
use crate::{
    problem::{Problem, Problems, Validator},
    types::Patch,
};

patch! {
    /// Changes to an automation: [`Automations::update`](super::Automations::update). Fields that aren't set are left unchanged; at least one must be
    /// set.
    #[derive(serde::Deserialize)]
    #[serde(default)]
    pub struct AutomationPatch {
        /// Sets the name, which must not be empty.
        name: String,
        /// Sets whether events start runs. Current runs continue; [`Automations::stop`](super::Automations::stop) cancels them as well.
        status: AutomationStatus,
    } other {
        #[serde(skip_serializing_if = "Patch::is_keep")]
        steps: Patch<Vec<Step>>,
        #[serde(skip_serializing_if = "Patch::is_keep")]
        connections: Patch<Vec<Connection>>,
    }
}

impl AutomationPatch {
    /// Replaces steps and connections, which the service accepts only together. Current runs continue with the previous ones.
    pub fn definition(
        mut self,
        steps: impl IntoIterator<Item = Step>,
        connections: impl IntoIterator<Item = Connection>,
    ) -> Self {
        self.steps = Patch::Set(steps.into_iter().collect());
        self.connections = Patch::Set(connections.into_iter().collect());
        self
    }

    /// Parses a patch from JSON, such as a file. `null` counts as absent.
    ///
    /// # Errors
    /// All format and rule problems, each with its JSON pointer.
    pub fn from_json(json: &Value) -> Result<Self, Problems> {
        Validator::run(|v| definition::check_patch(v, json))?;
        Self::deserialize(json).map_err(|error| Problem::new("", "type", error.to_string()).into())
    }

    fn validate(&self, v: &mut Validator) {
        definition::validate_built(v, self, definition::check_patch);
    }
}

validate!(AutomationPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_update_has_only_the_fields_that_were_set() {
        let patch = AutomationPatch::new().status(AutomationStatus::Disabled);
        assert_eq!(serde_json::to_value(&patch).unwrap(), json!({"status": "disabled"}));
        assert_eq!(AutomationPatch::from_json(&json!({"status": "disabled"})).unwrap(), patch);
        let patch = AutomationPatch::new().definition([Step::trigger("a", "e")], []);
        assert!(patch.check().is_ok());
        assert_eq!(serde_json::to_value(&patch).unwrap()["connections"], json!([]));
        assert_eq!(AutomationPatch::new().check().unwrap_err()[0].code, "required");
    }
}
