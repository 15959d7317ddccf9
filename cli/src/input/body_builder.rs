//! Builds a JSON body from a document and flags that override it, and records the source of each value.
//!
//! Validation reports problems by JSON pointer. The builder maps a pointer back to the flag, or to the position in the document, that
//! set the value.

use idempost::problem::Problems;
use serde_json::{Map, Value, json};

use super::{flags::Flags, json, origins::is_within, source::StdinReaders};
use crate::diagnostics::{Diagnostic, Diagnostics, Origin, Problem};

/// The order in which problems are reported.
const FIELDS: [&str; 14] = [
    "from",
    "to",
    "subject",
    "cc",
    "bcc",
    "reply_to",
    "html",
    "text",
    "template",
    "headers",
    "topic_id",
    "tags",
    "scheduled_at",
    "attachments",
];

/// A JSON body under construction.
#[derive(Debug, Default)]
pub(crate) struct BodyBuilder {
    fields: Map<String, Value>,
    /// The sources of the values, and the problems.
    flags: Flags,
    /// Pointers of malformed values, replaced by placeholders, whose further problems are meaningless.
    stand_ins: Vec<String>,
    /// The document couldn't be read, so missing fields are unknown.
    unread: bool,
}

impl BodyBuilder {
    /// Reads the document that the flags override. If it can't be read, adds a problem.
    pub(crate) fn read(&mut self, flag: &str, name: &str, stdin: &mut StdinReaders) {
        let fields = self.flags.document(flag, name, stdin);
        self.unread = fields.is_none();
        self.fields = fields.unwrap_or_default();
    }

    /// Whether there is a document that couldn't be read.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread
    }

    /// The current fields.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The current body.
    pub(crate) fn value(&self) -> Value {
        Value::Object(self.fields.clone())
    }

    /// Sets a field to a flag's value.
    pub(crate) fn set(&mut self, field: &str, value: impl Into<Value>, origin: Origin) {
        self.fields.insert(field.to_owned(), value.into());
        self.set_origin(format!("/{field}"), origin);
    }

    /// Sets a field to all values of a repeated flag, if any.
    pub(crate) fn set_all(&mut self, field: &str, flag: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        self.fields.insert(field.to_owned(), json!(values));
        for (i, value) in values.iter().enumerate() {
            self.set_origin(format!("/{field}/{i}"), Origin::nth_flag(flag, i + 1, value));
        }
    }

    /// Appends to a list, or replaces the item that `same` matches. If the field isn't a list, validation reports it.
    pub(crate) fn push_or_replace(
        &mut self,
        field: &str,
        item: Value,
        same: impl Fn(&Value) -> bool,
    ) -> Option<String> {
        let list = self.fields.entry(field).or_insert(Value::Null);
        if list.is_null() {
            *list = json!([]);
        }
        let list = list.as_array_mut()?;
        let at = list.iter().position(same).unwrap_or(list.len());
        if at == list.len() {
            list.push(item);
        } else {
            list[at] = item;
        }
        Some(format!("/{field}/{at}"))
    }

    /// Sets a key of the object at `path`. If that isn't an object, validation reports it.
    pub(crate) fn put_key(&mut self, path: &[&str], key: &str, value: Value, origin: Origin) {
        let mut object = &mut self.fields;
        let mut pointer = String::new();
        for step in path {
            let inner = object.entry(*step).or_insert(Value::Null);
            if inner.is_null() {
                *inner = json!({});
            }
            let Some(inner) = inner.as_object_mut() else { return };
            object = inner;
            pointer = format!("{pointer}/{step}");
        }
        object.insert(key.to_owned(), value);
        self.set_origin(pointer + json::escape_pointer(key).as_str(), origin);
    }

    /// Records the source of the value at the pointer.
    pub(crate) fn set_origin(&mut self, pointer: String, origin: Origin) {
        self.flags.forget(&pointer);
        self.flags.declare_part(pointer, "", origin);
    }

    /// The problems with the flags.
    pub(crate) fn flags(&mut self) -> &mut Flags {
        &mut self.flags
    }

    /// Marks the value at the pointer as a placeholder for a malformed one.
    pub(crate) fn placeholder(&mut self, pointer: &str) {
        self.stand_ins.push(pointer.to_owned());
    }

    /// Adds validation errors with their locations; omits consequences of known problems.
    pub(crate) fn add_problems(&mut self, problems: Problems) {
        self.flags.omit(problems.omitted());
        let lacks_field = |problem: &Problem| {
            problem.code == "required" && problem.path.matches('/').count() < 2 && self.unread
        };
        let is_placeholder =
            |problem: &Problem| self.stand_ins.iter().any(|pointer| is_within(&problem.path, pointer));
        let mut problems = problems.into_vec();
        problems.retain(|problem| !lacks_field(problem) && !is_placeholder(problem));
        self.flags.add_problems(Problems::check(problems));
    }

    /// Adds errors of a further check, except about values already reported.
    pub(crate) fn add_further(&mut self, problems: Problems) {
        let mut problems = problems.into_vec();
        problems.retain(|problem| {
            !self.flags.diagnostics().iter().any(|found| found.problem.path == problem.path)
        });
        if let Err(problems) = Problems::check(problems) {
            self.add_problems(problems);
        }
    }

    /// All problems, in the order of the fields.
    pub(crate) fn into_report(self) -> Diagnostics {
        let order = |found: &Diagnostic| {
            let field = found.problem.path.split('/').nth(1);
            // A problem with the whole body means that a body field is missing; without a path, a flag is malformed.
            let field = if found.problem.code == "required" {
                field.unwrap_or("text")
            } else {
                field.unwrap_or_default()
            };
            FIELDS
                .iter()
                .position(|known| *known == field)
                .map_or(if field.is_empty() { 0 } else { FIELDS.len() + 1 }, |at| at + 1)
        };
        let mut report = self.flags.into_report();
        for one in &mut report.found {
            one.hint = hint(&one.problem, one.origin.as_ref()).or(one.hint.take());
        }
        report.found.sort_by_key(order);
        report
    }
}

