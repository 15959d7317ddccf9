//! Contact properties: custom fields of contacts, for use in broadcasts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::value::{PropertyValue, ValueType};
use crate::store::table::{self, NoGroup};
use crate::wire::{Problem, quote, to_database_format, view};

/// A custom field of contacts. Its key and type never change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ContactProperty {
    pub id: Uuid,
    pub key: String,
    pub r#type: ValueType,
    pub fallback_value: Option<PropertyValue>,
    pub created_at: Timestamp,
}

impl table::Record for ContactProperty {
    const NOUN: &'static str = "a contact property";
    const PLURAL: &'static str = "contact properties";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }

    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!(
            "`key` must be a new one; there is a property {} already.",
            quote(&self.key)
        ))
    }
}

view! {
    /// `docs/specification.md`, Contact property (list item).
    pub Item of property: ContactProperty {
        id: property.id,
        key: property.key,
        type: property.r#type,
        fallback_value: property.fallback_value,
        created_at: to_database_format(property.created_at),
    }
}

view! {
    pub Detail of property: ContactProperty { object: "contact_property", ..Item, }
}
