//! Tolerant decoding: a value whose type differs from the documented one never causes its record or page to fail.

use std::{collections::BTreeMap, fmt, marker::PhantomData, vec};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeMap,
};
use serde_json::{Map, Value};

/// The result of decoding one JSON value.
pub(crate) enum Reading<T> {
    /// The value has the documented type: encoding it yields the same JSON.
    Exact(T),
    /// The value has another type that can be converted, such as `"12"` for a number.
    Converted(T),
    /// The value can't be converted.
    Unreadable,
}

impl<T> Reading<T> {
    pub(crate) fn map<U>(self, convert: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Self::Exact(value) => Reading::Exact(convert(value)),
            Self::Converted(value) => Reading::Converted(convert(value)),
            Self::Unreadable => Reading::Unreadable,
        }
    }

    fn exact_or_converted(exact: bool, value: T) -> Self {
        if exact { Self::Exact(value) } else { Self::Converted(value) }
    }
}

/// A type that can also be decoded from other JSON types, if their meaning is unambiguous.
pub(crate) trait Lenient: Sized {
    fn read(value: &Value) -> Reading<Self>;

    /// Returns the value of a field that is missing, null or unreadable; `None` if records require the field.
    fn fallback() -> Option<Self> {
        None
    }

    /// Decodes one entry of an object sent in place of a list, which gets one element per entry.
    fn from_entry(_name: &str, _value: &Value) -> Option<Self> {
        None
    }

    /// Returns whether [`take`](Self::take) decodes this value exactly and without copying.
    fn is_plain(_value: &Value) -> bool {
        false
    }

    /// Decodes a value without copying large strings. Also returns the value unless the type encodes exactly the same JSON.
    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        match Self::read(&value) {
            Reading::Exact(read) => (Some(read), None),
            Reading::Converted(read) => (Some(read), Some(value)),
            Reading::Unreadable => (None, Some(value)),
        }
    }

    /// Decodes a string, if the type would encode it unchanged.
    fn from_text(_text: &str) -> Option<Self> {
        None
    }

    /// Takes a list of strings, if the type would encode it unchanged.
    fn from_texts(texts: Vec<String>) -> Result<Self, Vec<String>> {
        Err(texts)
    }

    /// Takes the elements of a list, if the type would encode them unchanged.
    fn elements(texts: Vec<String>) -> Result<Vec<Self>, Vec<String>> {
        Err(texts)
    }
}

/// A record whose fields are decoded individually; see the macro `record!`.
pub(crate) trait Record: Sized {
    /// The wire names of each field. If several are present, the first takes precedence.
    const NAMES: Names;

    /// Takes the fields in the order of [`NAMES`](Self::NAMES).
    fn from_fields(fields: Fields) -> Result<Self, String>;
}

impl<R: Record> Lenient for R {
    fn read(value: &Value) -> Reading<Self> {
        record(value).map_or(Reading::Unreadable, Reading::Exact)
    }

    /// Returns an empty record, if every field may be missing.
    fn fallback() -> Option<Self> {
        record(&Value::Object(Map::new())).ok()
    }
}

/// Implements [`Lenient`] through `Deserialize`, for types whose parts have no absent value.
macro_rules! strict {
    ($($name:ty),+) => {
        $(impl $crate::types::lenient::Lenient for $name {
            fn read(value: &serde_json::Value) -> $crate::types::lenient::Reading<Self> {
                use $crate::types::lenient::Reading;
                <Self as serde::Deserialize>::deserialize(value).map_or(Reading::Unreadable, Reading::Exact)
            }
        })+
    };
}

/// Implements [`Lenient`] for a newtype over `String`.
macro_rules! lenient_text {
    ($name:ty, absent: $absent:expr) => {
        impl $crate::types::lenient::Lenient for $name {
            fn read(value: &serde_json::Value) -> $crate::types::lenient::Reading<Self> {
                <String as $crate::types::lenient::Lenient>::read(value).map(Self)
            }

            fn fallback() -> Option<Self> {
                $absent
            }

            fn take(value: serde_json::Value) -> (Option<Self>, Option<serde_json::Value>) {
                let (text, sent) = <String as $crate::types::lenient::Lenient>::take(value);
                (text.map(Self), sent)
            }

            fn from_text(text: &str) -> Option<Self> {
                Some(Self(text.to_owned()))
            }
        }
    };
}

impl Lenient for Value {
    fn read(value: &Value) -> Reading<Self> {
        Reading::Exact(value.clone())
    }

