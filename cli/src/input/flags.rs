//! The flags of one command: what the rules say of a field is told at the flag that set it.
//!
//! [`Draft`](super::draft::Draft) does the same for a body that is made from a document and flags together.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use posthaste::{EventType, Problem, Problems};
use serde_json::{Map, Value};

use super::draft::{flag_origin, narrowed};
use super::json::{self, Document};
use crate::diagnostics::{Fail, Found, Missing, Origin, Report};

/// How a dry run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// As a JSON object.
    Json,
    /// As a command for `curl`.
    Curl,
}

impl DryRun {
    /// Reads the flag's value.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "json" => Some(Self::Json),
            "curl" => Some(Self::Curl),
            _ => None,
        }
    }
}

/// Marks a flag that the command needs. The parser takes it for optional, so that everything wrong is said at once; the usage line,
/// the manual and `help --json` show it as required.
#[derive(Debug, Clone)]
pub(crate) struct Required;

impl clap::builder::ArgExt for Required {}

/// The values of a flag, for help, completion and `help --json`. Any other text is read, too: the command reports it with all else that is wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices(pub(crate) &'static [&'static str]);

impl TypedValueParser for Choices {
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
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// The switches of flags that take true or false.
pub(crate) const BOOL: Choices = Choices(&["true", "false"]);
/// All types of events, where types of events are given.
pub(crate) const ALL: &str = "all";
/// The types of events, or [`ALL`] of them.
pub(crate) const EVENT_TYPES: Choices = Choices(EVENT_TYPES_AND_ALL);

/// [`ALL`], and then the known types.
const EVENT_TYPES_AND_ALL: &[&str] = &{
    let mut choices = [ALL; EventType::KNOWN.len() + 1];
    let mut i = 0;
    while i < EventType::KNOWN.len() {
        choices[i + 1] = EventType::KNOWN[i];
        i += 1;
    }
    choices
};

/// What the types of events in private beta begin with: most accounts are refused when they subscribe to them.
const BETA: &str = "inbox.";

/// Every type of event that is generally available.
pub(crate) fn all_event_types() -> impl Iterator<Item = &'static str> {
    EventType::KNOWN.iter().copied().filter(|kind| !kind.starts_with(BETA))
}

/// The types of events that the flags give; `all` is every one that is generally available.
pub(crate) fn event_types(given: Vec<String>) -> Vec<String> {
    if given.iter().any(|kind| kind == ALL) { all_event_types().map(str::to_owned).collect() } else { given }
}

/// Which flag stands for which field, and what is wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// JSON pointer, flag, and the value if it was given.
    fields: Vec<(String, &'static str, Option<Origin>)>,
    report: Report,
}

impl Flags {
    /// The field at this pointer is set by this flag, here to this value if at all.
    pub(crate) fn field(&mut self, pointer: &str, flag: &'static str, value: Option<&str>) {
        let origin = value.map(|value| flag_origin(flag, 1, value));
        self.fields.push((pointer.to_owned(), flag, origin));
    }

    /// The list at this pointer is set by this flag, item by item.
    pub(crate) fn list(&mut self, pointer: &str, flag: &'static str, values: &[String]) {
        self.fields.push((pointer.to_owned(), flag, None));
        for (i, value) in values.iter().enumerate() {
            let origin = Some(flag_origin(flag, i + 1, value));
            self.fields.push((format!("{pointer}/{i}"), flag, origin));
        }
    }

    /// A value is spelled wrong, or goes with none of the others.
    pub(crate) fn wrong(&mut self, code: &'static str, rule: impl Into<String>, flag: &str, value: &str) {
        self.wrong_nth(code, rule, flag, 1, value);
    }

    /// The same of the `n`th value of a repeated flag, from 1.
    pub(crate) fn wrong_nth(
        &mut self,
        code: &'static str,
        rule: impl Into<String>,
        flag: &str,
        n: usize,
        value: &str,
    ) {
        let origin = Some(flag_origin(flag, n, value));
        self.report.found.push(Found { problem: Problem::new("", code, rule), origin, hint: None });
    }

