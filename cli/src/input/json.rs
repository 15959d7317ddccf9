//! Strict JSON: reports repeated keys, of which `serde_json` would silently keep the last.

use std::fmt;

use idempost::problem::{json_reason, limits, push_token};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A document, and the JSON pointers of repeated keys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// The value; for a repeated key, the last one.
    pub(crate) value: Value,
    /// The pointers of repeated keys, at most 1,000.
    pub(crate) repeated: Vec<String>,
    /// The number of further repeated keys.
    pub(crate) omitted: usize,
}

/// A syntax error: the reason and its byte offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotJson {
    /// The reason.
    pub(crate) message: String,
    /// The byte offset.
    pub(crate) at: usize,
}

/// Parses one document. Nesting deeper than 128 levels is rejected, so that no text can exhaust the stack.
pub(crate) fn read(text: &str) -> Result<Document, NotJson> {
    let mut place = Place::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { place: &mut place }.deserialize(&mut deserializer);
    match value.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => Ok(Document { value, repeated: place.repeated, omitted: place.omitted }),
        Err(error) => Err(not_json(text, &error)),
    }
}

fn not_json(text: &str, error: &serde_json::Error) -> NotJson {
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    NotJson { message: format!("not JSON: {}", json_reason(error)), at: text.floor_char_boundary(at) }
}

/// Escapes a key as one segment of a JSON pointer (RFC 6901), with its slash.
pub(crate) fn escape_pointer(key: &str) -> String {
    let mut pointer = String::new();
    push_token(&mut pointer, key);
    pointer
}

/// The current pointer, a stack in one buffer, and the pointers of repeated keys.
#[derive(Default)]
struct Place {
    path: String,
    repeated: Vec<String>,
    omitted: usize,
}

struct Strict<'a> {
    place: &'a mut Place,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        let end = self.place.path.len();
        loop {
            push_token(&mut self.place.path, &values.len().to_string());
            let value = items.next_element_seed(Strict { place: self.place })?;
            self.place.path.truncate(end);
            let Some(value) = value else { return Ok(Value::Array(values)) };
            values.push(value);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        let end = self.place.path.len();
        while let Some(key) = entries.next_key::<String>()? {
            push_token(&mut self.place.path, &key);
            if values.contains_key(&key) {
                if self.place.repeated.len() < limits::PROBLEMS_LISTED {
                    self.place.repeated.push(self.place.path.clone());
                } else {
                    self.place.omitted += 1;
                }
            }
            let value = entries.next_value_seed(Strict { place: self.place })?;
            self.place.path.truncate(end);
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repeated_key_is_found_at_every_depth() {
        // A-30
        let document = read(r#"{"a":1,"b":[{"c/d":1,"c/d":2}],"a":3}"#).unwrap();
        assert_eq!(document.repeated, ["/b/0/c~1d", "/a"]);
        assert_eq!(document.value, json!({"a": 3, "b": [{"c/d": 2}]}));
    }

    #[test]
    fn a_syntax_error_has_its_position() {
        for (text, at) in [("", 0), ("{\n \"a\": x}", 8), ("{\"a\":1} 2", 8), ("[1,]", 3), ("{\"a\"", 4)] {
            let error = read(text).unwrap_err();
            assert!(error.message.starts_with("not JSON: "), "{error:?}");
            assert!(error.at.abs_diff(at) <= 1, "{text:?}: {error:?}");
            assert!(!error.message.contains("line"), "{error:?}");
        }
    }

    #[test]
    fn a_million_levels_are_refused_without_a_stack_overflow() {
        // A-50
        let deep = "[".repeat(1_000_000);
        assert!(read(&deep).unwrap_err().message.contains("nested too deeply"));
    }

    proptest! {
        #[test]
        fn it_reads_what_serde_json_reads(text in "[\\[\\]{}:,0-9a\"\\\\ .eE+-]{0,24}") {
            let ours = read(&text).ok().map(|document| document.value);
            prop_assert_eq!(ours, serde_json::from_str::<Value>(&text).ok());
        }
    }
}