    fn fallback() -> Option<Self> {
        Some(Value::Null)
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        (Some(value), None)
    }
}

impl Lenient for String {
    fn read(value: &Value) -> Reading<Self> {
        match value {
            Value::String(text) => Reading::Exact(text.clone()),
            Value::Number(_) | Value::Bool(_) => Reading::Converted(value.to_string()),
            _ => Reading::Unreadable,
        }
    }

    fn fallback() -> Option<Self> {
        Some(Self::new())
    }

    fn is_plain(value: &Value) -> bool {
        value.is_string()
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        match value {
            Value::String(text) => (Some(text), None),
            Value::Number(_) | Value::Bool(_) => (Some(value.to_string()), Some(value)),
            _ => (None, Some(value)),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn elements(texts: Vec<String>) -> Result<Vec<Self>, Vec<String>> {
        Ok(texts)
    }
}

impl Lenient for bool {
    fn read(value: &Value) -> Reading<Self> {
        match value {
            Value::Bool(on) => Reading::Exact(*on),
            Value::Number(number) if number.as_u64() == Some(0) => Reading::Converted(false),
            Value::Number(number) if number.as_u64() == Some(1) => Reading::Converted(true),
            Value::String(text) if text == "false" => Reading::Converted(false),
            Value::String(text) if text == "true" => Reading::Converted(true),
            _ => Reading::Unreadable,
        }
    }

    fn fallback() -> Option<Self> {
        Some(false)
    }
}

macro_rules! integers {
    ($($integer:ty),+) => {
        $(impl Lenient for $integer {
            fn read(value: &Value) -> Reading<Self> {
                if let Some(number) = value.as_u64().and_then(|number| number.try_into().ok()) {
                    return Reading::Exact(number);
                }
                let text = match value {
                    Value::Number(number) => number.as_f64().filter(|n| n.fract() == 0.0).map(|n| format!("{n:.0}")),
                    Value::String(text) => Some(text.trim().to_owned()),
                    _ => None,
                };
                text.and_then(|text| text.parse().ok()).map_or(Reading::Unreadable, Reading::Converted)
            }
        })+
    };
}

integers!(u16, u64, usize);

impl Lenient for f64 {
    fn read(value: &Value) -> Reading<Self> {
        match value {
            Value::Number(number) => number
                .as_f64()
                .map_or(Reading::Unreadable, |read| Reading::exact_or_converted(number.is_f64(), read)),
            Value::String(text) => {
                let number = text.trim().parse().ok().filter(|number: &Self| number.is_finite());
                number.map_or(Reading::Unreadable, Reading::Converted)
            }
            _ => Reading::Unreadable,
        }
    }
}

impl<T: Lenient> Lenient for Option<T> {
    fn read(value: &Value) -> Reading<Self> {
        if value.is_null() { Reading::Exact(None) } else { T::read(value).map(Some) }
    }

    fn fallback() -> Option<Self> {
        Some(None)
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        if value.is_null() {
            return (Some(None), None);
        }
        let (read, raw) = T::take(value);
        (read.map(Some), raw)
    }

    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(Some)
    }

    fn from_texts(texts: Vec<String>) -> Result<Self, Vec<String>> {
        T::from_texts(texts).map(Some)
    }
}

/// A single value is decoded as a list of one; unreadable elements are omitted.
impl<T: Lenient> Lenient for Vec<T> {
    fn read(value: &Value) -> Reading<Self> {
        let Value::Array(items) = value else {
            return match value {
                Value::String(text) if text.is_empty() => Reading::Converted(Self::new()),
                one => match (T::read(one), one) {
                    (Reading::Exact(item) | Reading::Converted(item), _) => Reading::Converted(vec![item]),
                    (Reading::Unreadable, Value::Object(entries)) => {
                        let list: Self =
                            entries.iter().filter_map(|(name, value)| T::from_entry(name, value)).collect();
                        if list.is_empty() { Reading::Unreadable } else { Reading::Converted(list) }
                    }
                    (Reading::Unreadable, _) => Reading::Unreadable,
                },
            };
        };
        let mut exact = true;
        let list = items.iter().filter_map(|item| element(item, &mut exact)).collect();
        Reading::exact_or_converted(exact, list)
    }

    fn fallback() -> Option<Self> {
        Some(Self::new())
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        match value {
            Value::Array(items) if items.iter().all(T::is_plain) => {
                (Some(items.into_iter().filter_map(|item| T::take(item).0).collect()), None)
            }
            other => match Self::read(&other) {
                Reading::Exact(list) => (Some(list), None),
                Reading::Converted(list) => (Some(list), Some(other)),
                Reading::Unreadable => (None, Some(other)),
            },
        }
    }

