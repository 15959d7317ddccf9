//! The values of contact properties and of template variables.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::{Checked, Field, described, words};

described! {
    /// The value of a contact property or of a template variable.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    pub enum PropertyValue {
        Text(String),
        Number(serde_json::Number),
        /// Only for contact properties; the specification doesn't mention booleans.
        Boolean(bool),
    }
}

impl PropertyValue {
    /// The wire name of its type.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Number(_) => "number",
            Self::Boolean(_) => "boolean",
        }
    }
}

impl fmt::Display for PropertyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Boolean(yes) => write!(f, "{yes}"),
        }
    }
}

words! {
    /// The type of a value. The specification names `string` for properties.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ValueType {
        String = "string",
        Number = "number",
    }
}

impl ValueType {
    pub fn matches(self, value: &PropertyValue) -> bool {
        self.as_str() == value.kind()
    }

    /// Parses the cell of a table.
    pub fn parse(self, text: &str) -> Option<PropertyValue> {
        match self {
            Self::String => Some(PropertyValue::Text(text.to_owned())),
            Self::Number => text.trim().parse().ok().map(PropertyValue::Number),
        }
    }

    /// Reads a value of this type. `what` is the noun in errors: `property`.
    pub fn read_fallback(self, field: &Field<'_>, what: &str) -> Checked<PropertyValue> {
        let value = match field.value() {
            Some(Value::String(text)) => Some(PropertyValue::Text(text)),
            Some(Value::Number(number)) => Some(PropertyValue::Number(number)),
            _ => None,
        };
        value.filter(|value| self.matches(value)).ok_or_else(|| {
            let (own, found) = (self.as_str(), field.kind());
            field.reject(format_args!("must be of the {what}'s type, {own}; found {found}"))
        })
    }
}
