//! Reading a JSON body field by field, and collecting everything that is wrong with it.
//!
//! A body is read as a list of fields whose values stay text until somebody asks for them: a large attachment is
//! not taken apart twice, and what nobody asked for is known at the end. Such fields are ignored, for the sake of
//! newer clients, but their names are told in the header `x-sandbox-ignored-fields`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::paging::quoted;
use crate::wire::problem::Problem;

/// Everything that was found wrong, in the order in which it was found.
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
    /// A required field is absent.
    pub(crate) fn missing(&mut self, field: impl fmt::Display) {
        self.push(Kind::Missing, || format!("Missing `{field}` field."));
    }

    /// A field breaks a rule; the message is the whole sentence and names the field.
    pub(crate) fn wrong(&mut self, message: impl FnOnce() -> String) {
        self.push(Kind::Wrong, message);
    }

    /// An attachment has nothing to attach.
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

    /// One error body for all: the first problem in words, the others counted.
    pub(crate) fn into_problem(self) -> Option<Problem> {
        let (kind, mut message) = self.first?;
        match self.count - 1 {
            0 => {}
            1 => message.push_str(" (And 1 more problem.)"),
            more => {
                // Writing to a string does not fail.
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

/// How many ignored fields are told.
const MOST_IGNORED: usize = 32;
/// How much of a field's name is told, in bytes.
const LONGEST_NAME: usize = 128;

/// Names of fields that nobody asked for, as JSON pointers.
#[derive(Debug, Default)]
pub(crate) struct Ignored(Vec<String>);

impl Ignored {
    pub(crate) fn note(&mut self, pointer: &str) {
        // A header has to stay a header: not more than so many names, and none longer than a line.
        if self.0.len() < MOST_IGNORED {
            let end = pointer.floor_char_boundary(LONGEST_NAME);
            self.0.push(pointer[..end].to_owned());
        }
    }

    /// The header's value, or none if everything was used.
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

/// The most items of an array and the most fields of an object, where no rule of its own is stricter. The specification is silent here; no request of
/// a real client is nearly as large, and without a cap one small body could keep the service busy.
pub(crate) const MAX_ENTRIES: usize = 1_000;

/// Up to so many fields are looked up by comparing their names, which is faster than a hash of each.
const FEW: usize = 16;

/// The fields of one JSON object, each handed out once.
pub(crate) struct Fields<'a> {
    place: Place<'a>,
    /// In the order of their first appearance; None once it was taken.
    entries: Vec<Entry<'a>>,
    /// Where each name is among the entries, if there are more than a few.
    indexes: Option<HashMap<Cow<'a, str>, usize>>,
}

/// A name and its value as JSON text.
type Entry<'a> = Option<(Cow<'a, str>, &'a RawValue)>;

/// Where an object stands in the body. It is put into words only where something is said about it.
enum Place<'a> {
    /// What stands before the names of its fields in messages (`attachments[0].`), and in the list of ignored fields (`/attachments/0`).
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
    /// Reads an object. `at` stands before the names of its fields in messages (`attachments[0].`, `[3].`), `pointer`
    /// in the list of ignored fields (`/attachments/0`).
    pub(crate) fn read(json: &'a str, at: String, pointer: String, problems: &mut Problems) -> Option<Self> {
        Self::placed(json, Place::Named(at, pointer), problems)
    }

    /// Reads an object that is an element of a field of `parent`.
    pub(crate) fn read_element(
        json: &'a str,
        parent: &'a Fields<'a>,
        field: &'a str,
        index: usize,
        problems: &mut Problems,
    ) -> Option<Self> {
        Self::placed(json, Place::Element(parent, field, index), problems)
    }

    /// Reads an object that is an element of the body.
    pub(crate) fn read_top_element(json: &'a str, index: usize, problems: &mut Problems) -> Option<Self> {
        Self::placed(json, Place::TopElement(index), problems)
    }

    /// Reads a body that must be an object.
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
            // Of a key that is given twice the last counts.
            if first < index {
                entries[first] = entries[index].take();
            }
        }
        Some(Self { place, entries, indexes })
    }

    /// The name of a field as messages write it.
    pub(crate) fn name(&self, field: &str) -> String {
        format!("{}{}", self.place.prefix(), &field[..field.floor_char_boundary(LONGEST_NAME)])
    }

    /// The pointer of a field as the list of ignored fields writes it.
    pub(crate) fn pointer(&self, field: &str) -> String {
        format!("{}/{}", self.place.pointer(), field.replace('~', "~0").replace('/', "~1"))
    }

    /// The names of all fields that were not taken yet.
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

    /// Whether a field is there and not `null`.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.look(field).is_some_and(|json| json != "null")
    }

    /// Whether a field is there and `null`.
    pub(crate) fn has_null(&self, field: &str) -> bool {
        self.look(field) == Some("null")
    }

    /// Takes a field's JSON text. Absent and `null` are the same.
    pub(crate) fn take(&mut self, field: &str) -> Option<&'a str> {
        let index = self.index(field)?;
        let (_, json) = self.entries[index].take()?;
        Some(json.get()).filter(|json| *json != "null")
    }

    /// Takes a field as a JSON value.
    pub(crate) fn take_value(&mut self, field: &str) -> Option<Value> {
        self.take(field).and_then(|json| serde_json::from_str(json).ok())
    }

    /// Takes a field that must be a string if it is there.
    pub(crate) fn take_text(&mut self, field: &str, problems: &mut Problems) -> Option<Cow<'a, str>> {
        let json = self.take(field)?;
        let text = text(json);
        if text.is_none() {
            problems.wrong(|| format!("`{}` must be a string; found {}.", self.name(field), kind(json)));
        }
        text
    }

    /// Takes a string that must be there and have something in it.
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

    /// Takes a field that must be true or false if it is there.
    pub(crate) fn take_bool(&mut self, field: &str, problems: &mut Problems) -> Option<bool> {
        let json = self.take(field)?;
        let bool = serde_json::from_str(json).ok();
        if bool.is_none() {
            problems.wrong(|| format!("`{}` must be a boolean; found {}.", self.name(field), kind(json)));
        }
        bool
    }

    /// Takes a field that must be one of some words if it is there, and gives what the word stands for.
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

    /// Takes a field of an update, where `null` says something else than no field at all.
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

    /// Takes a string that may not hold control characters, since it becomes part of a header of the email.
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

    /// Takes an array's elements as JSON text: at most [`MAX_ENTRIES`].
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

    /// What nobody has taken.
    pub(crate) fn leave(self, ignored: &mut Ignored) {
        for (name, _) in self.entries.iter().flatten() {
            ignored.note(&self.pointer(name));
        }
    }
}

fn position(entries: &[Entry<'_>], name: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.as_ref().is_some_and(|(known, _)| known == name))
}

/// What an update does with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change<T> {
    /// The field is not there.
    Keep,
    /// It is `null`.
    Clear,
    /// The new value.
    Set(T),
}

/// The string in a JSON text, borrowed where it has no escapes.
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
    // The error for what is no string would be put into words.
    if !json.trim_ascii_start().starts_with('"') {
        return None;
    }
    serde_json::Deserializer::from_str(json).deserialize_str(Text).ok()
}

/// What sort of value a JSON text is, for messages.
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

/// Whether a text holds characters that could end a header line (C0 and DEL).
pub(crate) fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_control())
}

/// The body of a request, which is well-formed JSON.
pub(crate) enum Body<'a> {
    Object(Vec<Entry<'a>>),
    Other(&'a RawValue),
}

impl<'a> Body<'a> {
    /// Reads it once if it is an object, as it should be.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, Problem> {
        match serde_json::from_slice(body) {
            Ok(Object(entries)) => Ok(Self::Object(entries)),
            Err(_) => well_formed(body).map(Self::Other),
        }
    }
}

/// The body of a request as JSON text, checked to be well-formed as a whole.
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

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