    fn from_texts(texts: Vec<String>) -> Result<Self, Vec<String>> {
        T::elements(texts)
    }
}

/// A list of `{name, value}` is decoded as an object; unreadable entries are omitted.
impl<T: Lenient> Lenient for BTreeMap<String, T> {
    fn read(value: &Value) -> Reading<Self> {
        let mut exact = true;
        let entries = match value {
            Value::Object(entries) => entries,
            Value::Array(pairs) => {
                let pair = |pair: &Value| {
                    let read = T::read(pair.get("value")?);
                    let (Reading::Exact(value) | Reading::Converted(value)) = read else { return None };
                    Some((pair.get("name")?.as_str()?.to_owned(), value))
                };
                return Reading::Converted(pairs.iter().filter_map(pair).collect());
            }
            _ => return Reading::Unreadable,
        };
        let entry = |(key, value)| element::<T>(value, &mut exact).map(|value| (String::clone(key), value));
        let map = entries.iter().filter_map(entry).collect();
        Reading::exact_or_converted(exact, map)
    }

    fn fallback() -> Option<Self> {
        Some(Self::new())
    }
}

fn element<T: Lenient>(value: &Value, exact: &mut bool) -> Option<T> {
    match T::read(value) {
        Reading::Exact(element) => Some(element),
        Reading::Converted(element) => {
            *exact = false;
            Some(element)
        }
        Reading::Unreadable => {
            *exact = false;
            None
        }
    }
}

/// The fields that the service sent in an undocumented form, with their original values.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Malformed(BTreeMap<&'static str, Value>);

impl Malformed {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Decodes a field, and stores the original value if it is malformed.
    fn read<T: Lenient>(&mut self, name: &'static str, value: Value) -> Result<T, String> {
        if value.is_null() {
            return T::fallback().ok_or_else(|| format!("missing field `{name}`"));
        }
        let (read, sent) = T::take(value);
        let Some(sent) = sent else { return read.ok_or_else(|| format!("missing field `{name}`")) };
        #[cfg(any(test, feature = "testing"))]
        crate::types::strict::report(|| format!("`{name}` can't be {sent}"));
        let kind = match sent {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.0.insert(name, sent);
        read.or_else(T::fallback).ok_or_else(|| format!("field `{name}` has an unexpected type: {kind}"))
    }

    /// Encodes a record's field, using its original value if it was malformed.
    pub(crate) fn write<M: SerializeMap>(
        &self,
        map: &mut M,
        name: &'static str,
        value: &impl Serialize,
    ) -> Result<(), M::Error> {
        match self.0.get(name) {
            Some(sent) => map.serialize_entry(name, sent),
            None => map.serialize_entry(name, value),
        }
    }
}

/// `Debug` prints only the names, since a malformed field can contain a secret.
impl fmt::Debug for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The names of a record's fields on the wire.
pub(crate) type Names = &'static [&'static [&'static str]];

/// The values of a record's fields, taken in the order of [`Record::NAMES`].
pub(crate) struct Fields {
    fields: vec::IntoIter<Field>,
    malformed: Malformed,
}

/// A field and the name under which it was sent; `null` if it is missing.
struct Field {
    names: &'static [&'static str],
    name: usize,
    value: Value,
}

impl Fields {
    /// Takes the next field.
    pub(crate) fn take<T: Lenient>(&mut self) -> Result<T, String> {
        let Some(Field { names, name, value }) = self.fields.next() else {
            return Err("the record has fewer names than fields".to_owned());
        };
        self.malformed.read(names.get(name).copied().unwrap_or_default(), value)
    }

    pub(crate) fn malformed(self) -> Malformed {
        self.malformed
    }
}

/// Decodes a record, for `Deserialize`.
pub(crate) fn record<'de, R: Record, D: Deserializer<'de>>(deserializer: D) -> Result<R, D::Error> {
    R::from_fields(fields(deserializer, R::NAMES)?).map_err(de::Error::custom)
}

/// Decodes the fields with these names.
pub(crate) fn fields<'de, D: Deserializer<'de>>(deserializer: D, names: Names) -> Result<Fields, D::Error> {
    deserializer.deserialize_map(FieldsVisitor(names))
}

struct FieldsVisitor(Names);

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let missing = |names: &&'static [&'static str]| Field { names, name: 0, value: Value::Null };
        let mut fields: Vec<Field> = self.0.iter().map(missing).collect();
        let mut expected = 0;
        while let Some(known) = map.next_key_seed(Key { names: self.0, expected })? {
            let Some((field, name)) = known.and_then(|(at, name)| Some((fields.get_mut(at)?, name))) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: Value = map.next_value()?;
            if !value.is_null() && (field.value.is_null() || name <= field.name) {
                (field.name, field.value) = (name, value);
            }
            expected = known.map_or(expected, |(at, _)| at + 1);
        }
        Ok(Fields { fields: fields.into_iter(), malformed: Malformed::default() })
    }
}

