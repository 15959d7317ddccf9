//! Reads a JSON body field by field, and collects all of its problems.
//!
//! A body is parsed into a list of fields whose values stay raw JSON until a field is read: a large attachment isn't parsed twice, and the
//! unread fields are known at the end. Those are ignored, for compatibility with newer clients, but their names are reported in the header
//! `x-sandbox-ignored-fields`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::paging::quoted;
use crate::wire::problem::Problem;

/// All problems of a body, in the order of their detection.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    first: Option<(Kind, String)>,
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Missing,
    Wrong,
    Attachment,
}

impl Problems {
    /// Reports a missing required field.
    pub(crate) fn missing(&mut self, field: impl fmt::Display) {
        self.push(Kind::Missing, || format!("Missing `{field}` field."));
    }

    /// Reports a field that violates a rule; the message is a complete sentence and names the field.
    pub(crate) fn wrong(&mut self, message: impl FnOnce() -> String) {
        self.push(Kind::Wrong, message);
    }

    /// Reports an attachment without content.
    pub(crate) fn attachment(&mut self, message: impl FnOnce() -> String) {
        self.push(Kind::Attachment, message);
    }

    fn push(&mut self, kind: Kind, message: impl FnOnce() -> String) {
        if self.first.is_none() {
            self.first = Some((kind, message()));
        }
        self.count += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Combines all problems into one error: the first in words, the others as a count.
    pub(crate) fn into_problem(self) -> Option<Problem> {
        let (kind, mut message) = self.first?;
        match self.count - 1 {
            0 => {}
            1 => message.push_str(" (And 1 more problem.)"),
            more => {
                // Writing to a string can't fail.
                let _ = fmt::Write::write_fmt(&mut message, format_args!(" (And {more} more problems.)"));
            }
        }
        let name = match kind {
            Kind::Missing => "missing_required_field",
            Kind::Wrong => "validation_error",
            Kind::Attachment => "invalid_attachment",
        };
        Some(Problem { name, ..Problem::validation(message) })
    }
}

/// The maximum number of reported ignored fields.
const MOST_IGNORED: usize = 32;
/// The maximum length of a reported field name, in bytes.
const LONGEST_NAME: usize = 128;

/// The names of ignored fields, as JSON pointers.
#[derive(Debug, Default)]
pub(crate) struct Ignored(Vec<String>);

impl Ignored {
    pub(crate) fn note(&mut self, pointer: &str) {
        // Bounds the size of the header.
        if self.0.len() < MOST_IGNORED {
            let end = pointer.floor_char_boundary(LONGEST_NAME);
            self.0.push(pointer[..end].to_owned());
        }
    }

    /// The header's value; `None` if no field was ignored.
    pub(crate) fn header(&self) -> Option<http::HeaderValue> {
        if self.0.is_empty() {
            return None;
        }
        let names: Vec<_> = self
            .0
            .iter()
            .map(|name| {
                percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS)
                    .to_string()
                    .replace(',', "%2C")
            })
            .collect();
        http::HeaderValue::try_from(names.join(",")).ok()
    }
}

/// The maximum number of items of an array and of fields of an object, unless another rule is stricter. The specification doesn't define a
/// limit; no real client comes near this one, and without it a small body could keep the service busy.
pub(crate) const MAX_ENTRIES: usize = 1_000;

/// Up to this number of fields, comparing names is faster than hashing them.
const FEW: usize = 16;

/// The fields of one JSON object, each of which can be taken once.
pub(crate) struct Fields<'a> {
    place: Place<'a>,
    /// In the order of their first appearance; `None` once taken.
    entries: Vec<Entry<'a>>,
    /// The index of each name, if there are more than a few.
    indexes: Option<HashMap<Cow<'a, str>, usize>>,
}

/// A name and its value as JSON text.
type Entry<'a> = Option<(Cow<'a, str>, &'a RawValue)>;

/// The location of an object in the body, formatted only for messages.
enum Place<'a> {
    /// The prefix of its fields in messages (`attachments[0].`), and in the list of ignored fields (`/attachments/0`).
    Named(String, String),
    /// An element of an array that is a field of another object.
    Element(&'a Fields<'a>, &'a str, usize),
    /// An element of the body, which is an array.
    TopElement(usize),
}

impl Place<'_> {
    fn prefix(&self) -> Cow<'_, str> {
        match self {
            Self::Named(at, _) => at.into(),
            Self::Element(parent, field, index) => format!("{}[{index}].", parent.name(field)).into(),
            Self::TopElement(index) => format!("[{index}].").into(),
        }
    }

    fn pointer(&self) -> Cow<'_, str> {
        match self {
            Self::Named(_, pointer) => pointer.into(),
            Self::Element(parent, field, index) => format!("{}/{index}", parent.pointer(field)).into(),
            Self::TopElement(index) => format!("/{index}").into(),
        }
    }
}

