//! Enums whose values are words on the wire.

/// Declares an enum, with the word of each value.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($(#[$attribute:meta])* $visible:vis enum $name:ident { $($(#[$of_value:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$attribute])*
        $visible enum $name {
            $($(#[$of_value])* $value,)+
        }

        impl $crate::wire::described::Described for $name {
            fn schema(_: &mut $crate::wire::described::Named) -> serde_json::Value {
                serde_json::json!({"type": "string", "enum": $crate::wire::words_of(Self::WORDS)})
            }
        }

        #[allow(dead_code, reason = "some words are only read, others only written")]
        impl $name {
            /// Every value with its word.
            $visible const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$value)),+];

            /// The word of this value.
            $visible fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }
    };
}
pub use words;
