//! The flags of one command: maps problems with a field to the flag that set it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, Str, StringValueParser, TypedValueParser};
use idempost::{
    IdempotencyKey,
    problem::{Problem, Problems},
    webhooks::EventType,
};
use serde_json::{Map, Value};

use super::document::Document;
use super::json;
use super::origins::narrow;
use super::pair::Pair;
use super::source::StdinReaders;
use crate::diagnostics::{Diagnostic, Diagnostics, Fail, Missing, Origin};
use crate::settings::keys;

/// The output of a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// As a JSON object.
    Json,
    /// As a curl command.
    Curl,
}

/// Marks a required flag. Optional for the parser, so that all problems are reported together; the usage line, the manual and `help --json` show
/// it as required.
#[derive(Debug, Clone)]
pub(crate) struct Required;

impl clap::builder::ArgExt for Required {}

/// Marks a local argument: its value names a file or a command, or it opens a browser.
#[derive(Debug, Clone)]
pub(crate) struct Local;

impl clap::builder::ArgExt for Local {}

/// The values of a flag for help, completions and `help --json`. The parser accepts any text: the command reports it with all other problems.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices<L = &'static [&'static str]>(pub(crate) L);

impl<L> TypedValueParser for Choices<L>
where
    L: IntoIterator<Item: Into<Str>, IntoIter: 'static> + Clone + Send + Sync + 'static,
{
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.clone().into_iter().map(PossibleValue::new)))
    }
}

/// The values of boolean flags.
pub(crate) const BOOL: Choices = Choices(&["true", "false"]);
/// Selects all event types.
pub(crate) const ALL: &str = "all";
/// The event types, or [`ALL`].
pub(crate) const EVENT_TYPES: Choices = Choices(EVENT_TYPES_AND_ALL);

/// [`ALL`], followed by the known types.
pub(crate) const EVENT_TYPES_AND_ALL: &[&str] = &{
    let mut choices = [ALL; EventType::KNOWN.len() + 1];
    let mut i = 0;
    while i < EventType::KNOWN.len() {
        choices[i + 1] = EventType::KNOWN[i];
        i += 1;
    }
    choices
};

/// The prefix of event types in private beta: most accounts can't subscribe to them.
const BETA: &str = "inbox.";

/// All generally available event types.
pub(crate) fn all_event_types() -> impl Iterator<Item = &'static str> {
    EventType::KNOWN.iter().copied().filter(|kind| !kind.starts_with(BETA))
}

/// The event types given by flags; `all` expands to all generally available ones.
pub(crate) fn event_types(given: Vec<String>) -> Vec<String> {
    if given.iter().any(|kind| kind == ALL) { all_event_types().map(str::to_owned).collect() } else { given }
}

/// Maps fields to flags, and collects problems.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// JSON pointer, flag, and the value if given.
    fields: Vec<(String, Cow<'static, str>, Option<Origin>)>,
    /// The document that the flags override.
    document: Option<Document>,
    report: Diagnostics,
}

impl Flags {
    /// Declares that this flag sets the field at this pointer to a value.
    pub(crate) fn field(&mut self, pointer: &str, flag: impl Into<Cow<'static, str>>, value: Option<&str>) {
        let flag = flag.into();
        let origin = value.map(|value| Origin::flag(&*flag, value));
        self.fields.push((pointer.to_owned(), flag, origin));
    }

    /// Declares that this flag sets the list at this pointer, item by item.
    pub(crate) fn declare_list(
        &mut self,
        pointer: &str,
        flag: impl Into<Cow<'static, str>>,
        values: &[String],
    ) {
        let flag = flag.into();
        self.fields.push((pointer.to_owned(), flag.clone(), None));
        for (i, value) in values.iter().enumerate() {
            let origin = Some(Origin::nth_flag(&*flag, i + 1, value));
            self.fields.push((format!("{pointer}/{i}"), flag.clone(), origin));
        }
    }

    /// Declares that this part of a flag's value sets the field at this pointer.
    pub(crate) fn declare_part(&mut self, pointer: String, flag: &'static str, origin: Origin) {
        self.fields.push((pointer, flag.into(), Some(origin)));
    }

