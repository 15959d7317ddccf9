//! The declared fields of an input, and how to set them from JSON.
//!
//! Intended for programs that build an input from flags or a form: the `idempost` CLI derives its flags from these fields. Not part of the stable
//! API.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::{Patch, Recipients, ScheduledAt};
use crate::problem::{Problems, Validate, Validator, present};

/// A field of an input.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Field {
    /// The field's name on the wire.
    pub name: &'static str,
    /// The JSON that it accepts.
    pub kind: Kind,
    /// Whether it is required.
    pub required: bool,
    /// Whether `null` removes the stored value.
    pub clearable: bool,
}

/// The JSON that a field accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A string.
    Text,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A time, or a phrase that describes one.
    Time,
    /// One of these strings; the service may know more.
    Choice(&'static [&'static str]),
    /// An array.
    List(&'static Kind),
    /// An object or another value with its own rules.
    Json,
}

/// An input whose fields are known.
pub trait Input: Validate + Sized {
    /// Its fields, in the order of the declaration.
    const FIELDS: &'static [Field];

    /// Reads as much of the input as possible, and returns its format problems: missing and unknown fields, and wrong types. The rules of
    /// [`check`](Validate::check) aren't applied; [`Problems::merge`] combines the two results.
    fn read(json: &Value) -> (Self, Result<(), Problems>);
}

/// The body of an operation that only sets a name. Some operations have more rules for the name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Named {
    /// The name.
    pub name: String,
}

impl Input for Named {
    const FIELDS: &'static [Field] = &[Field::required::<String>("name")];

    fn read(json: &Value) -> (Self, Result<(), Problems>) {
        Reader::input(json, |fields| Self { name: fields.required("name") })
    }
}

impl Validate for Named {
    fn check(&self) -> Result<(), Problems> {
        Validator::run(|v| v.check_required("name", &self.name))
    }
}

impl Field {
    pub(crate) const fn required<T: FieldValue>(name: &'static str) -> Self {
        Self { required: true, ..Self::optional::<T>(name) }
    }

    pub(crate) const fn optional<T: FieldValue>(name: &'static str) -> Self {
        Self { name, kind: T::KIND, required: false, clearable: false }
    }

    pub(crate) const fn patch<T: FieldValue>(name: &'static str, clears: &[&str]) -> Self {
        Self { clearable: !clears.is_empty(), ..Self::optional::<T>(name) }
    }
}

/// The type of a field.
pub(crate) trait FieldValue: Sized {
    const KIND: Kind;

    /// Reads the value at the current location, or reports that it has another format.
    fn read(v: &mut Validator, value: &Value) -> Option<Self>;
}

/// Reads the fields of one JSON object.
pub(crate) struct Reader<'a> {
    v: &'a mut Validator,
    json: &'a Map<String, Value>,
}

impl Reader<'_> {
    /// Reads an input, using `read` for its fields.
    pub(crate) fn input<T: Input>(
        json: &Value,
        read: impl FnOnce(&mut Reader<'_>) -> T,
    ) -> (T, Result<(), Problems>) {
        let empty = Map::new();
        Validator::read(|v| {
            let fields = v.object(json, "the input").unwrap_or(&empty);
            let input = read(&mut Reader { v, json: fields });
            let names: Vec<_> = T::FIELDS.iter().map(|field| field.name).collect();
            v.check_known_fields(fields, "the request", &names);
            input
        })
    }

    /// Reads the object at the current location, which must contain only these fields.
    pub(crate) fn object<T>(
        v: &mut Validator,
        json: &Value,
        names: &[&str],
        read: impl FnOnce(&mut Reader<'_>) -> T,
    ) -> Option<T> {
        let json = v.object(json, "the value")?;
        let object = read(&mut Reader { v, json });
        v.check_known_fields(json, "the object", names);
        Some(object)
    }

    /// Returns the `fallback_value` of a definition with this type, `string` or `number`; empty if the type is missing.
    pub(crate) fn fallback(&mut self, kind: &str) -> Option<Value> {
        if !matches!(kind, "" | "string" | "number") {
            let rule = "`type` must be string or number";
            self.v.field("type", |v| v.report_found("type", rule, kind.escape_debug()));
        }
        let value = present(self.json, "fallback_value")?;
        let (fits, rule) = match kind {
            "number" => (value.is_number(), "`fallback_value` must be a number"),
            _ => (value.is_string(), "`fallback_value` must be a string"),
        };
        if !fits {
            self.v.field("fallback_value", |v| v.wrong_type(rule, value));
        }
        Some(value.clone()).filter(|_| fits)
    }

    /// Returns a required field; a placeholder if there is a problem with it.
    pub(crate) fn required<T: FieldValue + for<'t> From<&'t str>>(&mut self, name: &str) -> T {
        let value = self.v.required_field(self.json, name);
        value.and_then(|value| self.value(name, value)).unwrap_or_else(|| T::from(""))
    }

    /// Returns whether the input contains a field.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        present(self.json, name).is_some()
    }

    /// Reports a problem with a field, or with the whole input if the name is empty.
    pub(crate) fn report(&mut self, name: &str, code: &'static str, rule: &str) {
        match name {
            "" => self.v.report(code, rule),
            name => self.v.field(name, |v| v.report(code, rule)),
        }
    }

    /// Returns an optional field.
    pub(crate) fn optional<T: FieldValue>(&mut self, name: &str) -> Option<T> {
        self.value(name, present(self.json, name)?)
    }

    /// Returns a field that `null` clears, if it can be cleared.
    pub(crate) fn patch<T: FieldValue>(&mut self, name: &str, clears: &[&str]) -> Patch<T> {
        if !clears.is_empty() && self.json.get(name).is_some_and(Value::is_null) {
            return Patch::Clear;
        }
        self.optional(name).map_or(Patch::Keep, Patch::Set)
    }

    /// Returns a field with a default, for which `null` is accepted if it can be cleared.
    pub(crate) fn optional_or_default<T: FieldValue + Default>(&mut self, name: &str, clears: &[&str]) -> T {
        let value = if clears.is_empty() { present(self.json, name) } else { self.json.get(name) };
        value.and_then(|value| self.value(name, value)).unwrap_or_default()
    }

    fn value<T: FieldValue>(&mut self, name: &str, value: &Value) -> Option<T> {
        self.v.field(name, |v| T::read(v, value))
    }
}

