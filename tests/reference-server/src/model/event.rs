//! Custom events, which trigger automations.

pub(crate) mod schema;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::schema::Schema;
use crate::store::size::heap_size;
use crate::store::table::{self, NoGroup};
use crate::wire::paging::quoted;
use crate::wire::problem::Problem;
use crate::wire::timestamp::database;
use crate::wire::view::view;

/// A prefix of the service's own events in the definitions of automations, which custom events can't have.
pub(crate) const RESERVED_PREFIX: &str = "resend:";

/// An event definition.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Event {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) schema: Option<Schema>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Option<Timestamp>,
}

heap_size!(Event { id, name, schema, created_at, updated_at });

impl table::Record for Event {
    const NOUN: &'static str = "an event";
    const PLURAL: &'static str = "events";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!("`name` must be new; there is an event {} already.", quoted(&self.name)))
    }
}

view! {
    pub(crate) Item of event: Event {
        id: event.id,
        name: event.name,
        schema: event.schema,
        created_at: database(event.created_at),
        updated_at: event.updated_at.map(database),
    }
}

view! {
    pub(crate) Detail of event: Event { object: "event", ..Item, }
}
