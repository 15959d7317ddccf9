//! Values of contact properties.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::problem::Validator;

/// Characters of a property's key.
const KEY_CHARS: usize = 50;

/// What a contact holds under a property: a text or a number.
///
/// ```
/// use posthaste::PropertyValue;
///
/// assert_eq!(PropertyValue::from("Zürich").to_string(), "Zürich");
/// assert_eq!(PropertyValue::from(42).to_string(), "42");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PropertyValue {
    /// A text.
    Text(String),
    /// A number, as exact as the service wrote it.
    Number(serde_json::Number),
    /// Something that this version of the client has no name for. Nothing of that kind is sent.
    Other(serde_json::Value),
}

/// As a broadcast would show it: a text without quotes.
impl fmt::Display for PropertyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Other(other) => write!(f, "{other}"),
        }
    }
}

impl From<&str> for PropertyValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for PropertyValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<serde_json::Number> for PropertyValue {
    fn from(number: serde_json::Number) -> Self {
        Self::Number(number)
    }
}

/// Infinity and NaN have no form on the wire; the check refuses them.
impl From<f64> for PropertyValue {
    fn from(number: f64) -> Self {
        serde_json::Number::from_f64(number).map_or(Self::Other(serde_json::Value::Null), Self::Number)
    }
}

macro_rules! whole_numbers {
    ($($number:ty),+) => {
        $(impl From<$number> for PropertyValue {
            fn from(number: $number) -> Self {
                Self::Number(number.into())
            }
        })+
    };
}

whole_numbers!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Checks a property that is to be sent, at its place.
pub(super) fn check(v: &mut Validator, key: &str, value: Option<&PropertyValue>) {
    if key.is_empty() {
        v.report("empty", "a property's key must not be empty");
    } else if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        let rule = "a property's key has only ASCII letters, digits and underscores";
        v.report_found("charset", rule, key.escape_debug());
    } else if key.len() > KEY_CHARS {
        let rule = format!("a property's key has at most {KEY_CHARS} characters");
        v.report_found("length", rule, key.len());
    }
    if let Some(PropertyValue::Other(other)) = value {
        v.report_found("type", "a property is a text or a finite number", other);
    }
}