    /// Reads the JSON object that the flags override; `None` if there is a problem with it.
    pub(crate) fn document(
        &mut self,
        flag: &str,
        name: &str,
        stdin: &mut StdinReaders,
    ) -> Option<Map<String, Value>> {
        let read = stdin.claim(flag, name).and_then(|source| Document::object(source, flag));
        let (document, object, repeated) = self.take(read)?;
        self.document = Some(document);
        self.take(Err::<(), _>(repeated));
        Some(object)
    }

    /// Adds a problem at this origin.
    pub(crate) fn reject_at(&mut self, code: &'static str, rule: impl Into<String>, origin: Origin) {
        self.push(Diagnostic::new(code, rule, Some(origin)));
    }

    /// Adds a problem with a flag's value.
    pub(crate) fn reject(&mut self, code: &'static str, rule: impl Into<String>, flag: &str, value: &str) {
        self.reject_nth(code, rule, flag, 1, value);
    }

    /// Like [`reject`](Self::reject), for the `n`th value of a repeated flag, from 1.
    pub(crate) fn reject_nth(
        &mut self,
        code: &'static str,
        rule: impl Into<String>,
        flag: &str,
        n: usize,
        value: &str,
    ) {
        self.reject_at(code, rule, Origin::nth_flag(flag, n, value));
    }

    /// Returns what a flag's value means, or adds a problem with it.
    pub(crate) fn accept<T>(
        &mut self,
        read: Option<T>,
        code: &'static str,
        rule: impl Into<String>,
        flag: &str,
        value: &str,
    ) -> Option<T> {
        if read.is_none() {
            self.reject(code, rule, flag, value);
        }
        read
    }

    /// Parses a flag's value as a JSON object.
    pub(crate) fn object(&mut self, flag: &'static str, text: &str) -> Map<String, Value> {
        let rule = match json::read(text) {
            Ok(json::Document { value: Value::Object(object), repeated, .. }) if repeated.is_empty() => {
                return object;
            }
            Ok(json::Document { value: Value::Object(_), .. }) => "a key is repeated".to_owned(),
            Ok(_) => format!("{flag} must be a JSON object"),
            Err(error) => error.message,
        };
        self.reject("json", rule, flag, text);
        Map::new()
    }

    /// Adds a problem with its location.
    pub(crate) fn push(&mut self, found: Diagnostic) {
        self.report.found.push(found);
    }

    /// Counts problems that aren't listed.
    pub(crate) fn omit(&mut self, problems: usize) {
        self.report.omitted += problems;
    }

