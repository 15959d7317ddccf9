//! Values of contact properties.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::Value;

use crate::types::lenient::{self, Lenient, Reading};

open_enum! {
    /// The type of a contact property. (The specification documents `string`.)
    PropertyType {
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
        /// A boolean. The service reads such values on contacts, and no property has the type.
        Boolean = "boolean",
    }
}

/// The value of a contact property: a string, a number, or a boolean.
///
/// ```
/// use idempost::contacts::PropertyValue;
///
/// assert_eq!(PropertyValue::from("Zürich").to_string(), "Zürich");
/// assert_eq!(PropertyValue::from(42).to_string(), "42");
/// assert_eq!(PropertyValue::from(true).to_string(), "true");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PropertyValue {
    /// A string.
    Text(String),
    /// A number, with the precision in which the service wrote it.
    Number(serde_json::Number),
    /// A boolean. (The specification is silent on booleans; they are accepted in records and sent as given.)
    Boolean(bool),
    /// A value of another type. The client doesn't send it.
    Other(Value),
}

json_field!(PropertyValue);

/// Formats the value as a broadcast shows it: a string without quotes.
impl fmt::Display for PropertyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Boolean(on) => write!(f, "{on}"),
            Self::Other(other) => write!(f, "{other}"),
        }
    }
}

impl From<Value> for PropertyValue {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Number(number) => Self::Number(number),
            Value::Bool(on) => Self::Boolean(on),
            other => Self::Other(other),
        }
    }
}

impl From<&str> for PropertyValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Infinity and NaN have no representation on the wire; validation rejects them.
impl From<f64> for PropertyValue {
    fn from(number: f64) -> Self {
        serde_json::Number::from_f64(number).map_or(Self::Other(Value::Null), Self::Number)
    }
}

macro_rules! conversions {
    ($($variant:ident: $($from:ty),+;)+) => {
        $($(impl From<$from> for PropertyValue {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })+)+
    };
}

conversions! {
    Text: String;
    Boolean: bool;
    Number: serde_json::Number, i8, i16, i32, i64, u8, u16, u32, u64;
}

/// The value of a contact property, as a contact has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContactPropertyValue {
    /// The property's type; `None` if the service sends the plain value.
    pub kind: Option<PropertyType>,
    /// The value.
    pub value: PropertyValue,
    /// Whether the service sent `"key": value` instead of `"key": {"type": …, "value": …}`.
    plain: bool,
}

impl From<Value> for ContactPropertyValue {
    fn from(sent: Value) -> Self {
        match sent {
            Value::Object(mut fields) if fields.contains_key("value") => Self {
                kind: fields.get("type").filter(|kind| !kind.is_null()).map(|kind| match PropertyType::read(
                    kind,
                ) {
                    Reading::Exact(kind) | Reading::Converted(kind) => kind,
                    Reading::Unreadable => PropertyType::from(""),
                }),
                value: fields.remove("value").unwrap_or_default().into(),
                plain: false,
            },
            plain => Self { kind: None, value: plain.into(), plain: true },
        }
    }
}

impl Lenient for ContactPropertyValue {
    fn read(value: &Value) -> Reading<Self> {
        Reading::Exact(Self::from(value.clone()))
    }

    fn absent() -> Option<Self> {
        None
    }
}

impl<'de> Deserialize<'de> for ContactPropertyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient::value(deserializer)
    }
}

impl Serialize for ContactPropertyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.plain {
            return self.value.serialize(serializer);
        }
        let mut fields = serializer.serialize_struct("ContactPropertyValue", 2)?;
        fields.serialize_field("type", &self.kind)?;
        fields.serialize_field("value", &self.value)?;
        fields.end()
    }
}
