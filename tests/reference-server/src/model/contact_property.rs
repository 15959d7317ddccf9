//! Contact properties: custom fields of contacts, for use in broadcasts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::contact::PropertyValue;
use crate::store::size::{heap_size, no_heap};
use crate::store::table::{self, NoGroup};
use crate::wire::paging::quoted;
use crate::wire::problem::Problem;
use crate::wire::timestamp::database;
use crate::wire::view::view;

/// A custom field of contacts. Its key and type never change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ContactProperty {
    pub(crate) id: Uuid,
    pub(crate) key: String,
    pub(crate) r#type: Type,
    pub(crate) fallback_value: Option<PropertyValue>,
    pub(crate) created_at: Timestamp,
}

heap_size!(ContactProperty { id, key, r#type, fallback_value, created_at });
no_heap!(Type);

impl table::Record for ContactProperty {
    const PLURAL: &'static str = "contact properties";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }

    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!(
            "`key` must be a new one; there is a property {} already.",
            quoted(&self.key)
        ))
    }
}

/// The type of a property. The specification names `string`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Type {
    String,
    Number,
}

impl Type {
    pub(crate) fn fits(self, value: &PropertyValue) -> bool {
        matches!(
            (self, value),
            (Self::String, PropertyValue::Text(_)) | (Self::Number, PropertyValue::Number(_))
        )
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
        }
    }
}

view! {
    /// `SPEC.md`, Contact property (list item).
    pub(crate) Item of property: ContactProperty {
        id: property.id,
        key: property.key,
        type: property.r#type,
        fallback_value: property.fallback_value,
        created_at: database(property.created_at),
    }
}

view! {
    pub(crate) Whole of property: ContactProperty { object: "contact_property", ..Item, }
}
