//! Several JSON objects in one text: an array, or one object per line.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use idempost::problem::limits;
use serde_json::Value;

use super::{
    document::{Document, repeated_keys},
    json, json_spans,
    source::Source,
};
use crate::diagnostics::{Diagnostic, Problem};
use crate::settings::keys;

/// The fields of an email.
pub(crate) const EMAIL_FIELDS: [&str; 14] = [
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

/// The items of a text and their positions.
#[derive(Debug)]
pub(crate) struct Documents {
    /// The values in order.
    pub(crate) items: Vec<Value>,
    /// The number of repeated keys not listed.
    pub(crate) omitted: usize,
    document: Document,
    /// The bytes of each item; `None` if the whole text is one array.
    lines: Option<Vec<Range<usize>>>,
}

impl Documents {
    /// Parses the text. Reports the syntax errors of all lines, with positions.
    pub(crate) fn read(source: Source, text: Arc<str>) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let document = Document { source, text };
        let text = Arc::clone(&document.text);
        let mut documents = Self { items: Vec::new(), omitted: 0, document, lines: None };
        match json::read(&text) {
            Ok(json::Document { value: Value::Array(items), repeated, omitted }) => {
                (documents.items, documents.omitted) = (items, omitted);
                let found = documents.locate(repeated_keys(repeated));
                Ok((documents, found))
            }
            Ok(json::Document { value, repeated, omitted }) => {
                documents.items.push(value);
                documents.omitted = omitted;
                documents.lines = Some(std::iter::once(0..text.len()).collect());
                let repeated = repeated.into_iter().map(|pointer| format!("/0{pointer}"));
                let found = documents.locate(repeated_keys(repeated));
                Ok((documents, found))
            }
            // Only a text of several lines can be one object per line; an error on the first line concerns the whole text.
            Err(error) if text.trim_start().starts_with('[') || text.trim().is_empty() => {
                Err(vec![documents.document.not_json(error, 0)])
            }
            Err(_) => documents.parse_lines(),
        }
    }

    fn parse_lines(mut self) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let text = Arc::clone(&self.document.text);
        let (mut lines, mut repeated, mut broken, mut start) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            let range = start..start + line.trim_end().len();
            start += line.len();
            if line.trim().is_empty() {
                continue;
            }
            match json::read(&text[range.clone()]) {
                Ok(document) => {
                    let again =
                        document.repeated.into_iter().map(|pointer| format!("/{}{pointer}", lines.len()));
                    repeated.extend(again);
                    self.omitted += document.omitted;
                    self.items.push(document.value);
                    lines.push(range);
                }
                Err(error) if broken.len() < limits::PROBLEMS_LISTED => {
                    broken.push(self.document.not_json(error, range.start));
                }
                Err(_) => {}
            }
        }
        self.lines = Some(lines);
        if !broken.is_empty() {
            return Err(broken);
        }
        self.omitted += repeated.len().saturating_sub(limits::PROBLEMS_LISTED);
        repeated.truncate(limits::PROBLEMS_LISTED);
        let found = self.locate(repeated_keys(repeated));
        Ok((self, found))
    }

    /// Adds positions to problems whose paths start with the item's index.
    pub(crate) fn locate(&self, problems: Vec<Problem>) -> Vec<Diagnostic> {
        let spans = self.spans(&problems);
        let found = problems.into_iter().zip(spans).map(|(problem, span)| {
            let origin = Some(self.document.origin(span));
            let unknown = problem.path.rsplit('/').next().filter(|_| problem.code == "unknown");
            let hint = unknown.and_then(|name| keys::suggestion_hint(name, EMAIL_FIELDS));
            Diagnostic { problem, origin, hint }
        });
        found.collect()
    }

    fn spans(&self, problems: &[Problem]) -> Vec<Range<usize>> {
        let text = &self.document.text;
        let Some(lines) = &self.lines else { return self.document.spans(problems) };
        // Each line is a separate text, parsed once for all its problems.
        let mut by_line: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (i, problem) in problems.iter().enumerate() {
            let index = problem.path.split('/').nth(1).and_then(|index| index.parse().ok());
            by_line.entry(index.filter(|index| *index < lines.len())).or_default().push(i);
        }
        let mut spans = vec![0..text.len(); problems.len()];
        for (line, members) in by_line {
            let line = line.map_or(0..text.len(), |line| lines[line].clone());
            let inner = members.iter().map(|i| {
                let path = problems[*i].path.as_str();
                let rest = path.get(1..).and_then(|path| path.find('/')).map_or("", |at| &path[at + 1..]);
                (rest, json_spans::part(&problems[*i]))
            });
            for (i, span) in members.iter().zip(json_spans::find(&text[line.clone()], inner)) {
                spans[*i] = line.start + span.start..line.start + span.end;
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostics::Origin;

    fn read(text: &str) -> Result<(Documents, Vec<Diagnostic>), Vec<Diagnostic>> {
        Documents::read(Source::Stdin, text.into())
    }

    fn pointed_at(found: &Diagnostic) -> &str {
        match found.origin.as_ref().unwrap() {
            Origin::Stdin { text, span } => &text[span.clone()],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_array_and_lines_are_equivalent() {
        for text in ["[{\"a\":1},{\"a\":2}]", "{\"a\":1}\n\n{\"a\":2}\n", "{\"a\":1}\r\n{\"a\":2}"] {
            let (documents, found) = read(text).unwrap();
            assert_eq!(documents.items, [json!({"a": 1}), json!({"a": 2})], "{text:?}");
            assert_eq!(found, []);
            let place = documents.locate(vec![Problem::new("/1/a", "x", "rule")]).remove(0);
            assert_eq!(pointed_at(&place), "2", "{text:?}");
        }
    }

    #[test]
    fn one_object_over_many_lines_is_one_item() {
        let (documents, _) = read("{\n  \"a\": 1\n}\n").unwrap();
        assert_eq!(documents.items.len(), 1);
        assert_eq!(pointed_at(&documents.locate(vec![Problem::new("/0/a", "x", "rule")])[0]), "1");
    }

    #[test]
    fn all_malformed_lines_are_reported() {
        let found = read("{\"a\":1}\n{\"a\":x}\n{]\n").unwrap_err();
        assert_eq!(found.len(), 2);
        assert_eq!(pointed_at(&found[0]), "x");
    }

    #[test]
    fn a_repeated_key_is_found_in_every_line() {
        //
        let (_, found) = read("{\"a\":1}\n{\"b\":1,\"b\":2}").unwrap();
        assert_eq!((found[0].problem.path.as_str(), pointed_at(&found[0])), ("/1/b", "\"b\""));
    }

    #[test]
    fn an_empty_text_is_not_json() {
        assert_eq!(read(" \n").unwrap_err().len(), 1);
    }
}