/// A hint for a problem beyond its rule, if any.
pub(crate) fn hint(problem: &Problem, origin: Option<&Origin>) -> Option<String> {
    let of_flag =
        |flags: &[&str]| matches!(origin, Some(Origin::Flag { name, .. }) if flags.contains(&name.as_str()));
    match problem.code {
        "address"
            if problem.message.contains("must be a single address")
                && of_flag(&["--to", "--cc", "--bcc", "--reply-to"]) =>
        {
            Some("repeat the flag for each address: a comma can be part of a name".to_owned())
        }
        "unknown" => {
            let name = problem.path.rsplit('/').next()?;
            crate::settings::keys::suggestion_hint(name, FIELDS)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn problems<const N: usize>(paths: [&str; N]) -> Problems {
        Problems::check(paths.map(|path| Problem::new(path, "x", "rule"))).unwrap_err()
    }

    fn span(origin: Option<Origin>) -> (String, usize, Option<Range<usize>>) {
        match origin {
            Some(Origin::Flag { name, n, span, .. }) => (name, n, span),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pointer_maps_back_to_the_flag_and_the_character() {
        let mut builder = BodyBuilder::default();
        builder.set_all("to", "--to", &["ada@example.com".into(), "bob@@example.com".into()]);
        let pointer =
            builder.push_or_replace("tags", json!({"name": "week 47", "value": "x"}), |_| false).unwrap();
        builder.set_origin(format!("{pointer}/name"), Origin::flag_part("--tag", 1, "week 47=x", 0..7));
        let at = |path: &str, code| span(builder.flags.origin(&Problem::new(path, code, "rule")));
        assert_eq!(at("/to/1", "address"), ("--to".to_owned(), 2, Some(4..5)));
        assert_eq!(at("/to/0", "empty"), ("--to".to_owned(), 1, None));
        assert_eq!(at("/tags/0/name", "charset"), ("--tag".to_owned(), 1, Some(4..5)));
        assert_eq!(builder.flags.origin(&Problem::new("/cc/0", "address", "rule")), None);
    }

    #[test]
    fn problems_are_in_the_order_of_the_fields() {
        let mut builder = BodyBuilder::default();
        builder.add_problems(problems(["/tags/0", "/from", "/subjct", "/to/3"]));
        let found = builder.into_report().found;
        let paths: Vec<_> = found.into_iter().map(|found| found.problem.path).collect();
        assert_eq!(paths, ["/from", "/to/3", "/tags/0", "/subjct"]);
    }

    #[test]
    fn placeholders_are_not_validated() {
        let mut builder = BodyBuilder::default();
        builder.placeholder("/tags/1");
        builder.add_problems(problems(["/tags/1/name", "/tags/10/name"]));
        assert_eq!(builder.into_report().found.len(), 1);
    }

    #[test]
    fn a_value_that_is_not_a_list_is_left_to_validation() {
        let mut builder = BodyBuilder::default();
        builder.set("tags", "x", Origin::flag("--input", "-"));
        assert_eq!(builder.push_or_replace("tags", json!({}), |_| false), None);
        assert_eq!(builder.fields()["tags"], "x");
    }
}
