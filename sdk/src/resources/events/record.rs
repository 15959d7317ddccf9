//! Custom events as the service returns them.

use std::collections::BTreeMap;

use crate::{
    problem::Validator,
    types::{EventId, Timestamp},
};

open_enum! {
    /// The type of a payload field.
    PayloadType {
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
        /// A boolean.
        Boolean = "boolean",
        /// A date, or a date and time, in ISO 8601 format.
        Date = "date",
    }
}

record! {
    /// A custom event.
    pub struct Event {
        /// The event's ID.
        pub id: EventId,
        /// The event's name, to which triggers and waits in automations refer.
        pub name: Option<String>,
        /// The types of the payload fields; `None` if the payload is unrestricted.
        pub schema: Option<BTreeMap<String, PayloadType>>,
        /// When the event was created.
        pub created_at: Option<Timestamp>,
        /// When the schema was last updated; `None` if never.
        pub updated_at: Option<Timestamp>,
    }
}

items!(Event);

record! {
    /// The response to sending an event, which starts automation runs.
    #[derive(PartialEq, Eq)]
    pub struct SentEvent {
        /// The event's name.
        pub event: Option<String>,
    }
}

/// Validates the fields of a schema.
pub(super) fn validate_schema(v: &mut Validator, schema: Option<&BTreeMap<String, PayloadType>>) {
    v.field("schema", |v| {
        for (key, holds) in schema.into_iter().flatten() {
            v.field(key, |v| {
                if key.is_empty() {
                    v.report("empty", "a payload field name must not be empty");
                }
                v.check_one_of("a payload field type", PayloadType::KNOWN, holds.as_str());
            });
        }
    });
}
