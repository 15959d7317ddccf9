//! Custom events, which trigger automations.

pub mod schema;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::schema::Schema;
use crate::store::table::{self, NoGroup};
use crate::wire::{Problem, quote, to_database_format, view};

/// A prefix for the service's own events in automation definitions, which custom events can't use.
pub const RESERVED_PREFIX: &str = "resend:";

/// An event definition.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Event {
    pub id: Uuid,
    pub name: String,
    pub schema: Option<Schema>,
    pub created_at: Timestamp,
    pub updated_at: Option<Timestamp>,
}

impl table::Record for Event {
    const NOUN: &'static str = "an event";
    const PLURAL: &'static str = "events";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!("`name` must be new; there is an event {} already.", quote(&self.name)))
    }
}

view! {
    pub Item of event: Event {
        id: event.id,
        name: event.name,
        schema: event.schema,
        created_at: to_database_format(event.created_at),
        updated_at: event.updated_at.map(to_database_format),
    }
}

view! {
    pub Detail of event: Event { object: "event", ..Item, }
}
