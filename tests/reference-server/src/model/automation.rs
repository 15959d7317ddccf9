//! Automations: their triggers and steps.

pub mod definition;
pub mod duration;
pub mod rule;
pub mod run;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::definition::Definition;
use crate::store::size::{Size, heap_size};
use crate::store::table;
use crate::wire::switch::switch;
use crate::wire::timestamp::database;
use crate::wire::view::view;

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

heap_size!(Automation { id, name, enabled, created_at, updated_at, definition });

/// The groups of automations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The enabled or the disabled automations.
    Enabled(bool),
    /// The enabled automations that an event of this name triggers.
    Trigger(String),
}

impl Size for Group {
    fn heap_size(&self) -> usize {
        match self {
            Self::Enabled(_) => 0,
            Self::Trigger(name) => name.heap_size(),
        }
    }
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
        status: switch(automation.enabled),
        created_at: database(automation.created_at),
        updated_at: database(automation.updated_at),
    }
}
