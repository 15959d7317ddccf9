//! Records, whose fields are decoded individually.

use std::{collections::BTreeMap, fmt, marker::PhantomData, vec};

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Lenient, Record};

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
/// Declares records, the types returned by the service.
///
/// Every field is decoded tolerantly. A missing or null field gets the type's absent value (`None`, empty, `false`). A field of another type is
/// converted if its meaning is unambiguous, and absent otherwise; `malformed_fields` returns its original value. Decoding the record fails only if an
/// identifier or a secret is missing. `name as "wire"` sets the wire name, `or "other"` an alternative; serializing the record omits fields marked `-
/// secret`, and `Debug` those marked `- url`, a URL that grants access to whoever has it.
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
        #[derive(Clone)]
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
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), record!(@shown self $field $($unwritten)?)))*
                    .field("malformed", &self.malformed)
                    .finish()
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
    (@shown $self:ident $field:ident url) => { &format_args!("[redacted]") };
    (@shown $self:ident $field:ident $($unwritten:ident)?) => { &$self.$field };
    (@write $self:ident $map:ident $name:expr, $field:ident $(url)?) => {
        $self.malformed.write(&mut $map, $name, &$self.$field)?;
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $wire:literal) => { $wire };
    (@names $field:ident) => { &[stringify!($field)] };
    (@names $field:ident $($wire:literal)+) => { &[$($wire),+] };
}
