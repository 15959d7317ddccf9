//! Reads the fields of a JSON object.
//!
//! A body is parsed into a list of fields whose values stay raw JSON until a field is read: a large attachment isn't parsed twice, and the
//! unread fields are known at the end. They are ignored, for compatibility with newer clients, but reported in the header
//! `x-sandbox-ignored-fields`.
//!
//! Every method returns the value or evidence of a reported problem. A reader reads all of its fields before it uses the first, so that all
//! problems are reported; `input!` declares such readers.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::change::Change;
use crate::wire::declared::{Input, Kind};
use crate::wire::ignored::Ignored;
use crate::wire::json::{self, Body, Entry, Object, has_control, kind};
use crate::wire::location::Location;
use crate::wire::paging::quote;
use crate::wire::problem::Problem;
use crate::wire::problems::{Checked, Problems, Report, Reported};

/// The maximum number of items of an array and of fields of an object, unless another rule is stricter. The specification doesn't define a
/// limit; no real client comes near this one, and without it a small body could keep the service busy.
pub const MAX_ENTRIES: usize = 1_000;

/// Up to this number of fields, comparing names is faster than hashing them.
const MAX_UNINDEXED: usize = 16;

/// The fields of one JSON object, each of which can be read once.
pub struct Fields<'a> {
    location: Location<'a>,
    report: &'a Report<'a>,
    /// In the order of their first appearance; `None` once taken.
    entries: Vec<Entry<'a>>,
    /// The index of each name, if there are more than a few.
    indexes: Option<HashMap<Cow<'a, str>, usize>>,
    /// The fields that were reported as missing.
    missing: Vec<(String, Reported)>,
}

