//! Values of a template's variables.

use serde::{Serialize, Serializer};

/// The value of a template variable: a string of at most 2,000 characters, or a number of at most 2^53 − 1.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableValue(Value);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Whole(i128),
    Real(f64),
}

impl VariableValue {
    pub(super) fn value(&self) -> &Value {
        &self.0
    }
}

impl From<&str> for VariableValue {
    fn from(text: &str) -> Self {
        Self(Value::Text(text.to_owned()))
    }
}

impl From<String> for VariableValue {
    fn from(text: String) -> Self {
        Self(Value::Text(text))
    }
}

impl From<&String> for VariableValue {
    fn from(text: &String) -> Self {
        Self(Value::Text(text.clone()))
    }
}

impl From<f64> for VariableValue {
    fn from(number: f64) -> Self {
        Self(Value::Real(number))
    }
}

/// Converts to the number with the same digits: `1.1`, not `1.100000023841858`.
impl From<f32> for VariableValue {
    fn from(number: f32) -> Self {
        Self(Value::Real(number.to_string().parse().unwrap_or(f64::from(number))))
    }
}

macro_rules! whole_numbers {
    ($($number:ty),+) => {
        $(impl From<$number> for VariableValue {
            fn from(number: $number) -> Self {
                Self(Value::Whole(i128::try_from(number).unwrap_or(i128::MAX)))
            }
        })+
    };
}

whole_numbers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl Serialize for VariableValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Text(text) => serializer.serialize_str(text),
            Value::Real(number) => serializer.serialize_f64(*number),
            Value::Whole(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => serializer.serialize_i64(number),
                (_, Ok(number)) => serializer.serialize_u64(number),
                _ => serializer.serialize_none(),
            },
        }
    }
}
