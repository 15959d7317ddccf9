//! The validator, which collects problems at the current location of an input.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};

use super::{Problem, Problems, address, limits, pointer::push_token};

/// An input that can be validated before it is sent.
///
/// Every input type also has an inherent `check`, so only generic code needs to import the trait.
pub trait Validate {
    /// Validates the input against all rules of the specification that don't depend on the service's data.
    ///
    /// # Errors
    /// All problems together, in field order.
    fn check(&self) -> Result<(), Problems>;
}

/// Implements [`Validate`] and an inherent `check` using a method `validate(&self, &mut Validator)`. A `private` type implements only the trait.
macro_rules! validate {
    (private $input:ty) => {
        impl $crate::problem::Validate for $input {
            fn check(&self) -> Result<(), $crate::problem::Problems> {
                $crate::problem::Validator::run(|validator| self.validate(validator))
            }
        }
    };
    ($(#[$doc:meta])* $input:ty) => {
        impl $input {
            $(#[$doc])*
            /// Validates the input against all rules of the specification that don't depend on the service's data.
            ///
            /// # Errors
            /// All problems together, in field order.
            pub fn check(&self) -> Result<(), $crate::problem::Problems> {
                $crate::problem::Validate::check(self)
            }
        }

        validate!(private $input);
    };
}

/// Collects at most [`limits::PROBLEMS_LISTED`] problems, and tracks the JSON pointer of the current value.
pub(crate) struct Validator {
    problems: Problems,
    /// The current location, as a stack in one buffer that is copied only into a problem.
    path: String,
}

/// Navigation: changing the location allocates nothing.
impl Validator {
    /// Runs a check from the root of an input.
    pub(crate) fn run(check: impl FnOnce(&mut Self)) -> Result<(), Problems> {
        Self::read(check).1
    }

    /// Runs a check that also produces a value.
    pub(crate) fn read<T>(read: impl FnOnce(&mut Self) -> T) -> (T, Result<(), Problems>) {
        let mut validator = Self { problems: Problems::none(), path: String::new() };
        let value = read(&mut validator);
        (value, validator.problems.finish())
    }

    /// Enters a field.
    pub(crate) fn field<T>(&mut self, name: &str, check: impl FnOnce(&mut Self) -> T) -> T {
        let end = self.path.len();
        push_token(&mut self.path, name);
        let value = check(self);
        self.path.truncate(end);
        value
    }

    /// Enters an item of a list.
    pub(crate) fn item<T>(&mut self, index: usize, check: impl FnOnce(&mut Self) -> T) -> T {
        let end = self.path.len();
        // Writing to a string can't fail.
        let _ = write!(self.path, "/{index}");
        let value = check(self);
        self.path.truncate(end);
        value
    }

    /// Enters each item of the list `name` in turn.
    pub(crate) fn for_each_item<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut check: impl FnMut(&mut Self, T),
    ) {
        let mut items = items.into_iter().enumerate().peekable();
        if items.peek().is_some() {
            self.field(name, |v| items.for_each(|(i, item)| v.item(i, |v| check(v, item))));
        }
    }
}

/// Reporting.
impl Validator {
    /// Reports a problem at the current location.
    pub(crate) fn report(&mut self, code: &'static str, rule: impl Into<String>) {
        self.problems.push(|| Problem::new(self.path.as_str(), code, rule));
    }

    /// Reports a problem with the offending value.
    pub(crate) fn report_found(
        &mut self,
        code: &'static str,
        rule: impl Into<String>,
        found: impl fmt::Display,
    ) {
        self.problems.push(|| Problem::new(self.path.as_str(), code, rule).with_value(found));
    }

    /// Reports a problem at a field.
    pub(crate) fn report_at(&mut self, name: &str, code: &'static str, rule: impl Into<String>) {
        self.field(name, |v| v.report(code, rule));
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, rule: impl Into<String>, value: &Value) {
        match value {
            Value::Array(_) => self.report_found("type", rule, "an array"),
            Value::Object(_) => self.report_found("type", rule, "an object"),
            Value::String(text) => self.report_found("type", rule, format_args!("the string {text:?}")),
            other => self.report_found("type", rule, other),
        }
    }
}

/// Rules for fields shared by several resources.
impl Validator {
    /// Checks a required field, which must not be blank.
    pub(crate) fn check_required(&mut self, name: &str, text: &str) {
        if text.trim().is_empty() {
            self.report_at(name, "required", format!("`{name}` is required"));
        }
    }

    /// Checks a string that must not be blank if it is set.
    pub(crate) fn check_not_blank(&mut self, name: &str, text: Option<&str>) {
        if text.is_some_and(|text| text.trim().is_empty()) {
            self.report_at(name, "empty", format!("`{name}` must not be empty"));
        }
    }

    /// Checks an identifier that must not be empty if it is set.
    pub(crate) fn not_empty(&mut self, name: &str, id: Option<&str>) {
        if id.is_some_and(str::is_empty) {
            self.report_at(name, "empty", format!("`{name}` must not be empty"));
        }
    }

    /// Reports an enumeration's value that this version doesn't know.
    pub(crate) fn check_known(&mut self, name: &str, known: &[&str], value: Option<&str>) {
        if let (Some(text), Some((last, others))) = (value, known.split_last())
            && !known.contains(&text)
        {
            let rule = format!("`{name}` must be {} or {last}", others.join(", "));
            self.field(name, |v| v.report_found("type", rule, text));
        }
    }

    /// Checks the IDs by which metrics are filtered, which the query joins with commas.
    pub(crate) fn check_filter<'a>(&mut self, name: &str, ids: impl ExactSizeIterator<Item = &'a str>) {
        let (found, max) = (ids.len(), limits::IDS_PER_METRICS_FILTER);
        if found > max {
            let rule = format!("`{name}` must have at most {max} IDs");
            self.field(name, |v| v.report_found("count", rule, found));
        }
        self.for_each_item(name, ids, |v, id| {
            if id.is_empty() || id.contains(',') {
                v.report_found("type", "an ID must not be empty or contain commas", id.escape_debug());
            }
        });
    }

    /// Checks IDs, which must not be empty.
    pub(crate) fn check_ids<'a>(&mut self, name: &str, ids: impl IntoIterator<Item = &'a str>) {
        self.for_each_item(name, ids, |v, id| {
            if id.is_empty() {
                v.report("empty", "an ID must not be empty");
            }
        });
    }

    /// Checks a scheduled time.
    pub(crate) fn schedule(&mut self, when: Option<&str>) {
        self.check_not_blank("scheduled_at", when);
    }

    /// Checks a field that is one `email` or `Name <email>` if it is set.
    pub(crate) fn address(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text
            && let Some((code, rule)) = address::find_fault(text)
        {
            self.field(name, |v| v.report_found(code, rule, text.escape_debug()));
        }
    }

    /// Checks a required address without a display name.
    pub(crate) fn required_address(&mut self, name: &str, text: &str) {
        self.check_required(name, text);
        if !text.trim().is_empty() {
            self.field(name, |v| v.bare_address(text));
        }
    }

    /// Checks that the current value is an address without a display name.
    pub(crate) fn bare_address(&mut self, text: &str) {
        let is_bare = !text.trim_end().ends_with('>') && text.trim() == text;
        let rule = "the address must not have a display name or surrounding whitespace";
        let fault = address::find_fault(text).or_else(|| (!is_bare).then_some(("address", rule)));
        if let Some((code, rule)) = fault {
            self.report_found(code, rule, text.escape_debug());
        }
    }

    /// Checks a list of addresses.
    pub(crate) fn addresses(&mut self, name: &str, list: &[String]) {
        for (i, text) in list.iter().enumerate() {
            // Most addresses are valid and need no location.
            if let Some((code, rule)) = address::find_fault(text) {
                self.field(name, |v| v.item(i, |v| v.report_found(code, rule, text.escape_debug())));
            }
        }
    }

    /// Checks that a string contains no control characters.
    pub(crate) fn check_one_line(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| text.contains(|c: char| c.is_ascii_control())) {
            let rule = format!("`{name}` must not contain control characters such as line breaks");
            self.field(name, |v| v.report_found("header", rule, text.escape_debug()));
        }
    }

    /// Checks the name and the value of an email header.
    pub(crate) fn check_header(&mut self, name: &str, value: &str) {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':') {
            let rule = "a header name must be visible ASCII without whitespace or `:`";
            self.report_found("header", rule, name.escape_debug());
        }
        if value.contains(|c: char| c.is_ascii_control()) {
            let rule = "a header value must not contain control characters such as line breaks";
            self.report_found("header", rule, value.escape_debug());
        }
    }

    /// Checks the maximum length of a string, in characters.
    pub(crate) fn max_length(&mut self, name: &str, text: Option<&str>, max: usize) {
        let length = text.map_or(0, |text| text.chars().count());
        if length > max {
            let rule = format!("`{name}` must have at most {max} characters");
            self.field(name, |v| v.report_found("length", rule, format_args!("{length} characters")));
        }
    }

    /// Checks the key of a variable or a property at the current location.
    pub(crate) fn check_key(&mut self, what: &str, key: &str) {
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            let rule = format!("a {what} key must contain only ASCII letters, digits and `_`");
            self.report_found("charset", rule, key.escape_debug());
        } else if key.len() > limits::VARIABLE_KEY_CHARS {
            let rule = format!("a {what} key must have at most {} characters", limits::VARIABLE_KEY_CHARS);
            self.report_found("length", rule, format_args!("{} characters", key.len()));
        } else if limits::RESERVED_VARIABLE_KEYS.contains(&key) {
            self.report_found("reserved", format!("the {what} key `{key}` is reserved"), key);
        }
    }
}

