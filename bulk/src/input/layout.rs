//! The layout of an input: format, delimiter, columns.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};

use idempost::problem::Problem;

use super::{Format, Position, Source, columns::Columns, csv_rows::CsvRows};
use crate::{
    error::{BulkError, Result},
    message::Compiled,
};

/// A UTF-8 byte order mark.
pub(super) const BOM: &[u8] = "\u{feff}".as_bytes();
/// How many bytes of the header are searched for the delimiter.
const HEADER: u64 = 64 * 1024;

/// How an input's rows are read.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) format: Format,
    /// The CSV delimiter.
    pub(crate) delimiter: u8,
    /// Whether the input begins with a byte order mark.
    pub(crate) has_bom: bool,
    /// The CSV columns; empty for JSON Lines.
    pub(crate) columns: Columns,
    /// The first row.
    pub(crate) first: Position,
    /// The column or field that identifies rows; without one, all values do.
    pub(crate) key: Option<String>,
}

impl Layout {
    /// Reads the header.
    ///
    /// # Errors
    /// [`BulkError::Input`] with all problems of the header.
    pub(crate) fn read(
        source: &Source,
        message: &Compiled,
        ignored: &[String],
        key: Option<&str>,
    ) -> Result<Self> {
        let mut file = source.open()?;
        let mut start = read_start(&mut file).map_err(BulkError::io("read", &source.path))?;
        let name = source.name.as_str();
        let problem = |code, message: String| BulkError::Input(vec![Problem::new("", code, message)]);
        let has_bom = start.starts_with(BOM);
        let offset = if has_bom { start.drain(..BOM.len()).count() as u64 } else { 0 };
        if start.trim_ascii().is_empty() && (start.len() as u64) < HEADER - offset {
            return Err(problem("empty", format!("{name} is empty")));
        }
        let mut layout = Self {
            format: source.format,
            delimiter: source.delimiter.unwrap_or(b'\t'),
            has_bom,
            columns: Columns::default(),
            first: Position { row: 1, line: 1, offset },
            key: key.map(str::to_owned),
        };
        if layout.format == Format::JsonLines {
            if start.trim_ascii_start().starts_with(b"[") {
                let message = format!("{name} is a JSON array; write one object per line (`jq -c '.[]'`)");
                return Err(problem("json", message));
            }
            return Ok(layout);
        }
        if layout.format == Format::Csv && source.delimiter.is_none() {
            layout.delimiter = detect_delimiter(&start);
        }
        let header = Position { row: 0, line: 1, offset };
        let reading = |error: io::Error| BulkError::io("read", &source.path)(error);
        file.seek(SeekFrom::Start(offset)).map_err(reading)?;
        let mut rows = CsvRows::new(file, layout.delimiter, header);
        let Some((position, cells)) = rows.next().map_err(|error| error.with_input(name, &source.path))?
        else {
            return Err(problem("empty", format!("{name} is empty")));
        };
        layout.columns = Columns::read(cells, message, ignored, key)
            .map_err(|problems| BulkError::Input(locate_problems(name, position.line, problems)))?;
        layout.first = rows.position();
        Ok(layout)
    }
}

fn read_start(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(HEADER).read_to_end(&mut start)?;
    Ok(start)
}

fn locate_problems(name: &str, line: u64, mut problems: Vec<Problem>) -> Vec<Problem> {
    for problem in &mut problems {
        problem.message.insert_str(0, &format!("{name}:{line}: "));
    }
    problems
}

/// Returns the delimiter of a CSV file that begins with these bytes: the most frequent of `,`, `;` and tab outside quotes in the first line that
/// isn't empty, and `,` if it has none of them.
pub fn detect_delimiter(start: &[u8]) -> u8 {
    let line = start.trim_ascii_start();
    let (mut counts, mut quoted) = ([(b',', 0), (b';', 0), (b'\t', 0)], false);
    for byte in line {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            _ => counts
                .iter_mut()
                .filter(|(delimiter, _)| delimiter == byte)
                .for_each(|(_, count)| *count += 1),
        }
    }
    // `max_by_key` returns the last of several maxima, so the comma goes last.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(delimiter, _)| *delimiter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_detected_outside_quotes_in_the_first_line() {
        let cases: [(&str, u8); 7] = [
            ("to,subject\na;b;c;d", b','),
            ("to;subject\na,b,c,d", b';'),
            ("\"a,b,c\";\"d\"\"e,\";to\n", b';'),
            ("to\tsubject", b'\t'),
            ("to", b','),
            ("\n\nto;cc\n", b';'),
            ("a,b;c", b','),
        ];
        for (text, delimiter) in cases {
            assert_eq!(detect_delimiter(text.as_bytes()), delimiter, "{text}");
        }
    }
}
