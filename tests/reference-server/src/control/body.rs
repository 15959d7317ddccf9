//! Bodies of the sandbox's own routes. All problems are reported together, as sentences, and unknown fields are errors, since no client is newer
//! than this sandbox.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::wire::json::well_formed;
use crate::wire::paging::quoted;
use crate::wire::problem::Problem;

/// The maximum number of reported problems.
const MAX_PROBLEMS: usize = 20;

/// The fields of a body, and its problems.
pub struct Body {
    fields: Map<String, Value>,
    problems: Vec<String>,
}

impl Body {
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        match serde_json::from_str(well_formed(body)?.get()) {
            Ok(Value::Object(fields)) => Ok(Self { fields, problems: Vec::new() }),
            Ok(other) => {
                Err(Problem::validation(format!("The body must be an object; found {}.", kind(&other))))
            }
            // Nested deeper than any valid body.
            Err(error) => Err(Problem::unreadable(format!("The body can't be read: {error}."))),
        }
    }

    /// Reports a problem: a complete sentence with the field, the rule and the value.
    pub fn wrong(&mut self, message: impl Into<String>) {
        self.problems.push(message.into());
    }

    /// Whether a field is present and not `null`.
    pub fn has(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(|value| !value.is_null())
    }

    /// Takes a field. `null` counts as absent.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.shift_remove(field).filter(|value| !value.is_null())
    }

    pub fn text(&mut self, field: &str) -> Option<String> {
        match self.take(field)? {
            Value::String(text) => Some(text),
            other => self.refuse(field, "a string", &other),
        }
    }

    /// Takes an integer within these bounds.
    pub fn integer(&mut self, field: &str, min: u64, max: u64) -> Option<u64> {
        let value = self.take(field)?;
        match value.as_u64().filter(|number| (min..=max).contains(number)) {
            Some(number) => Some(number),
            None => self.refuse(field, &format!("a whole number from {min} to {max}"), &value),
        }
    }

    /// Takes an optional boolean, false by default.
    pub fn flag(&mut self, field: &str) -> bool {
        match self.take(field) {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => self.refuse(field, "a boolean", &other).unwrap_or(false),
        }
    }

    pub fn refuse<T>(&mut self, field: &str, rule: &str, found: &Value) -> Option<T> {
        self.wrong(format!("`{field}` must be {rule}; found {}.", formatted(found)));
        None
    }

    /// Reports all problems as one response, including fields that were never taken.
    pub fn finish(mut self, known: &str) -> Result<(), Problem> {
        for field in self.fields.keys() {
            self.problems.push(format!("{} is not a field here; these are: {known}.", quoted(field)));
        }
        if self.problems.is_empty() {
            return Ok(());
        }
        let more = self.problems.len().saturating_sub(MAX_PROBLEMS);
        self.problems.truncate(MAX_PROBLEMS);
        let mut message = self.problems.join(" ");
        if more > 0 {
            // Writing to a string can't fail.
            let _ = write!(message, " (And {more} more problems.)");
        }
        Err(Problem::validation(message))
    }
}

/// Formats a value for a message.
fn formatted(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        other => kind(other).to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