/// The format of JSON input. A field that is `null` counts as absent.
impl Validator {
    /// Returns the current value as an object.
    pub(crate) fn object<'a>(&mut self, value: &'a Value, what: &str) -> Option<&'a Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.wrong_type(format!("{what} must be a JSON object"), value);
        }
        object
    }

    /// Reports unknown fields.
    pub(crate) fn check_known_fields(&mut self, fields: &Map<String, Value>, what: &str, names: &[&str]) {
        for name in fields.keys().filter(|name| !names.contains(&name.as_str())) {
            self.field(name, |v| {
                v.problems.push(|| {
                    let rule = format!("{what} has no field `{name}`");
                    Problem::new(v.path.as_str(), "unknown", rule)
                });
            });
        }
    }

    /// Returns a required field.
    pub(crate) fn required_field<'a>(
        &mut self,
        fields: &'a Map<String, Value>,
        name: &str,
    ) -> Option<&'a Value> {
        let value = present(fields, name);
        if value.is_none() {
            self.report_at(name, "required", format!("`{name}` is required"));
        }
        value
    }

    /// Returns a string field. If it has another type, reports that and returns `None`.
    pub(crate) fn text<'a>(&mut self, fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
        let value = present(fields, name)?;
        if !value.is_string() {
            self.field(name, |v| v.wrong_type(format!("`{name}` must be a string"), value));
        }
        value.as_str()
    }

    /// Returns a string field that must not be empty.
    pub(crate) fn non_empty_text<'a>(
        &mut self,
        fields: &'a Map<String, Value>,
        name: &str,
    ) -> Option<&'a str> {
        let text = self.text(fields, name)?;
        if text.is_empty() {
            self.report_at(name, "empty", format!("`{name}` must not be empty"));
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns a required string field that must not be empty.
    pub(crate) fn required_text<'a>(
        &mut self,
        fields: &'a Map<String, Value>,
        name: &str,
    ) -> Option<&'a str> {
        self.required_field(fields, name)?;
        self.non_empty_text(fields, name)
    }

    /// Returns a list field; empty if absent. If it has another type, reports that and returns `None`.
    pub(crate) fn list<'a>(&mut self, fields: &'a Map<String, Value>, name: &str) -> Option<&'a [Value]> {
        match present(fields, name) {
            None => Some(&[]),
            Some(Value::Array(items)) => Some(items),
            Some(other) => {
                self.field(name, |v| v.wrong_type(format!("`{name}` must be an array"), other));
                None
            }
        }
    }

    /// Checks that the current string is one of a closed set.
    pub(crate) fn check_one_of(&mut self, what: &str, names: &[&str], text: &str) -> bool {
        let known = names.contains(&text);
        if !known {
            self.report_found(
                "type",
                format!("{what} must be one of {}", names.join(", ")),
                text.escape_debug(),
            );
        }
        known
    }
}

/// Returns a field's value; `null` counts as absent.
pub(crate) fn present<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_has_an_escaped_json_pointer() {
        let problems = Validator::run(|v| {
            v.field("a/b~c", |v| v.item(3, |v| v.report("type", "rule")));
            v.report_at("d", "type", "rule");
            v.report("type", "rule");
        });
        let paths: Vec<_> =
            problems.unwrap_err().into_vec().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["/a~1b~0c/3", "/d", ""]);
    }

    #[test]
    fn a_large_value_of_the_wrong_type_is_shortened() {
        let large = json!("x".repeat(1_000_000));
        let problems = Validator::run(|v| v.wrong_type("a number", &large)).unwrap_err();
        assert_eq!(problems[0].found.as_ref().unwrap().chars().count(), 81);
    }
}