impl<'a> Fields<'a> {
    /// Parses an object. `at` is the prefix of its fields in messages (`attachments[0].`, `[3].`), `pointer` the one in the list of ignored
    /// fields (`/attachments/0`).
    pub(crate) fn read(json: &'a str, at: String, pointer: String, problems: &mut Problems) -> Option<Self> {
        Self::placed(json, Place::Named(at, pointer), problems)
    }

    /// Parses an object that is an element of a field of `parent`.
    pub(crate) fn read_element(
        json: &'a str,
        parent: &'a Fields<'a>,
        field: &'a str,
        index: usize,
        problems: &mut Problems,
    ) -> Option<Self> {
        Self::placed(json, Place::Element(parent, field, index), problems)
    }

    /// Parses an object that is an element of the body.
    pub(crate) fn read_top_element(json: &'a str, index: usize, problems: &mut Problems) -> Option<Self> {
        Self::placed(json, Place::TopElement(index), problems)
    }

    /// Parses a body that must be an object.
    pub(crate) fn read_body(body: Body<'a>, problems: &mut Problems) -> Option<Self> {
        let place = Place::Named(String::new(), String::new());
        match body {
            Body::Object(entries) => Self::of(entries, place, problems),
            Body::Other(json) => Self::placed(json.get(), place, problems),
        }
    }

    fn placed(json: &'a str, place: Place<'a>, problems: &mut Problems) -> Option<Self> {
        let Ok(Object(entries)) = serde_json::from_str(json) else {
            problems.wrong(|| match place.prefix().trim_end_matches('.') {
                "" => format!("The body must be a JSON object; found {}.", kind(json)),
                at => format!("`{at}` must be an object; found {}.", kind(json)),
            });
            return None;
        };
        Self::of(entries, place, problems)
    }

    fn of(mut entries: Vec<Entry<'a>>, place: Place<'a>, problems: &mut Problems) -> Option<Self> {
        if entries.len() > MAX_ENTRIES {
            problems.wrong(|| {
                let prefix = place.prefix();
                let object = match prefix.trim_end_matches('.') {
                    "" => "The body".to_owned(),
                    at => format!("`{at}`"),
                };
                format!("{object} must have at most {MAX_ENTRIES} fields; found {}.", entries.len())
            });
            return None;
        }
        let mut indexes = (entries.len() > FEW).then(|| HashMap::with_capacity(entries.len()));
        for index in 0..entries.len() {
            let Some((name, _)) = &entries[index] else { continue };
            let first = match &mut indexes {
                Some(indexes) => *indexes.entry(name.clone()).or_insert(index),
                None => position(&entries[..index], name).unwrap_or(index),
            };
            // Of repeated keys the last counts.
            if first < index {
                entries[first] = entries[index].take();
            }
        }
        Some(Self { place, entries, indexes })
    }

    /// The name of a field in messages.
    pub(crate) fn name(&self, field: &str) -> String {
        format!("{}{}", self.place.prefix(), &field[..field.floor_char_boundary(LONGEST_NAME)])
    }

    /// The JSON pointer of a field.
    pub(crate) fn pointer(&self, field: &str) -> String {
        format!("{}/{}", self.place.pointer(), field.replace('~', "~0").replace('/', "~1"))
    }

    /// The names of all fields that weren't taken yet.
    pub(crate) fn names(&self) -> Vec<String> {
        self.entries.iter().flatten().map(|(name, _)| name.to_string()).collect()
    }

    fn index(&self, field: &str) -> Option<usize> {
        match &self.indexes {
            Some(indexes) => indexes.get(field).copied(),
            None => position(&self.entries, field),
        }
    }

