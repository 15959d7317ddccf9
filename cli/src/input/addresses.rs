//! The addresses of a file: CSV with a column `email`, one address per line, NDJSON, or a JSON array.

use std::ops::Range;
use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder};
use idempost::{Client, Error, problem::limits::SUPPRESSIONS_PER_BATCH};
use serde_json::Value;

use crate::diagnostics::{Diagnostic, Diagnostics, Problem};
use crate::input::delimiter::find_delimiter;
use crate::input::documents::Documents;
use crate::input::open_quote::{self, has_open_quote};
use crate::input::source::Source;

/// The name of the column and of the field.
const EMAIL: &str = "email";

/// Maximum number of problems shown; more usually share one cause.
pub(crate) const MAX_PROBLEMS: usize = 50;

/// Omits all problems but the first [`MAX_PROBLEMS`].
fn limit(mut report: Diagnostics) -> Diagnostics {
    report.omitted += report.found.len().saturating_sub(MAX_PROBLEMS);
    report.found.truncate(MAX_PROBLEMS);
    report
}

/// The addresses and their positions in the file.
#[derive(Debug)]
pub(crate) struct Addresses {
    pub(crate) emails: Vec<String>,
    places: Places,
}

#[derive(Debug)]
enum Places {
    /// The lines of the rows.
    Rows {
        source: Source,
        text: Arc<str>,
        spans: Vec<Range<usize>>,
    },
    Json {
        documents: Documents,
        pointers: Vec<String>,
    },
}

impl Addresses {
    /// Reads the addresses, without validating them. Reports the rows and documents without one.
    pub(crate) fn read(source: Source, text: &Arc<str>) -> Result<Self, Diagnostics> {
        match text.trim_start().chars().next() {
            Some('{' | '[' | '"') if !is_quoted_header(text) => from_json(source, text),
            _ => from_csv(source, text),
        }
    }

    /// Applies the client's rules for addresses to all of them.
    pub(crate) fn check(&self, client: &Client) -> Result<(), Diagnostics> {
        let (mut found, mut count): (Vec<(usize, Problem)>, _) = (Vec::new(), 0);
        for (step, batch) in self.emails.chunks(SUPPRESSIONS_PER_BATCH).enumerate() {
            let Err(Error::Invalid(problems)) = client.suppressions().add_batch(batch).preview() else {
                continue;
            };
            for problem in problems.into_vec() {
                count += 1;
                let index = problem.path.rsplit('/').next().and_then(|index| index.parse::<usize>().ok());
                if let Some(index) = index.filter(|_| found.len() < MAX_PROBLEMS) {
                    found.push((step * SUPPRESSIONS_PER_BATCH + index, problem));
                }
            }
        }
        if count == 0 {
            return Ok(());
        }
        let omitted = count - found.len();
        Err(Diagnostics { found: self.diagnostics(found), omitted, ..Diagnostics::default() })
    }

    /// Adds positions to problems with the addresses at these indexes.
    pub(crate) fn diagnostics(&self, problems: Vec<(usize, Problem)>) -> Vec<Diagnostic> {
        match &self.places {
            Places::Rows { source, text, spans } => problems
                .into_iter()
                .map(|(index, problem)| {
                    let origin = spans.get(index).map(|span| source.origin(text, span.clone()));
                    Diagnostic::new(problem.code, problem.message, origin)
                })
                .collect(),
            Places::Json { documents, pointers } => {
                let problems = problems.into_iter().map(|(index, mut problem)| {
                    problem.path = pointers.get(index).cloned().unwrap_or_default();
                    problem
                });
                documents.locate(problems.collect())
            }
        }
    }
}

/// Whether a text is CSV with a quoted header, not a JSON string.
fn is_quoted_header(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default().to_ascii_lowercase();
    first.starts_with('"') && serde_json::from_str::<Value>(&first).map_or(true, |value| value == EMAIL)
}

