//! Contact property values.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::Value;

use crate::types::{
    Scalar,
    lenient::{self, Lenient, Reading},
};

open_enum! {
    /// The type of a contact property. (The specification documents `string`.)
    PropertyType {
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
        /// A boolean. The service accepts such values on contacts, but no property has this type.
        Boolean = "boolean",
    }
}

/// The value of a contact property.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContactPropertyValue {
    /// The property's type; `None` if the service sends plain values.
    pub kind: Option<PropertyType>,
    /// The value.
    pub value: Scalar,
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
