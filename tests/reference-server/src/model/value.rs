//! The values of contact properties and of template variables.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::size::{Size, no_heap};
use crate::wire::validation::{Fields, Problems};

/// The value of a contact property or of a template variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PropertyValue {
    Text(String),
    Number(serde_json::Number),
}

impl Size for PropertyValue {
    fn heap_size(&self) -> usize {
        match self {
            Self::Text(text) => text.heap_size(),
            Self::Number(_) => 0,
        }
    }
}

impl PropertyValue {
    /// The wire name of its type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Number(_) => "number",
        }
    }
}

impl fmt::Display for PropertyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The type of a value. The specification names `string` for properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ValueType {
    String,
    Number,
}

no_heap!(ValueType);

impl ValueType {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("string", Self::String), ("number", Self::Number)];

    pub(crate) fn fits(self, value: &PropertyValue) -> bool {
        self.name() == value.kind()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
        }
    }

    /// Reads `fallback_value`, which must be of this type. `what` is what has the type: `property`.
    pub(crate) fn take_fallback(
        self,
        fields: &mut Fields<'_>,
        what: &str,
        problems: &mut Problems,
    ) -> Option<PropertyValue> {
        let value = match fields.take_value("fallback_value")? {
            Value::String(text) => Some(PropertyValue::Text(text)),
            Value::Number(number) => Some(PropertyValue::Number(number)),
            _ => None,
        };
        let fits = value.filter(|value| self.fits(value));
        if fits.is_none() {
            problems.wrong(|| {
                format!("`{}` must be of the {what}'s type, {}.", fields.name("fallback_value"), self.name())
            });
        }
        fits
    }
}
