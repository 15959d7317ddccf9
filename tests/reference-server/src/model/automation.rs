//! Automations: their triggers and steps.

pub mod definition;
pub mod duration;
pub mod rule;
pub mod run;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::definition::{ConnectionView, Definition, StepView};
use crate::store::table;
use crate::wire::{enabled_or_disabled, to_database_format, view};

/// An automation.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Automation {
    pub id: Uuid,
    pub name: String,
    pub enabled: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Shared with its runs, which continue with it when the automation changes.
    pub definition: Arc<Definition>,
}

/// The groups of automations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Group {
    /// The enabled or the disabled automations.
    Enabled(bool),
    /// The enabled automations that an event of this name triggers.
    Trigger(String),
}

impl table::Record for Automation {
    const NOUN: &'static str = "an automation";
    const PLURAL: &'static str = "automations";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        let triggers = self.definition.triggers().filter(|_| self.enabled);
        std::iter::once(Group::Enabled(self.enabled))
            .chain(triggers.map(|name| Group::Trigger(name.to_owned())))
            .collect()
    }
}

view! {
    /// `docs/specification.md`, Automation (list item).
    pub Item of automation: Automation {
        id: automation.id,
        name: automation.name,
        status: enabled_or_disabled(automation.enabled),
        created_at: to_database_format(automation.created_at),
        updated_at: to_database_format(automation.updated_at),
    }
}

view! {
    pub Detail of automation: Automation {
        object: "automation",
        ..Item,
        steps: automation.definition.steps.iter().map(StepView).collect::<Vec<_>>(),
        connections: automation.definition.connections.iter().map(ConnectionView).collect::<Vec<_>>(),
    }
}