/// Decodes a key to the positions of the field and its name. Services send fields in a fixed order, so the search starts at the expected position.
struct Key {
    names: Names,
    expected: usize,
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<(usize, usize)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<(usize, usize)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let fields = self.names.iter().enumerate();
        let mut search = fields.clone().skip(self.expected).chain(fields.take(self.expected));
        Ok(search.find_map(|(at, names)| Some((at, names.iter().position(|name| *name == key)?))))
    }
}

/// Decodes a field's value in a `direct` record. Strings and lists of strings, the most common types, need no [`Value`].
pub(crate) struct FieldSeed<'a, T> {
    name: &'static str,
    malformed: &'a mut Malformed,
    read: PhantomData<T>,
}

impl<'a, T: Lenient> FieldSeed<'a, T> {
    pub(crate) fn new(name: &'static str, malformed: &'a mut Malformed) -> Self {
        Self { name, malformed, read: PhantomData }
    }

    fn value<E: de::Error>(self, value: Value) -> Result<T, E> {
        self.malformed.read(self.name, value).map_err(E::custom)
    }
}

impl<'de, T: Lenient> DeserializeSeed<'de> for FieldSeed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! scalars {
    ($($visit:ident: $scalar:ty),+) => {
        $(fn $visit<E: de::Error>(self, value: $scalar) -> Result<T, E> {
            self.value(value.into())
        })+
    };
}

impl<'de, T: Lenient> Visitor<'de> for FieldSeed<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        match T::from_text(text) {
            Some(value) => Ok(value),
            None => self.value(text.into()),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        match T::fallback() {
            Some(value) => Ok(value),
            None => self.value(Value::Null),
        }
    }

    scalars! { visit_bool: bool, visit_u64: u64, visit_i64: i64, visit_f64: f64 }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        let mut texts = Vec::new();
        while let Some(item) = items.next_element()? {
            if let Value::String(text) = item {
                texts.push(text);
                continue;
            }
            let mut values: Vec<Value> = texts.into_iter().map(Value::String).collect();
            values.push(item);
            while let Some(next) = items.next_element()? {
                values.push(next);
            }
            return self.value(values.into());
        }
        match T::from_texts(texts) {
            Ok(value) => Ok(value),
            Err(texts) => self.value(texts.into()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        let entries = Value::deserialize(MapAccessDeserializer::new(entries))?;
        self.value(entries)
    }
}

/// Decodes one value, converting other scalar types; for `Deserialize`.
pub(crate) fn value<'de, T: Lenient, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let (read, sent) = T::take(Value::deserialize(deserializer)?);
    read.ok_or_else(|| de::Error::custom(format!("invalid type: {}", sent.unwrap_or_default())))
}

