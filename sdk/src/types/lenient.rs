//! Tolerant decoding: a value whose type differs from the documented one never causes its record or page to fail.

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

#[macro_use]
mod record;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use record::{FieldSeed, Fields, Malformed, Names, fields, record};

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

pub(crate) fn value<'de, T: Lenient, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let (read, sent) = T::take(Value::deserialize(deserializer)?);
    read.ok_or_else(|| de::Error::custom(format!("invalid type: {}", sent.unwrap_or_default())))
}

/// Decodes a value that can't be converted as the type's default; for `#[serde(default, deserialize_with)]`.
#[cfg(feature = "oauth")]
pub(crate) fn readable_or_default<'de, T: Lenient + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(T::take(Value::deserialize(deserializer)?).0.unwrap_or_default())
}

/// Decodes `null` as the type's default; for `#[serde(default, deserialize_with)]`.
pub(crate) fn null_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
