//! Strings, numbers and booleans: the values of template variables and of contact properties.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// A string, a number or a boolean: the value of a template variable, a contact property, or a field in an automation step.
///
/// A template variable is a string of at most 2,000 characters, or a number of at most 2^53 − 1.
///
/// ```
/// use idempost::types::Scalar;
///
/// assert_eq!(Scalar::from("Zürich").to_string(), "Zürich");
/// assert_eq!(Scalar::from(42).to_string(), "42");
/// assert_eq!(Scalar::from(true).to_string(), "true");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Scalar {
    /// A string.
    Text(String),
    /// A number, with the precision that the service sent.
    Number(Number),
    /// A boolean. (The specification doesn't mention booleans; they are accepted in records, and sent in properties.)
    Boolean(bool),
    /// A value of another type. The client never sends it.
    Other(Value),
}

json_field!(Scalar);

/// Formats the value as in a broadcast: a string without quotes.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Boolean(on) => write!(f, "{on}"),
            Self::Other(other) => write!(f, "{other}"),
        }
    }
}

impl From<Value> for Scalar {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Number(number) => Self::Number(number),
            Value::Bool(on) => Self::Boolean(on),
            other => Self::Other(other),
        }
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Text(text) => Self::String(text),
            Scalar::Number(number) => Self::Number(number),
            Scalar::Boolean(on) => Self::Bool(on),
            Scalar::Other(other) => other,
        }
    }
}

conversions! {
    Scalar {
        /// Infinity and NaN can't be represented on the wire; validation rejects them.
        f64: number => Number::from_f64(number).map_or(Self::Other(Value::Null), Self::Number),
        /// Converts to the number with the same digits: `1.1`, not `1.100000023841858`.
        f32: number => Self::from(number.to_string().parse().unwrap_or(f64::from(number))),
    }
}

macro_rules! variants {
    ($($variant:ident: $($from:ty),+;)+) => {
        $(conversions! { Scalar { $($from: value => Self::$variant(value.into()),)+ } })+
    };
}

variants! {
    Text: String, &str, &String;
    Boolean: bool;
    Number: Number, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize;
}
