//! Raw JSON: bodies, objects and strings, parsed no further than a reader needs.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr2;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::wire::problem::Problem;

/// A name and its value as JSON text; `None` once taken.
pub type Entry<'a> = Option<(Cow<'a, str>, &'a RawValue)>;

/// The body of a request as raw JSON, checked to be well-formed.
pub fn well_formed(body: &[u8]) -> Result<&RawValue, Problem> {
    if body.is_empty() {
        return Err(Problem::bad_request("The request body is empty; it must be JSON."));
    }
    serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("The request body is not well-formed JSON: {error}.")))
}

/// Decodes a JSON string, borrowed if it has no escapes.
pub fn text(json: &str) -> Option<Cow<'_, str>> {
    struct Text;
    impl<'de> Visitor<'de> for Text {
        type Value = Cow<'de, str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(text))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Cow::Owned(text.to_owned()))
        }
    }
    // Avoids the cost of formatting the parser's error for other types.
    let inner = json.trim_ascii().strip_prefix('"')?;
    // The usual string has no escapes, so it is the text between its quotes.
    if let Some(inner) =
        inner.strip_suffix('"').filter(|inner| memchr2(b'"', b'\\', inner.as_bytes()).is_none())
    {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::Deserializer::from_str(json).deserialize_str(Text).ok()
}

/// The first escape of a JSON string that is half of a surrogate pair without the other half: no text contains it.
pub fn unpaired_surrogate(json: &str) -> Option<&str> {
    let unit = |escape: &str| u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok();
    let mut rest = json;
    loop {
        rest = &rest[rest.find('\\')?..];
        let escape = rest.get(..6).filter(|escape| unit(escape).is_some());
        let length = match escape.and_then(unit) {
            None => 2,
            Some(0xD800..=0xDBFF) if matches!(rest.get(6..12).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => return escape,
            Some(_) => 6,
        };
        rest = rest.get(length..)?;
    }
}

/// The type of a JSON value, for messages.
pub fn kind(json: &str) -> &'static str {
    match json.trim_start().as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(_) if json.trim().parse().is_ok_and(f64::is_infinite) => "a number that is too large",
        Some(_) => "a number",
        None => "nothing",
    }
}

/// Whether a text contains characters that could end a header line (C0 and DEL).
pub fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_control())
}

/// The well-formed JSON body of a request.
pub enum Body<'a> {
    Object(Object<'a>),
    Other(&'a RawValue),
}

impl<'a> Body<'a> {
    /// Parses it once if it is an object, the usual case.
    pub fn parse(body: &'a [u8]) -> Result<Self, Problem> {
        // As text, so that UTF-8 isn't checked again for each name and value.
        match std::str::from_utf8(body).ok().and_then(|text| serde_json::from_str(text).ok()) {
            Some(object) => Ok(Self::Object(object)),
            None => well_formed(body).map(Self::Other),
        }
    }
}

/// The entries of an object, with repeated keys.
pub struct Object<'a>(pub Vec<Entry<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    entries.push(Some((key, map.next_value()?)));
                }
                Ok(Object(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