    /// Reads the object that a flag gives as JSON.
    pub(crate) fn object(&mut self, flag: &'static str, n: usize, text: &str) -> Map<String, Value> {
        let rule = match json::read(text) {
            Ok(Document { value: Value::Object(object), repeated, .. }) if repeated.is_empty() => {
                return object;
            }
            Ok(Document { value: Value::Object(_), .. }) => "a key is given twice".to_owned(),
            Ok(_) => format!("{flag} is a JSON object"),
            Err(error) => error.message,
        };
        self.wrong_nth("json", rule, flag, n, text);
        Map::new()
    }

    /// A problem that brings its place.
    pub(crate) fn push(&mut self, found: Found) {
        self.report.found.push(found);
    }

    /// Problems beyond those that are listed.
    pub(crate) fn omit(&mut self, problems: usize) {
        self.report.omitted += problems;
    }

    /// Everything that another part of the command line has found.
    pub(crate) fn take<T>(&mut self, read: Result<T, Report>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(report) => {
                self.report.found.extend(report.found);
                self.report.missing.extend(report.missing);
                self.report.omitted += report.omitted;
                None
            }
        }
    }

    /// Something is needed that was not given: `--name`, or `at least one of --html and --text`.
    pub(crate) fn missing(&mut self, what: impl Into<Missing>) {
        self.report.missing.push(what.into());
    }

    /// What to type next, if anything is wrong.
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        self.report.help = Some(help.into());
    }

    /// Adds what the rules found. A field that is needed and was not given is told as missing, by its flag.
    pub(crate) fn judge(&mut self, checked: Result<(), Problems>) {
        let Err(problems) = checked else { return };
        self.report.omitted += problems.omitted();
        for problem in problems.into_vec() {
            let exact = self.fields.iter().find(|(pointer, ..)| *pointer == problem.path);
            match exact {
                Some((_, flag, None)) if problem.code == "required" => {
                    self.report.missing.push(Missing::at(problem.path, *flag));
                }
                _ => {
                    let origin = self.origin(&problem);
                    self.report.found.push(Found { problem, origin, hint: None });
                }
            }
        }
    }

    /// Reads the value of `--dry-run`.
    pub(crate) fn dry_run(&mut self, form: Option<&str>) -> Option<DryRun> {
        let form = form?;
        let read = DryRun::read(form);
        if read.is_none() {
            self.wrong("type", "a dry run is shown as json or curl", "--dry-run", form);
        }
        read
    }

    /// Fails if anything is wrong, with all of it.
    pub(crate) fn finish(mut self) -> Result<(), Fail> {
        if self.report.is_empty() {
            return Ok(());
        }
        // Help is for what is missing; what is wrong is shown in its place.
        if self.report.missing.is_empty() {
            self.report.help = None;
        }
        Err(Fail::Usage(self.report))
    }

    fn origin(&self, problem: &Problem) -> Option<Origin> {
        let mut pointer = problem.path.as_str();
        loop {
            let origin =
                self.fields.iter().find_map(|(at, _, origin)| origin.as_ref().filter(|_| at == pointer));
            if let Some(origin) = origin {
                return Some(narrowed(origin.clone(), problem));
            }
            match pointer.rfind('/') {
                Some(at) if at > 0 => pointer = &pointer[..at],
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_at_its_flag_and_what_is_missing_by_its_flag() {
        let mut flags = Flags::default();
        flags.field("/name", "--name", None);
        flags.field("/from", "--from", Some("nobody"));
        flags.list("/reply_to", "--reply-to", &["a@b.test".into(), "c@@d.test".into()]);
        let problems = [("/name", "required"), ("/from", "address"), ("/reply_to/1", "address")];
        flags.judge(Problems::check(problems.map(|(path, code)| Problem::new(path, code, "rule"))));
        let Err(Fail::Usage(report)) = flags.finish() else { panic!("nothing was wrong") };
        assert_eq!(report.missing, [Missing::at("/name", "--name")]);
        let origins: Vec<_> = report.found.iter().filter_map(|found| found.origin.clone()).collect();
        let [Origin::Flag { name, n: 1, .. }, Origin::Flag { name: reply_to, n: 2, span, .. }] = &origins[..]
        else {
            panic!("{origins:?}")
        };
        assert_eq!((name.as_str(), reply_to.as_str(), span), ("--from", "--reply-to", &Some(2..3)));
    }
}
