//! Events as the service returns them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    client::Item,
    problem::Validator,
    types::{EventId, Timestamp},
};

open_enum! {
    /// What a field of an event's payload holds.
    PayloadType {
        /// A text.
        String = "string",
        /// A number.
        Number = "number",
        /// True or false.
        Boolean = "boolean",
        /// A date, or a date and time, in ISO 8601.
        Date = "date",
    }
}

/// A kind of event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The event's id.
    pub id: EventId,
    /// Its name, by which triggers and waits know it.
    #[serde(default)]
    pub name: Option<String>,
    /// What the fields of the payload hold; none if the payload may be anything.
    #[serde(default)]
    pub schema: Option<BTreeMap<String, PayloadType>>,
    /// When it was defined.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When its schema was last changed; none if it never was.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

impl Item for Event {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The answer to an event that was sent: its runs begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SentEvent {
    /// The event's name.
    #[serde(default)]
    pub event: Option<String>,
}

/// Checks the fields of a schema.
pub(super) fn validate_schema(v: &mut Validator, schema: Option<&BTreeMap<String, PayloadType>>) {
    v.field("schema", |v| {
        for (key, holds) in schema.into_iter().flatten() {
            v.field(key, |v| {
                if key.is_empty() {
                    v.report("empty", "a field of the payload has a name");
                }
                if let PayloadType::Unknown(word) = holds {
                    let rule = "a field of the payload is a string, number, boolean or date";
                    v.report_found("type", rule, word.as_str());
                }
            });
        }
    });
}