/// Reads a body that must be an object: the input, or all of its problems.
pub fn read<T>(
    body: Body<'_>,
    ignored: &RefCell<Ignored>,
    read: impl FnOnce(&mut Fields<'_>) -> Checked<T>,
) -> Result<T, Problems> {
    let report = Report::new(ignored);
    let input = read_body(body, &report, read);
    report.finish(input)
}

/// Reads a body of the sandbox's own routes, which may contain only known fields.
pub fn read_strict<T>(
    body: &[u8],
    known: &[Input],
    read: impl FnOnce(&mut Fields<'_>) -> Checked<T>,
) -> Result<T, Problem> {
    let ignored = RefCell::default();
    let report = Report::strict(&ignored, known);
    let input = read_body(Body::parse(body)?, &report, read);
    Ok(report.finish(input)?)
}

fn read_body<T>(
    body: Body<'_>,
    report: &Report<'_>,
    read: impl FnOnce(&mut Fields<'_>) -> Checked<T>,
) -> Checked<T> {
    match body {
        Body::Object(object) => Fields::read(object.0, Location::Body, report, read),
        Body::Other(json) => Field::new(json.get(), Location::Body, report).object(read),
    }
}

/// Reads an object that is an item of the body, which is an array.
pub fn read_item<T>(
    json: &str,
    index: usize,
    ignored: &RefCell<Ignored>,
    read: impl FnOnce(&mut Fields<'_>) -> Checked<T>,
) -> Result<T, Problems> {
    let report = Report::new(ignored);
    let input = Field::new(json, Location::Item(&Location::Body, index), &report).object(read);
    report.finish(input)
}

impl<'a> Fields<'a> {
    pub fn read<T>(
        entries: Vec<Entry<'a>>,
        location: Location<'a>,
        report: &'a Report<'a>,
        read: impl FnOnce(&mut Fields<'_>) -> Checked<T>,
    ) -> Checked<T> {
        if entries.len() > MAX_ENTRIES {
            return Err(Field::new("", location, report).too_many("fields", entries.len()));
        }
        let mut fields = Self::new(entries, location, report);
        let input = read(&mut fields);
        fields.report_unread();
        input
    }

    fn report_unread(&self) {
        for (name, _) in self.entries.iter().flatten() {
            self.report.report_unread(&self.location, name);
        }
    }

    fn new(mut entries: Vec<Entry<'a>>, location: Location<'a>, report: &'a Report<'a>) -> Self {
        let mut indexes = (entries.len() > MAX_UNINDEXED).then(|| HashMap::with_capacity(entries.len()));
        for index in 0..entries.len() {
            let Some((name, _)) = &entries[index] else { continue };
            let first = match &mut indexes {
                Some(indexes) => *indexes.entry(name.clone()).or_insert(index),
                None => position(&entries[..index], name).unwrap_or(index),
            };
            // If a key is repeated, the last one counts.
            if first < index {
                entries[first] = entries[index].take();
            }
        }
        Self { location, report, entries, indexes, missing: Vec::new() }
    }

    fn index(&self, field: &str) -> Option<usize> {
        self.report.check_declared(field);
        match &self.indexes {
            Some(indexes) => indexes.get(field).copied(),
            None => position(&self.entries, field),
        }
    }

    fn peek(&self, field: &str) -> Option<&'a str> {
        let (_, json) = self.entries[self.index(field)?].as_ref()?;
        Some(json.get())
    }

    /// Whether a field is present and not `null`.
    pub fn has(&self, field: &str) -> bool {
        self.peek(field).is_some_and(|json| json != "null")
    }

    /// Whether a field is present and `null`.
    pub fn has_null(&self, field: &str) -> bool {
        self.peek(field) == Some("null")
    }

    /// Which of two related fields are present. `null` counts as absent, and as read.
    pub fn alternatives(&mut self, names: [&str; 2]) -> [bool; 2] {
        names.map(|name| {
            if self.has_null(name) {
                self.skip(name);
            }
            self.has(name)
        })
    }

    /// The name of a field in messages.
    pub fn name(&self, field: &str) -> String {
        Location::Field(&self.location, field).to_string()
    }

    /// The name of the object itself in messages.
    pub fn own_name(&self) -> impl Display {
        self.location
    }

    /// The target for problems that don't concern a single field.
    pub fn report(&self) -> &'a Report<'a> {
        self.report
    }

    /// Reports that a field violates a rule, which continues a sentence that starts with the field's name.
    pub fn reject(&self, field: &str, rule: impl Display) -> Reported {
        self.report.report(format_args!("`{}` {rule}.", Location::Field(&self.location, field)))
    }

    /// Reports missing required fields, before other problems of the object.
    pub fn require(&mut self, fields: &[&str]) {
        for field in fields {
            if !self.has(field) {
                self.report_missing(field);
            }
        }
    }

    /// Reports an object with none of these fields.
    pub fn require_any(&self, names: &[&str]) {
        if !names.iter().any(|name| self.has(name) || self.has_null(name)) {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            self.report.report(format_args!("The body must have at least one of {names}; found none."));
        }
    }

    /// Reports a missing field, once.
    fn report_missing(&mut self, field: &str) -> Reported {
        if let Some(reported) =
            self.missing.iter().find_map(|(known, reported)| (known == field).then_some(*reported))
        {
            return reported;
        }
        let reported = self.report.report_missing(Location::Field(&self.location, field));
        self.missing.push((field.to_owned(), reported));
        reported
    }

    /// Reads a required field.
    pub fn required<T>(&mut self, field: &str, read: impl FnOnce(&Field<'_>) -> Checked<T>) -> Checked<T> {
        self.optional(field, read)?.ok_or_else(|| self.report_missing(field))
    }

    /// Reads a field that is required only if `needed`.
    pub fn required_if<T>(
        &mut self,
        needed: bool,
        field: &str,
        read: impl FnOnce(&Field<'_>) -> Checked<T>,
    ) -> Checked<Option<T>> {
        if needed { self.required(field, read).map(Some) } else { self.optional(field, read) }
    }

    /// Reads a boolean, false by default.
    pub fn flag(&mut self, field: &str) -> Checked<bool> {
        Ok(self.optional(field, boolean)?.unwrap_or(false))
    }

    /// Reads an optional whole number within its declared bounds.
    pub fn integer<T: TryFrom<u64>>(&mut self, field: &Input) -> Checked<Option<T>> {
        let Kind::Integer(min, max) = field.kind else { return Ok(None) };
        self.optional(field.name, |field| {
            let number = field.integer(min..=max)?;
            T::try_from(number).map_err(|_| field.reject_type("a smaller number"))
        })
    }

    /// Reads an optional field. `null` counts as absent.
    pub fn optional<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&Field<'_>) -> Checked<T>,
    ) -> Checked<Option<T>> {
        let null_or = |field: &Field<'_>| if field.is_null() { Ok(None) } else { read(field).map(Some) };
        Ok(self.nullable(field, null_or)?.flatten())
    }

    /// Reads a field of an update, where `null` differs from an absent field.
    pub fn patch<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&Field<'_>) -> Checked<T>,
    ) -> Checked<Change<T>> {
        let null_or = |field: &Field<'_>| if field.is_null() { Ok(None) } else { read(field).map(Some) };
        Ok(match self.nullable(field, null_or)? {
            None => Change::Keep,
            Some(None) => Change::Clear,
            Some(Some(value)) => Change::Set(value),
        })
    }

    /// Reads an optional field whose value can be `null`.
    pub fn nullable<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&Field<'_>) -> Checked<T>,
    ) -> Checked<Option<T>> {
        let Some(json) = self.take(field) else { return Ok(None) };
        read(&Field::new(json, Location::Field(&self.location, field), self.report)).map(Some)
    }

    fn take(&mut self, field: &str) -> Option<&'a str> {
        let index = self.index(field)?;
        self.entries[index].take().map(|(_, json)| json.get())
    }

    /// Rejects a field that the object can't have.
    pub fn forbid(&mut self, field: &str, rule: impl Display) {
        let _ = self.optional(field, |field| Err::<(), _>(field.reject(rule)));
    }

    /// Ignores empty strings in these fields, if the settings permit it.
    pub fn ignore_empty(&mut self, fields: &[&str]) {
        for field in fields {
            if self.report.accepts_empty() && self.peek(field) == Some("\"\"") {
                self.report.ignore(&Location::Field(&self.location, field).pointer());
                self.skip(field);
            }
        }
    }

    /// Marks a field as read.
    pub fn skip(&mut self, field: &str) {
        let _ = self.optional(field, |_| Ok(()));
    }

    /// Reads every field, in the order of the object, with its name. Continues after invalid ones.
    pub fn each<T>(&mut self, mut read: impl FnMut(&str, &Field<'_>) -> Checked<T>) -> Checked<Vec<T>> {
        let (location, report) = (&self.location, self.report);
        let entries = self.entries.iter_mut().filter_map(Option::take);
        collect(
            0,
            entries.map(|(name, json)| {
                read(&name, &Field::new(json.get(), Location::Field(location, &name), report))
            }),
        )
    }
}

fn position(entries: &[Entry<'_>], name: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.as_ref().is_some_and(|(known, _)| known == name))
}

/// A value of a body that isn't parsed yet.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    json: &'a str,
    location: Location<'a>,
    report: &'a Report<'a>,
}

impl<'a> Field<'a> {
    pub fn new(json: &'a str, location: Location<'a>, report: &'a Report<'a>) -> Self {
        Self { json, location, report }
    }

    /// The raw JSON.
    pub fn json(&self) -> &'a str {
        self.json
    }

    /// The name in messages.
    pub fn name(&self) -> impl Display {
        self.location
    }

    pub fn is_null(&self) -> bool {
        self.json == "null"
    }

    /// The type of its value, for messages.
    pub fn kind(&self) -> &'static str {
        kind(self.json)
    }

    /// The value, where messages contain it, or else its type.
    fn describe_value(&self) -> Cow<'a, str> {
        match (json::text(self.json), self.kind()) {
            (Some(text), _) if self.report.is_strict() => quote(&text).into(),
            (_, "a number" | "a boolean") if self.report.is_strict() => self.json.into(),
            (None, kind @ "a string") => match json::unpaired_surrogate(self.json) {
                Some(escape) => format!("{kind} with the unpaired surrogate `{escape}`").into(),
                None => kind.into(),
            },
            (_, kind) => kind.into(),
        }
    }

    /// Reports that the value violates a rule, which continues a sentence that starts with the field's name.
    pub fn reject(&self, rule: impl Display) -> Reported {
        self.report.report(format_args!("`{}` {rule}.", self.location))
    }

    /// Reports that the value has the wrong type.
    pub fn reject_type(&self, wanted: impl Display) -> Reported {
        let found = self.describe_value();
        match self.location {
            Location::Body => {
                self.report.report(format_args!("The body must be a JSON object; found {found}."))
            }
            _ => self.reject(format_args!("must be {wanted}; found {found}")),
        }
    }

    /// The target for problems that don't concern a single field.
    pub fn report(&self) -> &'a Report<'a> {
        self.report
    }

    /// Adds the field to the ignored ones.
    pub fn ignore(&self) {
        self.report.ignore(&self.location.pointer());
    }

    /// The string, borrowed if it has no escapes.
    pub fn text(&self) -> Checked<Cow<'a, str>> {
        json::text(self.json).ok_or_else(|| self.reject_type("a string"))
    }

    /// A string without control characters, since it becomes part of a header of the email.
    pub fn as_line(&self) -> Checked<Cow<'a, str>> {
        let line = self.text()?;
        if has_control(&line) {
            return Err(
                self.reject(format_args!("must not contain control characters; found {}", quote(&line)))
            );
        }
        Ok(line)
    }

    /// A string that `parse` accepts; its error continues a sentence that starts with the field's name.
    pub fn parse_with<T, E: Display>(&self, parse: impl FnOnce(&str) -> Result<T, E>) -> Checked<T> {
        let text = self.text()?;
        parse(&text).map_err(|rule| self.reject(format_args!("{rule}; found {}", quote(&text))))
    }

    /// The meaning of a string from a fixed set.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Checked<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.reject(format_args!("must be one of {}; found {}", words.join(", "), quote(&text)))
        })
    }

    /// A whole number within these bounds.
    pub fn integer<T: DeserializeOwned + Display + PartialOrd>(
        &self,
        range: RangeInclusive<T>,
    ) -> Checked<T> {
        let number = serde_json::from_str(self.json).ok().filter(|number| range.contains(number));
        let (min, max) = range.into_inner();
        number.ok_or_else(|| self.reject_type(format_args!("a whole number from {min} to {max}")))
    }

    /// Any JSON value; `None` if it is nested too deeply.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_str(self.json).ok()
    }

    /// Reads an object. Its fields that aren't read are ignored.
    pub fn object<T>(&self, read: impl FnOnce(&mut Fields<'_>) -> Checked<T>) -> Checked<T> {
        Fields::read(self.entries()?, self.location, self.report, read)
    }

    fn entries(&self) -> Checked<Vec<Entry<'a>>> {
        match serde_json::from_str(self.json) {
            Ok(Object(entries)) => Ok(entries),
            Err(_) if self.is_empty_object() => Ok(Vec::new()),
            Err(_) => Err(self.reject_type("an object")),
        }
    }

    /// Whether this is an empty array that counts as an empty object, which PHP serializes this way. It is reported as ignored.
    pub fn is_empty_object(&self) -> bool {
        let empty = self.report.accepts_empty() && serde_json::from_str::<[(); 0]>(self.json).is_ok();
        if empty {
            self.ignore();
        }
        empty
    }

    /// The items of an array: at most [`MAX_ENTRIES`].
    pub fn items(&self) -> Checked<Items<'a>> {
        let items = self.items_unlimited("an array")?;
        if items.len() > MAX_ENTRIES {
            return Err(self.too_many("items", items.len()));
        }
        Ok(items)
    }

    /// The items of an array of any length; `wanted` describes the expected value in messages.
    pub fn items_unlimited(&self, wanted: &str) -> Checked<Items<'a>> {
        let items = serde_json::from_str(self.json).map_err(|_| self.reject_type(wanted))?;
        Ok(Items { field: *self, items })
    }

    /// Reads an array of objects.
    pub fn objects<T>(&self, mut read: impl FnMut(&mut Fields<'_>) -> Checked<T>) -> Checked<Vec<T>> {
        self.items()?.read(|_, item| item.object(&mut read))
    }

    pub fn too_many(&self, what: &str, found: usize) -> Reported {
        let subject = self.location.subject();
        self.report.report(format_args!("{subject} must have at most {MAX_ENTRIES} {what}; found {found}."))
    }
}