/// Decodes `null` as the type's default; for `#[serde(default, deserialize_with)]`.
pub(crate) fn null_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Declares records, the types returned by the service.
///
/// Every field is decoded tolerantly. A missing or null field gets the type's absent value (`None`, empty, `false`). A field of another type is
/// converted if its meaning is unambiguous, and absent otherwise; `malformed_fields` returns its original value. Decoding the record fails only if an
/// identifier or a secret is missing. `name as "wire"` sets the wire name, `or "other"` an alternative; serializing the record omits fields marked `-
/// secret`.
///
/// `pub struct Detail: Summary { … }` contains all fields of the first record in addition to its own.
///
/// `direct pub struct Summary { … }` decodes fields of the documented type directly from the JSON, which is a fifth faster, for records in long
/// lists, at the cost of more code. Each of its fields has one name.
macro_rules! record {
    (
        direct $(#[$meta:meta])*
        pub struct $base:ident $common:tt
        $($rest:tt)*
    ) => {
        record! { @merge direct [$(#[$meta])*] $base $common {} }
        record! { @details $common $($rest)* }
    };
    (
        $(#[$meta:meta])*
        pub struct $base:ident $common:tt
        $($rest:tt)*
    ) => {
        record! { @merge buffered [$(#[$meta])*] $base $common {} }
        record! { @details $common $($rest)* }
    };
    (@details $common:tt) => {};
    (@details $common:tt $(#[$meta:meta])* pub struct $name:ident : $of:ident $fields:tt $($rest:tt)*) => {
        record! { @merge buffered [$(#[$meta])*] $name $common $fields }
        record! { @details $common $($rest)* }
    };
    (@merge $reader:ident [$($meta:tt)*] $name:ident { $($common:tt)* } { $($fields:tt)* }) => {
        record! { @define [$($meta)*] $name { $($common)* $($fields)* } }
        record! { @$reader $name { $($common)* $($fields)* } }
    };
    (@define [$($meta:tt)*] $name:ident {
        $($(#[$attr:meta])* pub $field:ident $(as $wire:literal $(or $other:literal)*)? $(- $unwritten:ident)? : $ty:ty,)*
    }) => {
        $($meta)*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$attr])* pub $field: $ty,)*
            malformed: $crate::types::lenient::Malformed,
        }

        impl $name {
            /// Returns the fields that the service sent in an undocumented form, with their original values.
            pub fn malformed_fields(&self) -> impl Iterator<Item = (&str, &serde_json::Value)> {
                self.malformed.iter()
            }
        }

        #[allow(deprecated, reason = "deprecated fields are still read and written")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(record!(@write self map record!(@name $field $($wire)?), $field $($unwritten)?);)*
                serde::ser::SerializeMap::end(map)
            }
        }
    };
    (@buffered $name:ident {
        $($(#[$attr:meta])* pub $field:ident $(as $wire:literal $(or $other:literal)*)? $(- $unwritten:ident)? : $ty:ty,)*
    }) => {
        #[allow(deprecated, reason = "deprecated fields are still read and written")]
        impl $crate::types::lenient::Record for $name {
            const NAMES: $crate::types::lenient::Names = &[$(record!(@names $field $($wire $($other)*)?)),*];

            fn from_fields(mut fields: $crate::types::lenient::Fields) -> Result<Self, String> {
                Ok(Self {
                    $($field: fields.take()?,)*
                    malformed: fields.malformed(),
                })
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::types::lenient::record(deserializer)
            }
        }
    };
    (@direct $name:ident { $($(#[$attr:meta])* pub $field:ident : $ty:ty,)* }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::types::lenient::{FieldSeed, Lenient, Malformed};

                #[derive(serde::Deserialize)]
                #[serde(field_identifier)]
                #[allow(non_camel_case_types, reason = "named after the fields")]
                enum Key {
                    $($field,)*
                    #[serde(other)]
                    Other,
                }

                struct Fields;

                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a JSON object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut malformed = Malformed::default();
                        $(let mut $field: Option<$ty> = None;)*
                        while let Some(key) = map.next_key()? {
                            match key {
                                $(Key::$field => {
                                    let seed = FieldSeed::new(stringify!($field), &mut malformed);
                                    $field = Some(map.next_value_seed(seed)?);
                                })*
                                Key::Other => drop(map.next_value::<serde::de::IgnoredAny>()?),
                            }
                        }
                        Ok($name {
                            $($field: match $field.or_else(Lenient::fallback) {
                                Some(value) => value,
                                None => return Err(serde::de::Error::missing_field(stringify!($field))),
                            },)*
                            malformed,
                        })
                    }
                }

                deserializer.deserialize_map(Fields)
            }
        }
    };
    (@write $self:ident $map:ident $name:expr, $field:ident secret) => {
        #[cfg(any(test, feature = "testing"))]
        $crate::types::strict::write_name(&mut $map, $name)?;
    };
    (@write $self:ident $map:ident $name:expr, $field:ident) => {
        $self.malformed.write(&mut $map, $name, &$self.$field)?;
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $wire:literal) => { $wire };
    (@names $field:ident) => { &[stringify!($field)] };
    (@names $field:ident $($wire:literal)+) => { &[$($wire),+] };
}

#[cfg(test)]
#[allow(unreachable_pub, dead_code, reason = "the macro declares public types")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::{EmailId, Timestamp};

    record! {
        /// A summary.
        #[derive(PartialEq)]
        pub struct Summary {
            /// An ID.
            pub id: EmailId,
            /// A text.
            pub name: String,
            /// A number.
            pub size: Option<u64>,
            /// Another.
            pub priority as "prio" or "rank": Option<u16>,
            /// A switch.
            pub on: Option<bool>,
            /// A list.
            pub to: Vec<String>,
            /// A time.
            pub created_at: Option<Timestamp>,
        }
        /// The detail record.
        pub struct Detail: Summary {
            /// A body.
            pub html: Option<String>,
            /// Nested.
            pub inner: Option<Inner>,
        }
    }

    record! {
        /// A nested record.
        #[derive(PartialEq)]
        pub struct Inner {
            /// A text.
            pub text: Option<String>,
        }
    }

    fn read(value: Value) -> Detail {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn documented_types_are_read_and_written_unchanged() {
        let sent = json!({
            "id": "e1", "name": "n", "size": 12, "prio": 10, "on": true, "to": ["a", "b"], "created_at": "2026-01-01T00:00:00Z",
            "html": "<p>", "inner": { "text": "t" },
        });
        let detail = read(sent.clone());
        assert_eq!(
            (detail.id.as_str(), detail.size, detail.priority, detail.on),
            ("e1", Some(12), Some(10), Some(true))
        );
        assert_eq!(detail.malformed_fields().count(), 0);
        assert_eq!(serde_json::to_value(&detail).unwrap(), sent);
    }

    #[test]
    fn scalars_of_other_types_convert_and_keep_their_raw_value() {
        let sent = json!({
            "id": 7, "name": 1.5, "size": "12", "prio": 10.0, "on": "true", "to": "a", "created_at": 1_700_000_000, "html": false,
            "inner": { "text": 5 },
        });
        let detail = read(sent.clone());
        assert_eq!((detail.id.as_str(), detail.name.as_str(), detail.size), ("7", "1.5", Some(12)));
        assert_eq!(
            (detail.priority, detail.on, detail.to.as_slice()),
            (Some(10), Some(true), ["a".to_owned()].as_slice())
        );
        assert_eq!(detail.created_at.as_ref().map(Timestamp::as_str), Some("1700000000"));
        assert_eq!(
            (detail.html.as_deref(), detail.inner.as_ref().unwrap().text.as_deref()),
            (Some("false"), Some("5"))
        );
        assert_eq!(serde_json::to_value(&detail).unwrap(), sent);
        let names: Vec<_> = detail.malformed_fields().map(|(name, _)| name).collect();
        assert_eq!(names, ["created_at", "html", "id", "name", "on", "prio", "size", "to"]);
    }

    #[test]
    fn unreadable_and_out_of_range_values_are_absent_and_keep_their_raw_value() {
        for size in [json!(1e30), json!(-1), json!(1.5), json!("much"), json!([]), json!({}), json!(true)] {
            let sent = json!({
                "id": "e", "name": [], "size": size, "prio": 70_000, "on": 2, "to": ["a", {}, 5], "created_at": {}, "html": ["x"], "inner": 5,
            });
            let detail = read(sent.clone());
            assert_eq!(
                (detail.name.as_str(), detail.size, detail.priority, detail.on),
                ("", None, None, None)
            );
            assert_eq!(detail.to, ["a", "5"]);
            assert!(detail.created_at.is_none() && detail.html.is_none() && detail.inner.is_none());
            assert_eq!(serde_json::to_value(&detail).unwrap(), sent);
        }
    }

    #[test]
    fn null_and_missing_fields_are_absent() {
        let sent = json!({
            "id": "e", "name": null, "size": null, "prio": null, "rank": 3, "on": null, "to": null, "created_at": null, "html": null,
            "inner": null,
        });
        for sent in [sent, json!({ "id": "e", "rank": 3 })] {
            let detail = read(sent);
            assert!(detail.name.is_empty() && detail.to.is_empty() && detail.on.is_none());
            assert_eq!((detail.priority, detail.malformed_fields().count()), (Some(3), 0));
        }
    }

    #[test]
    fn a_record_without_its_identifier_is_rejected_with_the_field_name() {
        // B-20
        for (sent, message) in [
            (json!({ "name": "n" }), "missing field `id`"),
            (json!({ "id": null }), "missing field `id`"),
            (json!({ "id": ["e"] }), "field `id` has an unexpected type: an array"),
        ] {
            assert_eq!(serde_json::from_value::<Summary>(sent).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn malformed_values_never_show_in_debug() {
        let summary: Summary = serde_json::from_value(json!({ "id": "e", "on": "sentinel" })).unwrap();
        let shown = format!("{summary:?}");
        assert!(shown.contains("\"on\"") && !shown.contains("sentinel"), "{shown}");
    }
}
