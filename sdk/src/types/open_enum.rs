//! Enumerations that the service may extend without breaking the client.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A value that this version of the client doesn't know, as sent by the service.
///
/// Applications can't construct it, so matching on its text never shadows a variant added in a later version.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnknownValue {
    text: Box<str>,
    form: Form,
}

/// The form in which the service sent it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Form {
    Text,
    /// A value of a JSON type other than string: `text` is its JSON.
    Json,
    /// A missing value, or null.
    Absent,
}

impl UnknownValue {
    pub(crate) fn new(text: String) -> Self {
        Self { text: text.into_boxed_str(), form: Form::Text }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self { text: value.to_string().into_boxed_str(), form: Form::Json }
    }

    pub(crate) fn missing() -> Self {
        Self { text: Box::default(), form: Form::Absent }
    }

    /// Returns the value on the wire: a string unchanged, any other value as JSON, a missing one as an empty string.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Serialize for UnknownValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.form {
            Form::Text => serializer.serialize_str(&self.text),
            Form::Json => serde_json::from_str::<Value>(&self.text).unwrap_or_default().serialize(serializer),
            Form::Absent => serializer.serialize_none(),
        }
    }
}

impl fmt::Debug for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

/// Defines an open enumeration with its wire names.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$doc])*
        ///
        /// The set is open: any other value, regardless of its JSON type, is decoded as `Unknown`.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
            /// A value that this version of the client doesn't know.
            Unknown($crate::types::UnknownValue),
        }

        impl $name {
            /// The wire values known to this version, in the order of the variants.
            pub const KNOWN: &'static [&'static str] = &[$($wire),+];

            /// Returns the value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $wire,)+
                    Self::Unknown(value) => value.as_str(),
                }
            }

            fn from_known(text: &str) -> Option<Self> {
                match text {
                    $($wire => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        conversions! {
            $name {
                String: text =>
                    Self::from_known(&text).unwrap_or_else(|| Self::Unknown($crate::types::UnknownValue::new(text))),
                &str: text => Self::from_known(text).unwrap_or_else(|| Self::from(text.to_owned())),
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ok(Self::from(text))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Unknown(value) => serde::Serialize::serialize(value, serializer),
                    known => serializer.serialize_str(known.as_str()),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::types::lenient::value(deserializer)
            }
        }

        text_field!($name => $crate::types::fields::Kind::Choice($name::KNOWN));

        impl $crate::types::lenient::Lenient for $name {
            fn read(value: &serde_json::Value) -> $crate::types::lenient::Reading<Self> {
                $crate::types::lenient::Reading::Exact(match value {
                    serde_json::Value::String(text) => Self::from(text.as_str()),
                    serde_json::Value::Null => Self::Unknown($crate::types::UnknownValue::missing()),
                    other => Self::Unknown($crate::types::UnknownValue::json(other)),
                })
            }

            fn fallback() -> Option<Self> {
                Some(Self::Unknown($crate::types::UnknownValue::missing()))
            }

            fn from_text(text: &str) -> Option<Self> {
                Some(text.into())
            }
        }
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macro declares public types")]
mod tests {
    use serde_json::{from_value, json, to_value};

    open_enum! {
        /// A color.
        Color {
            /// Red.
            Red = "red",
        }
    }

    #[test]
    fn every_value_of_every_type_is_read_and_written_unchanged() {
        // TOPIC-02, PROP-02, GEN-33
        for value in [
            json!("red"),
            json!("blue"),
            json!(""),
            json!(5),
            json!(1e30),
            json!(true),
            json!(null),
            json!({ "a": [1] }),
        ] {
            let color: Color = from_value(value.clone()).unwrap();
            assert_eq!(color == Color::Red, value == "red");
            assert_eq!(to_value(&color).unwrap(), value);
        }
        assert_ne!(from_value::<Color>(json!(5)).unwrap(), Color::from("5"));
    }

    #[test]
    fn every_known_value_has_a_variant() {
        assert!(!Color::KNOWN.is_empty());
        for &wire in Color::KNOWN {
            assert_eq!(Color::from(wire).as_str(), wire);
            assert!(!matches!(Color::from(wire), Color::Unknown(_)));
        }
    }

    #[test]
    fn text_converts_into_an_enumeration_and_back() {
        assert_eq!(Color::from("red"), Color::Red);
        assert_eq!(Color::from("red".to_owned()), "red".parse().unwrap());
        assert_eq!(Color::from("blue").to_string(), "blue");
    }
}