fn from_json(source: Source, text: &Arc<str>) -> Result<Addresses, Diagnostics> {
    let (documents, repeated) =
        Documents::read(source, Arc::clone(text)).map_err(|found| limit(found.into()))?;
    let mut count = 0;
    let (mut emails, mut pointers, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for (index, item) in documents.items.iter().enumerate() {
        let (pointer, email) = match item {
            Value::Object(fields) => (format!("/{index}/{EMAIL}"), fields.get(EMAIL)),
            other => (format!("/{index}"), Some(other)),
        };
        if let Some(email) = email.and_then(Value::as_str) {
            emails.push(email.trim().to_owned());
            pointers.push(pointer);
            continue;
        }
        count += 1;
        if problems.len() < MAX_PROBLEMS {
            problems.push(match email {
                None => Problem::new(format!("/{index}"), "required", "`email` is required"),
                Some(_) => Problem::new(pointer, "type", "an address must be a string"),
            });
        }
    }
    let omitted = documents.omitted + count - problems.len();
    let found: Vec<_> = repeated.into_iter().chain(documents.locate(problems)).collect();
    if !found.is_empty() {
        return Err(limit(Diagnostics { found, omitted, ..Diagnostics::default() }));
    }
    Ok(Addresses { emails, places: Places::Json { documents, pointers } })
}

fn from_csv(source: Source, text: &Arc<str>) -> Result<Addresses, Diagnostics> {
    let delimiter = find_delimiter(text.as_bytes(), EMAIL, |byte| b",;\t|".contains(&byte));
    let mut reader = ReaderBuilder::new();
    let mut reader =
        reader.has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
    let (mut emails, mut spans, mut rejected) = (Vec::new(), Vec::new(), Diagnostics::default());
    let (mut column, mut record, mut last) = (None, ByteRecord::new(), 0..0);
    loop {
        let start = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(vec![Diagnostic::new("csv", error.to_string(), None)].into()),
        }
        let end = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        let span = trim_line(text, start, end);
        last = span.clone();
        let cell =
            |index: usize| record.get(index).map(|cell| String::from_utf8_lossy(cell).trim().to_owned());
        let Some(index) = column else {
            let header = |cell: &[u8]| cell.trim_ascii().eq_ignore_ascii_case(EMAIL.as_bytes());
            column = record.iter().position(header);
            if column.is_none() {
                // Without a header, each line is an address.
                if record.len() != 1 || !cell(0).is_some_and(|cell| cell.contains('@')) {
                    let rule = "the first row must name a column `email`, or each line must be one address";
                    let origin = source.origin(text, span);
                    return Err(vec![Diagnostic::new("columns", rule, Some(origin))].into());
                }
                column = Some(0);
                emails.extend(cell(0));
                spans.push(span);
            }
            continue;
        };
        if let Some(email) = cell(index) {
            emails.push(email);
            spans.push(span);
        } else if rejected.found.len() == MAX_PROBLEMS {
            rejected.omitted += 1;
        } else {
            let rule = format!("the row has {} cells and none in the column `email`", record.len());
            rejected.found.push(Diagnostic::new("row", rule, Some(source.origin(text, span))));
        }
    }
    if column.is_none() {
        return Err(vec![Diagnostic::new("empty", format!("{source} is empty"), None)].into());
    }
    if has_open_quote(text.as_bytes(), delimiter) {
        let origin = source.origin(text, last.start..last.start);
        return Err(vec![Diagnostic::new("quote", open_quote::RULE, Some(origin))].into());
    }
    if !rejected.found.is_empty() {
        return Err(rejected);
    }
    Ok(Addresses { emails, places: Places::Rows { source, text: Arc::clone(text), spans } })
}

/// The bytes of a row without its line breaks.
fn trim_line(text: &str, start: usize, end: usize) -> Range<usize> {
    let Some(row) = text.get(start..end) else { return 0..0 };
    let start = start + (row.len() - row.trim_start().len());
    start..start + row.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, Vec<String>> {
        let read = Addresses::read(Source::File("list".into()), &Arc::from(text));
        let messages =
            |rejected: Diagnostics| rejected.found.into_iter().map(|one| one.problem.message).collect();
        read.map(|addresses| addresses.emails).map_err(messages)
    }

    #[test]
    fn addresses_are_read_from_csv_lines_and_json() {
        let both = Ok(vec!["a@x.test".to_owned(), "b@x.test".to_owned()]);
        for text in [
            "email\na@x.test\nb@x.test\n",
            "id,Email ,note\r\n1, a@x.test,\"x\ny\"\r\n2,b@x.test,\r\n",
            "\"email\",\"origin\"\n\"a@x.test\",bounce\nb@x.test,manual\n",
            "\"email\"\na@x.test\nb@x.test",
            "id;email\n1;a@x.test\n2;b@x.test\n",
            "email\tnote\na@x.test\t1,5\nb@x.test\t\n",
            "email,note;old;new\na@x.test,1;2\nb@x.test,\n",
            "a@x.test\n\nb@x.test",
            "{\"email\":\"a@x.test\",\"origin\":\"bounce\"}\n{\"email\":\"b@x.test\"}\n",
            "[\"a@x.test\", {\"email\": \"b@x.test\"}]",
            "\"a@x.test\"\n\"b@x.test\"\n",
        ] {
            assert_eq!(read(text), both, "{text}");
        }
        assert_eq!(read("email\n"), Ok(Vec::new()));
    }

    #[test]
    fn every_row_without_an_address_is_reported() {
        let found = read("x,email\n1\n2,a@x.test\n3\n").unwrap_err();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(read("name,address\nAda,a@x.test\n").unwrap_err()[0].contains("column `email`"));
        for delimiter in [",", ";"] {
            let text = "email,note\na@x.test,\"spam\nb@x.test,\n".replace(',', delimiter);
            assert_eq!(read(&text).unwrap_err(), [open_quote::RULE]);
        }
        let found = read("{\"email\":1}\n{}\n").unwrap_err();
        assert_eq!(found, ["an address must be a string", "`email` is required"]);
        for text in ["x,email\n".to_owned() + &"1\n".repeat(1_000), "{}\n".repeat(1_000)] {
            let rejected = Addresses::read(Source::Stdin, &Arc::from(text)).unwrap_err();
            assert_eq!((rejected.found.len(), rejected.omitted), (MAX_PROBLEMS, 1_000 - MAX_PROBLEMS));
        }
    }
}
