//! The types of the fields of an event's payload.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::wire::{Checked, Field, Report, kind, words};

/// Fields with their types, in the given order.
#[derive(Clone, Debug)]
pub struct Schema(Vec<(String, Type)>);

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Type {
        String = "string",
        Number = "number",
        Boolean = "boolean",
        Date = "date",
    }
}

impl Schema {
    /// Reads an object of field names and types.
    pub fn read(schema: &Field<'_>) -> Checked<Self> {
        let fields = schema.object(|fields| {
            fields.each(|key, field| {
                let named = if key.is_empty() {
                    Err(schema.reject("must not have a field without a name"))
                } else {
                    Ok(key.to_owned())
                };
                let holds = field.one_of(Type::WORDS)?;
                Ok((named?, holds))
            })
        });
        fields.map(Self)
    }

    /// Reports the fields of a payload whose type doesn't match. Fields may be missing or null, and other fields are allowed.
    pub fn check(&self, payload: &Map<String, Value>, report: &Report<'_>) {
        for (key, holds) in &self.0 {
            let Some(value) = payload.get(key).filter(|value| !value.is_null()) else { continue };
            if !holds.matches(value) {
                let (found, words) = (value.to_string(), holds.describe());
                report.report(format_args!("`payload.{key}` must be {words}; found {}.", kind(&found)));
            }
        }
    }
}

impl Type {
    fn matches(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Date => value.as_str().is_some_and(is_date),
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Date => "a date in ISO 8601",
        }
    }
}

/// A date, or a date and time with or without an offset.
fn is_date(text: &str) -> bool {
    let digit = text.starts_with(|first: char| first.is_ascii_digit());
    digit
        && (text.parse::<Timestamp>().is_ok()
            || text.parse::<DateTime>().is_ok()
            || text.parse::<Date>().is_ok())
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, holds)| (key, holds.as_str())))
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let holds =
            |value: &Value| Type::WORDS.iter().find(|(name, _)| value == name).map(|(_, holds)| *holds);
        Ok(Self(
            fields.iter().map(|(key, value)| (key.clone(), holds(value).unwrap_or(Type::String))).collect(),
        ))
    }
}