    /// Adds all problems from another part of the command line.
    pub(crate) fn take<T>(&mut self, read: Result<T, impl Into<Diagnostics>>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(report) => {
                let report = report.into();
                self.report.found.extend(report.found);
                self.report.missing.extend(report.missing);
                self.report.omitted += report.omitted;
                None
            }
        }
    }

    /// Adds a missing flag: `--name`, or `at least one of --html and --text`.
    pub(crate) fn add_missing(&mut self, what: impl Into<Missing>) {
        self.report.missing.push(what.into());
    }

    /// Sets the suggested command, shown if there are problems.
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        self.report.help = Some(help.into());
    }

    /// Adds validation errors. Reports a missing field by its flag.
    pub(crate) fn add_problems(&mut self, checked: Result<(), Problems>) {
        let Err(problems) = checked else { return };
        self.report.omitted += problems.omitted();
        let mut of_document = Vec::new();
        for problem in problems.into_vec() {
            let exact = self.fields.iter().find(|(pointer, ..)| *pointer == problem.path);
            match (exact, self.origin(&problem)) {
                (Some((_, flag, None)), None) if problem.code == "required" => {
                    // Two fields can share a flag.
                    if !self.report.missing.iter().any(|missing| missing.what == *flag) {
                        self.report.missing.push(Missing::new(problem.path, flag.as_ref()));
                    }
                }
                (_, None) if self.document.is_some() => of_document.push(problem),
                (_, origin) => {
                    let hint = address_hint(&problem);
                    self.report.found.push(Diagnostic { problem, origin, hint });
                }
            }
        }
        if let Some(document) = &self.document {
            for mut found in document.locate(of_document) {
                found.hint = self.suggest_field(&found.problem);
                self.report.found.push(found);
            }
        }
    }

    /// The known field with the most similar name.
    fn suggest_field(&self, problem: &Problem) -> Option<String> {
        let name = problem.path.strip_prefix('/').filter(|_| problem.code == "unknown")?;
        let known = self.fields.iter().filter_map(|(pointer, ..)| pointer.strip_prefix('/'));
        keys::suggestion_hint(name, known.filter(|name| !name.contains('/')))
    }

    /// Parses a whole number within these limits.
    pub(crate) fn parse_number(
        &mut self,
        flag: &str,
        text: &str,
        limits: RangeInclusive<u64>,
    ) -> Option<u64> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && limits.contains(number));
        let (least, most) = limits.into_inner();
        let rule = format!("{flag} must be a whole number from {least} to {most}");
        self.accept(number, "range", rule, flag, text)
    }

    /// Parses a whole number above 0.
    pub(crate) fn parse_positive<N: FromStr + Default + PartialOrd>(
        &mut self,
        flag: &str,
        text: &str,
    ) -> Option<N> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && *number > N::default());
        self.accept(number, "range", format!("{flag} must be a whole number above 0"), flag, text)
    }

    /// Parses a duration above zero.
    pub(crate) fn parse_duration(&mut self, flag: &str, text: &str) -> Option<Duration> {
        let reject = |rule| self.reject("type", format!("{flag} {rule}"), flag, text);
        keys::parse_duration(text).map_err(reject).ok()
    }

    /// Splits the values of a repeated flag, whose form is `NAME=VALUE` or `NAME: VALUE`.
    pub(crate) fn pairs<'a>(
        &mut self,
        flag: &'static str,
        form: &str,
        values: &'a [String],
    ) -> Vec<Pair<'a>> {
        let separator = if form.contains('=') { '=' } else { ':' };
        let mut pairs = Vec::new();
        for (i, text) in values.iter().enumerate() {
            match Pair::read(flag, i + 1, text, separator) {
                Some(pair) => pairs.push(pair),
                None => self.reject_nth("type", format!("{flag} must be {form}"), flag, i + 1, text),
            }
        }
        pairs
    }

    /// Like [`pairs`](Self::pairs), without repeated names, which are reported.
    pub(crate) fn distinct_pairs<'a>(
        &mut self,
        flag: &'static str,
        form: &str,
        values: &'a [String],
    ) -> Vec<Pair<'a>> {
        let mut distinct: Vec<Pair<'a>> = Vec::new();
        for pair in self.pairs(flag, form, values) {
            if distinct.iter().any(|known| pair.repeats(known.name)) {
                self.reject_repeated(&pair);
            } else {
                distinct.push(pair);
            }
        }
        distinct
    }

    fn reject_repeated(&mut self, pair: &Pair<'_>) {
        self.reject_at("repeated", format!("`{}` is repeated", pair.name), pair.name_origin());
    }

    /// Adds the pairs of a repeated flag to the object at this pointer; `read` parses a value.
    pub(crate) fn members(
        &mut self,
        pointer: &str,
        flag: &'static str,
        form: &str,
        values: &[String],
        object: &mut Map<String, Value>,
        mut read: impl FnMut(&Pair<'_>) -> Result<Value, Box<Diagnostic>>,
    ) {
        for pair in self.distinct_pairs(flag, form, values) {
            if object.contains_key(pair.name) {
                self.reject_repeated(&pair);
                continue;
            }
            match read(&pair) {
                Ok(value) => {
                    let pointer = format!("{pointer}{}", json::escape_pointer(pair.name));
                    self.declare_part(pointer, flag, pair.origin());
                    object.insert(pair.name.to_owned(), value);
                }
                Err(mut found) => {
                    found.origin.get_or_insert_with(|| pair.value_origin());
                    self.push(*found);
                }
            }
        }
    }

    /// Adds the members of a JSON object that a flag gives to the object at this pointer; `check` returns why a value is wrong.
    pub(crate) fn members_of(
        &mut self,
        pointer: &str,
        flag: &'static str,
        text: &str,
        object: &mut Map<String, Value>,
        check: impl Fn(&str, &Value) -> Result<(), String>,
    ) {
        for (key, value) in self.object(flag, text) {
            if object.contains_key(&key) {
                self.reject("repeated", format!("`{key}` is repeated"), flag, text);
            } else if let Err(rule) = check(&key, &value) {
                self.reject("type", rule, flag, text);
            } else {
                let pointer = format!("{pointer}{}", json::escape_pointer(&key));
                self.field(&pointer, flag, Some(text));
                object.insert(key, value);
            }
        }
    }

    /// Sets a field to the value of a flag, if given.
    pub(crate) fn set(
        &mut self,
        object: &mut Map<String, Value>,
        field: &str,
        flag: &'static str,
        value: Option<String>,
    ) {
        self.field(&format!("/{field}"), flag, value.as_deref());
        object.extend(value.map(|value| (field.to_owned(), value.into())));
    }

    /// Sets a field to all values of a repeated flag, if any.
    pub(crate) fn set_list(
        &mut self,
        object: &mut Map<String, Value>,
        field: &str,
        flag: &'static str,
        values: Vec<String>,
    ) {
        self.declare_list(&format!("/{field}"), flag, &values);
        if !values.is_empty() {
            object.insert(field.to_owned(), values.into());
        }
    }

    /// Parses `--idempotency-key`.
    pub(crate) fn idempotency_key(&mut self, text: Option<&str>) -> Option<IdempotencyKey> {
        let text = text?;
        IdempotencyKey::new(text)
            .map_err(|problem| self.reject(problem.code, problem.message, "--idempotency-key", text))
            .ok()
    }

    /// Parses the value of `--dry-run`.
    pub(crate) fn dry_run(&mut self, form: Option<&str>) -> Option<DryRun> {
        match form? {
            "json" => Some(DryRun::Json),
            "curl" => Some(DryRun::Curl),
            other => {
                self.reject("type", "--dry-run must be json or curl", "--dry-run", other);
                None
            }
        }
    }

    /// Fails with all problems, if any.
    pub(crate) fn finish(mut self) -> Result<(), Fail> {
        if self.report.is_empty() {
            return Ok(());
        }
        // The hint is for missing fields; other problems are shown with their location.
        if self.report.missing.is_empty() {
            self.report.help = None;
        }
        Err(Fail::Usage(self.report))
    }

    /// The problems, for a command that reports them with others.
    pub(crate) fn into_report(self) -> Diagnostics {
        self.report
    }

    fn origin(&self, problem: &Problem) -> Option<Origin> {
        let mut pointer = problem.path.as_str();
        loop {
            // The last flag that sets a field counts.
            let mut fields = self.fields.iter().rev();
            let origin = fields.find_map(|(at, _, origin)| origin.as_ref().filter(|_| at == pointer));
            if let Some(origin) = origin {
                return Some(narrow(origin.clone(), problem));
            }
            match pointer.rfind('/') {
                Some(at) if at > 0 => pointer = &pointer[..at],
                _ => return None,
            }
        }
    }
}

