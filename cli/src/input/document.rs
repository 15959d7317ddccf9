//! JSON from a file or standard input, and the locations of its values.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::json::{self, NotJson};
use super::json_spans::{self, part};
use super::source::Source;
use crate::diagnostics::{Diagnostic, Diagnostics, Origin, Problem};

/// The text of a JSON document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) source: Source,
    pub(super) text: Arc<str>,
}

impl Document {
    /// Reads the JSON named by a flag. Also returns the problems of repeated keys.
    pub(crate) fn read(source: Source, flag: &str) -> Result<(Self, Value, Diagnostics), Box<Diagnostic>> {
        let text = source.text().map_err(|rule| {
            let value = if source == Source::Stdin { "-".to_owned() } else { source.to_string() };
            let rule = format!("couldn't read {source}: {rule}");
            Diagnostic::new("file", rule, Some(Origin::flag(flag, value)))
        })?;
        let document = Self { source, text };
        let read = json::read(&document.text).map_err(|error| document.not_json(error, 0))?;
        let found = document.locate(repeated_keys(read.repeated));
        Ok((document, read.value, Diagnostics { found, omitted: read.omitted, ..Diagnostics::default() }))
    }

    /// Like [`read`](Self::read), for JSON that must be an object.
    pub(crate) fn object(
        source: Source,
        flag: &str,
    ) -> Result<(Self, Map<String, Value>, Diagnostics), Box<Diagnostic>> {
        let (document, value, repeated) = Self::read(source, flag)?;
        let Value::Object(object) = value else {
            let origin = document.origin(first_byte(&document.text));
            return Err(Box::new(Diagnostic::new("type", "expected a JSON object", Some(origin))));
        };
        Ok((document, object, repeated))
    }

    /// Adds the location to each problem.
    pub(crate) fn locate(&self, problems: Vec<Problem>) -> Vec<Diagnostic> {
        let spans = self.spans(&problems);
        let located = problems.into_iter().zip(spans);
        located
            .map(|(problem, span)| Diagnostic { problem, origin: Some(self.origin(span)), hint: None })
            .collect()
    }

    /// The bytes that each problem is about.
    pub(super) fn spans(&self, problems: &[Problem]) -> Vec<Range<usize>> {
        json_spans::find(&self.text, problems.iter().map(|problem| (problem.path.as_str(), part(problem))))
    }

    /// A syntax error in the part of the text that starts at `offset`.
    pub(super) fn not_json(&self, error: NotJson, offset: usize) -> Diagnostic {
        let at = self.text.floor_char_boundary((offset + error.at).min(self.text.len()));
        let end = self.text.ceil_char_boundary((at + 1).min(self.text.len()));
        Diagnostic::new("json", error.message, Some(self.origin(at..end)))
    }

    pub(super) fn origin(&self, span: Range<usize>) -> Origin {
        self.source.origin(&self.text, span)
    }
}

/// The problems of keys that are repeated.
pub(super) fn repeated_keys(pointers: impl IntoIterator<Item = String>) -> Vec<Problem> {
    let problem = |pointer| Problem::new(pointer, "repeated", "this key is repeated");
    pointers.into_iter().map(problem).collect()
}

fn first_byte(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    start..text.ceil_char_boundary((start + 1).min(text.len()))
}
