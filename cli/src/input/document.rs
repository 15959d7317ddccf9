//! JSON from a file or standard input, and the locations of its values.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::json;
use super::json_spans::{self, Target, part};
use super::source::Source;
use crate::diagnostics::{Diagnostic, Diagnostics, Origin, Problem};

/// The text of a JSON document.
#[derive(Debug)]
pub(crate) struct Document {
    source: Source,
    text: Arc<str>,
}

impl Document {
    /// Reads the JSON named by a flag. Also returns the problems of repeated keys.
    pub(crate) fn read(source: Source, flag: &str) -> Result<(Self, Value, Diagnostics), Box<Diagnostic>> {
        let wrong = |code, rule, origin| Box::new(Diagnostic::new(code, rule, Some(origin)));
        let text = source.text().map_err(|rule| {
            let value = if source == Source::Stdin { "-".to_owned() } else { source.to_string() };
            wrong("file", format!("couldn't read {source}: {rule}"), Origin::flag(flag, value))
        })?;
        let json::Document { value, repeated, omitted } = json::read(&text).map_err(|error| {
            let end = text.ceil_char_boundary((error.at + 1).min(text.len()));
            wrong("json", error.message, source.origin(&text, error.at..end))
        })?;
        let document = Self { source, text };
        let repeated: Vec<_> =
            repeated.into_iter().map(|path| Problem::new(path, "repeated", "this key is repeated")).collect();
        let found = document.locate(repeated);
        Ok((document, value, Diagnostics { found, omitted, ..Diagnostics::default() }))
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
        let places = problems.iter().map(|problem| (problem.path.as_str(), part(problem)));
        let spans = json_spans::find(&self.text, places.collect::<Vec<(&str, Target)>>());
        let located = problems.into_iter().zip(spans);
        located
            .map(|(problem, span)| Diagnostic { problem, origin: Some(self.origin(span)), hint: None })
            .collect()
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        self.source.origin(&self.text, span)
    }
}

fn first_byte(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    start..text.ceil_char_boundary((start + 1).min(text.len()))
}