    fn look(&self, field: &str) -> Option<&'a str> {
        let (_, json) = self.entries[self.index(field)?].as_ref()?;
        Some(json.get())
    }

    /// Whether a field is present and not `null`.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.look(field).is_some_and(|json| json != "null")
    }

    /// Whether a field is present and `null`.
    pub(crate) fn has_null(&self, field: &str) -> bool {
        self.look(field) == Some("null")
    }

    /// Takes a field as raw JSON. `null` counts as absent.
    pub(crate) fn take(&mut self, field: &str) -> Option<&'a str> {
        let index = self.index(field)?;
        let (_, json) = self.entries[index].take()?;
        Some(json.get()).filter(|json| *json != "null")
    }

    /// Takes a field as a JSON value.
    pub(crate) fn take_value(&mut self, field: &str) -> Option<Value> {
        self.take(field).and_then(|json| serde_json::from_str(json).ok())
    }

    /// Takes an optional string.
    pub(crate) fn take_text(&mut self, field: &str, problems: &mut Problems) -> Option<Cow<'a, str>> {
        let json = self.take(field)?;
        let text = text(json);
        if text.is_none() {
            problems.wrong(|| format!("`{}` must be a string; found {}.", self.name(field), kind(json)));
        }
        text
    }

    /// Takes a required, non-empty string.
    pub(crate) fn require_text(&mut self, field: &str, problems: &mut Problems) -> Option<String> {
        if !self.has(field) {
            self.take(field);
            problems.missing(self.name(field));
            return None;
        }
        let text = self.take_text(field, problems)?;
        if text.is_empty() {
            problems.wrong(|| format!("`{}` must not be empty.", self.name(field)));
            return None;
        }
        Some(text.into_owned())
    }

    /// Takes an optional boolean.
    pub(crate) fn take_bool(&mut self, field: &str, problems: &mut Problems) -> Option<bool> {
        let json = self.take(field)?;
        let bool = serde_json::from_str(json).ok();
        if bool.is_none() {
            problems.wrong(|| format!("`{}` must be a boolean; found {}.", self.name(field), kind(json)));
        }
        bool
    }

    /// Takes an optional field with a fixed set of values, and returns the meaning of its value.
    pub(crate) fn take_word<T: Copy>(
        &mut self,
        field: &str,
        words: &[(&str, T)],
        problems: &mut Problems,
    ) -> Option<T> {
        let text = self.take_text(field, problems)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            problems.wrong(|| {
                let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
                format!(
                    "`{}` must be one of {}; found {}.",
                    self.name(field),
                    words.join(", "),
                    quoted(&text)
                )
            });
        }
        found
    }

    /// Takes a field of an update, where `null` differs from an absent field.
    pub(crate) fn take_change<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Change<T> {
        if self.has_null(field) {
            self.take(field);
            return Change::Clear;
        }
        read(self).map_or(Change::Keep, Change::Set)
    }

    /// Takes an optional string without control characters, since it becomes part of a header of the email.
    pub(crate) fn take_line(&mut self, field: &str, problems: &mut Problems) -> Option<Cow<'a, str>> {
        let line = self.take_text(field, problems)?;
        if has_control(&line) {
            problems.wrong(|| {
                format!("`{}` must not hold control characters; found {}.", self.name(field), quoted(&line))
            });
            return None;
        }
        Some(line)
    }

    /// Takes an array's elements as raw JSON: at most [`MAX_ENTRIES`].
    pub(crate) fn take_array(&mut self, field: &str, problems: &mut Problems) -> Option<Vec<&'a RawValue>> {
        let json = self.take(field)?;
        let Ok(array) = serde_json::from_str::<Vec<_>>(json) else {
            problems.wrong(|| format!("`{}` must be an array; found {}.", self.name(field), kind(json)));
            return None;
        };
        if array.len() > MAX_ENTRIES {
            problems.wrong(|| {
                format!(
                    "`{}` must have at most {MAX_ENTRIES} items; found {}.",
                    self.name(field),
                    array.len()
                )
            });
            return None;
        }
        Some(array)
    }

    /// Reports all fields that weren't taken as ignored.
    pub(crate) fn leave(self, ignored: &mut Ignored) {
        for (name, _) in self.entries.iter().flatten() {
            ignored.note(&self.pointer(name));
        }
    }
}

fn position(entries: &[Entry<'_>], name: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.as_ref().is_some_and(|(known, _)| known == name))
}

/// An update of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change<T> {
    /// The field is absent.
    Keep,
    /// It is `null`.
    Clear,
    /// The new value.
    Set(T),
}

/// Decodes a JSON string, borrowed if it has no escapes.
pub(crate) fn text(json: &str) -> Option<Cow<'_, str>> {
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
    if !json.trim_ascii_start().starts_with('"') {
        return None;
    }
    serde_json::Deserializer::from_str(json).deserialize_str(Text).ok()
}

/// The type of a JSON value, for messages.
pub(crate) fn kind(json: &str) -> &'static str {
    match json.trim_start().as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(_) => "a number",
        None => "nothing",
    }
}

/// Whether a text contains characters that could end a header line (C0 and DEL).
pub(crate) fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_control())
}

/// The well-formed JSON body of a request.
pub(crate) enum Body<'a> {
    Object(Vec<Entry<'a>>),
    Other(&'a RawValue),
}

impl<'a> Body<'a> {
    /// Parses it once if it is an object, the usual case.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, Problem> {
        match serde_json::from_slice(body) {
            Ok(Object(entries)) => Ok(Self::Object(entries)),
            Err(_) => well_formed(body).map(Self::Other),
        }
    }
}

/// The body of a request as raw JSON, checked to be well-formed.
pub(crate) fn well_formed(body: &[u8]) -> Result<&RawValue, Problem> {
    if body.is_empty() {
        return Err(Problem::unreadable("The request body is empty; it must be JSON."));
    }
    serde_json::from_slice(body)
        .map_err(|error| Problem::unreadable(format!("The request body is not well-formed JSON: {error}.")))
}

struct Object<'a>(Vec<Entry<'a>>);

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
