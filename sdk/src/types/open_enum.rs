//! Enumerations that the service may extend without breaking anybody.

use std::fmt;

/// A value that this version of the client has no name for, kept as the service wrote it.
///
/// It can't be built from outside, so a match on its text never shadows a variant that a later version adds.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnknownValue(Box<str>);

impl UnknownValue {
    pub(crate) fn new(text: String) -> Self {
        Self(text.into_boxed_str())
    }

    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Defines an enumeration with wire names and an open end.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$doc])*
        ///
        /// The set is open: a value that is not named here arrives as `Unknown` and decodes without an error.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
            /// A value that this version of the client has no name for.
            Unknown($crate::types::UnknownValue),
        }

        impl $name {
            /// The value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $wire,)+
                    Self::Unknown(value) => value.as_str(),
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($wire => Self::$variant,)+
                    _ => Self::Unknown($crate::types::UnknownValue::new(text)),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(Self::from)
            }
        }
    };
}