/// A boolean.
pub fn boolean(field: &Field<'_>) -> Checked<bool> {
    serde_json::from_str(field.json).map_err(|_| field.reject_type("a boolean"))
}

/// The items of an array.
pub struct Items<'a> {
    field: Field<'a>,
    items: Vec<&'a RawValue>,
}

impl Items<'_> {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Reads all items, continuing after invalid ones, to report the problems of all.
    pub fn read<T>(&self, mut read: impl FnMut(usize, &Field<'_>) -> Checked<T>) -> Checked<Vec<T>> {
        let Field { location, report, .. } = &self.field;
        let items = self.items.iter().enumerate();
        collect(
            self.len(),
            items.map(|(index, item)| {
                read(index, &Field { json: item.get(), location: Location::Item(location, index), report })
            }),
        )
    }
}

/// Collects values, without stopping at the first one with a problem.
pub fn collect<T>(capacity: usize, read: impl Iterator<Item = Checked<T>>) -> Checked<Vec<T>> {
    let mut all = Ok(Vec::with_capacity(capacity));
    for one in read {
        match (one, &mut all) {
            (Ok(value), Ok(values)) => values.push(value),
            (Ok(_), Err(_)) => {}
            (Err(reported), _) => all = Err(reported),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::readers::{non_empty, string};

    fn checked<T>(body: &str, reader: impl FnOnce(&mut Fields<'_>) -> Checked<T>) -> Result<T, String> {
        let ignored = RefCell::default();
        let body = Body::parse(body.as_bytes()).unwrap();
        read(body, &ignored, reader).map_err(|problems| Problem::from(problems).message)
    }

    #[test]
    fn all_problems_are_reported_the_first_in_words() {
        let read_all = |fields: &mut Fields<'_>| {
            fields.require(&["name", "size"]);
            let name = fields.required("name", non_empty);
            let open = fields.optional("open", boolean);
            let items = fields.optional("items", |field| field.objects(|item| item.required("id", string)));
            Ok((name?, open?, items?))
        };
        for (body, expected) in [
            (r#"{"name": "a", "size": 1, "open": null}"#, Ok(("a".to_owned(), None, None))),
            (r#"{"size": 1}"#, Err("Missing `name` field.".to_owned())),
            (
                r#"{"name": "", "open": 1, "items": [{}, 5, {"id": 1}]}"#,
                Err("Missing `size` field. (And 5 more problems.)".to_owned()),
            ),
            (
                r#"{"name": "\ud83d\ude00\\ud800\ud800!", "size": 1}"#,
                Err(r"`name` must be a string; found a string with the unpaired surrogate `\ud800`."
                    .to_owned()),
            ),
            (
                r#"{"name": "\udFFF", "size": 1}"#,
                Err(r"`name` must be a string; found a string with the unpaired surrogate `\udFFF`."
                    .to_owned()),
            ),
            (
                r#"{"name": "a", "size": 1, "items": [{"id": "x"}, {"id": 1}]}"#,
                Err("`items[1].id` must be a string; found a number.".to_owned()),
            ),
            ("[]", Err("The body must be a JSON object; found an array.".to_owned())),
        ] {
            assert_eq!(checked(body, read_all), expected, "{body}");
        }
    }

    #[test]
    fn unread_fields_are_ignored_with_their_location() {
        let ignored = RefCell::new(Ignored::default());
        let body = Body::parse(br#"{"a": [{"id": "1", "x/y": 2}], "b": 3}"#).unwrap();
        let read = read(body, &ignored, |fields| {
            fields.required("a", |field| field.objects(|item| item.required("id", string)))
        });
        assert_eq!(read.unwrap(), ["1"]);
        assert_eq!(ignored.borrow().header().unwrap(), "/a/0/x~1y,/b");
    }
}