fn expect_text<'a>(v: &mut Validator, value: &'a Value) -> Option<&'a str> {
    let text = value.as_str();
    if text.is_none() {
        v.wrong_type("expected a string", value);
    }
    text
}

/// Implements [`FieldValue`] for types that convert from strings.
macro_rules! text_field {
    ($($type:ty => $kind:expr),+ $(,)?) => {
        $(impl $crate::types::fields::FieldValue for $type {
            const KIND: $crate::types::fields::Kind = $kind;

            fn read(v: &mut $crate::problem::Validator, value: &serde_json::Value) -> Option<Self> {
                $crate::types::fields::read_text(v, value)
            }
        })+
    };
}

/// Implements [`FieldValue`] for types that serde deserializes from JSON.
macro_rules! json_field {
    ($($type:ty),+) => {
        $(impl $crate::types::fields::FieldValue for $type {
            const KIND: $crate::types::fields::Kind = $crate::types::fields::Kind::Json;

            fn read(v: &mut $crate::problem::Validator, value: &serde_json::Value) -> Option<Self> {
                $crate::types::fields::read_json(v, value)
            }
        })+
    };
}

pub(crate) fn read_text<T: for<'t> From<&'t str>>(v: &mut Validator, value: &Value) -> Option<T> {
    expect_text(v, value).map(T::from)
}

pub(crate) fn read_json<T: serde::de::DeserializeOwned>(v: &mut Validator, value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).map_err(|error| v.report("type", error.to_string())).ok()
}

text_field!(String => Kind::Text, ScheduledAt => Kind::Time);
json_field!(Value, Number);

/// Returns the values if all of them are readable. All are read, so that every unreadable one is reported.
fn collect_readable<T, C: FromIterator<T>>(values: impl Iterator<Item = Option<T>>) -> Option<C> {
    let values: Vec<_> = values.collect();
    values.into_iter().collect()
}

impl FieldValue for bool {
    const KIND: Kind = Kind::Boolean;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        if !value.is_boolean() {
            v.wrong_type("expected true or false", value);
        }
        value.as_bool()
    }
}

impl FieldValue for Map<String, Value> {
    const KIND: Kind = Kind::Json;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        v.object(value, "the value").cloned()
    }
}

impl FieldValue for Recipients {
    const KIND: Kind = Kind::List(&Kind::Text);

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        match value {
            Value::String(one) => Some(one.into()),
            many => Vec::<String>::read(v, many).map(Self::from),
        }
    }
}

impl<T: FieldValue> FieldValue for Option<T> {
    const KIND: Kind = T::KIND;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        T::read(v, value).map(Some)
    }
}

impl<T: FieldValue> FieldValue for Patch<T> {
    const KIND: Kind = T::KIND;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        if value.is_null() { Some(Self::Clear) } else { T::read(v, value).map(Self::Set) }
    }
}

impl<T: FieldValue> FieldValue for Vec<T> {
    const KIND: Kind = Kind::List(&T::KIND);

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        let Some(items) = value.as_array() else {
            v.wrong_type("expected an array", value);
            return None;
        };
        collect_readable(items.iter().enumerate().map(|(i, item)| v.item(i, |v| T::read(v, item))))
    }
}

impl<T: FieldValue> FieldValue for BTreeMap<String, T> {
    const KIND: Kind = Kind::Json;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        let entries = v.object(value, "the value")?;
        collect_readable(
            entries.iter().map(|(key, value)| Some((key.clone(), v.field(key, |v| T::read(v, value))?))),
        )
    }
}