/// The hint for several addresses in one value of a repeatable flag.
fn address_hint(problem: &Problem) -> Option<String> {
    let is_item = problem.path.ends_with(|last: char| last.is_ascii_digit());
    let is_list = problem.code == "address" && problem.message.contains("must be a single address");
    (is_item && is_list).then(|| "repeat the flag for each address: a comma can be part of a name".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_shown_at_its_flag_and_a_missing_field_by_its_flag() {
        let mut flags = Flags::default();
        flags.field("/name", "--name", None);
        flags.field("/from", "--from", Some("nobody"));
        flags.declare_list("/reply_to", "--reply-to", &["a@b.test".into(), "c@@d.test".into()]);
        let problems = [("/name", "required"), ("/from", "address"), ("/reply_to/1", "address")];
        flags.add_problems(Problems::check(problems.map(|(path, code)| Problem::new(path, code, "rule"))));
        let Err(Fail::Usage(report)) = flags.finish() else { panic!("nothing was wrong") };
        assert_eq!(report.missing, [Missing::new("/name", "--name")]);
        let origins: Vec<_> = report.found.iter().filter_map(|found| found.origin.clone()).collect();
        let [Origin::Flag { name, n: 1, .. }, Origin::Flag { name: reply_to, n: 2, span, .. }] = &origins[..]
        else {
            panic!("{origins:?}")
        };
        assert_eq!((name.as_str(), reply_to.as_str(), span), ("--from", "--reply-to", &Some(2..3)));
    }
}
