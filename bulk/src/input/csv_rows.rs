//! CSV rows.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::{
    MAX_COLUMNS, MAX_ROW, Position,
    cells::Cells,
    read_error::{ReadError, newlines, not_utf8},
};

/// The size of the read buffer, in bytes.
const BUFFER: usize = 128 * 1024;

/// Reads CSV rows, starting at any row.
///
/// `csv::Reader` would buffer a row of any length; this reader stops at [`MAX_ROW`] and detects unclosed quotes.
pub(crate) struct CsvRows<R> {
    from: BufReader<R>,
    parser: Reader,
    fields: Vec<u8>,
    ends: Vec<usize>,
    next: Position,
}

impl<R: Read + Seek> CsvRows<R> {
    /// Creates a reader that begins at a row. `from` must be at that row's offset.
    pub(crate) fn new(from: R, delimiter: u8, next: Position) -> Self {
        let mut rows = Self {
            from: BufReader::with_capacity(BUFFER, from),
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            fields: vec![0; 4 * 1024],
            ends: vec![0; 64],
            next,
        };
        rows.restart();
        rows
    }

    /// Moves to a row. Lines are counted from there.
    pub(crate) fn seek(&mut self, to: Position) -> io::Result<()> {
        self.from.seek_relative(to.offset.cast_signed() - self.next.offset.cast_signed())?;
        self.next = to;
        self.restart();
        Ok(())
    }

    fn restart(&mut self) {
        self.parser.reset();
        // A new parser would skip a byte order mark, which at this position is text. After an empty line, it doesn't.
        self.parser.read_record(b"\n", &mut self.fields, &mut self.ends);
    }

    /// Returns where the next row begins, or the empty lines before it.
    pub(crate) fn position(&self) -> Position {
        self.next
    }

    /// Reads the next row; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Position, Cells<'_>)>, ReadError> {
        if !self.skip_empty_lines()? {
            return Ok(None);
        }
        let position = self.next;
        let (mut len, mut cells) = (0, 0);
        loop {
            let input = self.from.fill_buf()?;
            let at_end = input.is_empty();
            let input = if at_end { b"\n" } else { input };
            let (result, read, written, ended) =
                self.parser.read_record(input, &mut self.fields[len..], &mut self.ends[cells..]);
            let lines = newlines(&input[..read]);
            if !at_end {
                self.advance(read, lines);
            }
            (len, cells) = (len + written, cells + ended);
            if self.next.offset - position.offset > MAX_ROW {
                return Err(ReadError::RowTooLong(position));
            }
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::InputEmpty if at_end => return Err(ReadError::Unclosed(position)),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
                ReadRecordResult::OutputFull => self.fields.resize(self.fields.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if cells >= MAX_COLUMNS => {
                    return Err(ReadError::TooManyColumns(position));
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
            }
        }
        self.next.row += 1;
        if Cells::new(&self.fields[..len], &self.ends[..cells]).is_none() {
            return Err(self.utf8_error(position)?);
        }
        Ok(Cells::new(&self.fields[..len], &self.ends[..cells]).map(|cells| (position, cells)))
    }

    /// Returns `false` at the end of the input.
    fn skip_empty_lines(&mut self) -> io::Result<bool> {
        loop {
            let input = self.from.fill_buf()?;
            if input.is_empty() {
                return Ok(false);
            }
            let empty = input.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            let (lines, found) = (newlines(&input[..empty]), empty < input.len());
            self.advance(empty, lines);
            if found {
                return Ok(true);
            }
        }
    }

    fn advance(&mut self, bytes: usize, lines: u64) {
        self.from.consume(bytes);
        self.next.offset += bytes as u64;
        self.next.line += lines;
    }

    /// Reads the row again, because offsets in the parser's output differ from offsets in the input.
    fn utf8_error(&mut self, position: Position) -> io::Result<ReadError> {
        let mut row = Vec::new();
        self.from.seek(SeekFrom::Start(position.offset))?;
        (&mut self.from).take(self.next.offset - position.offset).read_to_end(&mut row)?;
        Ok(not_utf8(&row, position))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    const START: Position = Position { row: 0, line: 1, offset: 0 };

    fn read(text: &[u8]) -> Result<Vec<(Position, Vec<String>)>, ReadError> {
        let mut rows = CsvRows::new(Cursor::new(text), b',', START);
        let mut all = Vec::new();
        while let Some((position, cells)) = rows.next()? {
            all.push((position, cells.iter().map(str::to_owned).collect()));
        }
        Ok(all)
    }

    #[test]
    fn rows_have_number_line_and_offset_after_empty_lines_and_line_breaks_in_quotes() {
        let rows = read(b"a,b\r\n\r\n\n\"x\r\ny\",\"q\"\"q\"\r\nlast,").unwrap();
        let places: Vec<_> = rows.iter().map(|(p, _)| (p.row, p.line, p.offset)).collect();
        assert_eq!(places, [(0, 1, 0), (1, 4, 8), (2, 6, 23)]);
        assert_eq!(rows[1].1, ["x\r\ny", "q\"q"]);
        assert_eq!(rows[2].1, ["last", ""]);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_an_error() {
        let error = read(b"a\nb\n\"c\nd\ne").unwrap_err();
        assert!(matches!(error, ReadError::Unclosed(Position { row: 2, line: 3, offset: 4 })), "{error:?}");
        assert_eq!(read(b"a\n\"c\"").unwrap().len(), 2);
    }

    #[test]
    fn a_row_is_limited_and_the_limit_is_not_the_buffer() {
        let max = usize::try_from(MAX_ROW).unwrap();
        let row = |len: usize| [b"a\n".to_vec(), vec![b'x'; len - 1], b"\n".to_vec()].concat();
        assert_eq!(read(&row(max)).unwrap()[1].1[0].len(), max - 1);
        let error = read(&row(max + 1)).unwrap_err();
        assert!(matches!(error, ReadError::RowTooLong(Position { row: 1, .. })), "{error:?}");
        let error = read(&b",".repeat(MAX_COLUMNS)).unwrap_err();
        assert!(matches!(error, ReadError::TooManyColumns(_)), "{error:?}");
        assert_eq!(read(&b",".repeat(MAX_COLUMNS - 1)).unwrap()[0].1.len(), MAX_COLUMNS);
    }

    #[test]
    fn the_first_byte_that_is_not_utf8_is_named() {
        let error = read(b"a,b\nx,\"\n\xe9\"\n").unwrap_err();
        assert!(matches!(error, ReadError::NotUtf8 { offset: 8, line: 3, byte: 0xe9 }), "{error:?}");
        // Two halves of a character, with a delimiter between them.
        let error = read(b"a,b\n\xc3,\xa9\n").unwrap_err();
        assert!(matches!(error, ReadError::NotUtf8 { offset: 4, line: 2, byte: 0xc3 }), "{error:?}");
    }

    fn any_csv() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "é", ",", "\"", "\n", "\r\n", "\r", "\u{feff}", "x"]),
            0..40,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn the_rows_are_those_of_the_csv_crate(text in any_csv()) {
            let Ok(rows) = read(text.as_bytes()) else { return Ok(()) };
            // Start with text, so that the crate doesn't skip a byte order mark.
            let text = format!("first\n{text}");
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let expected: Vec<Vec<String>> =
                reader.records().skip(1).map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
            prop_assert_eq!(rows.into_iter().map(|(_, cells)| cells).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn reading_from_any_row_gives_the_same_rows(text in any_csv()) {
            let Ok(all) = read(text.as_bytes()) else { return Ok(()) };
            let mut rows = CsvRows::new(Cursor::new(text.as_bytes()), b',', START);
            for from in (0..all.len()).rev() {
                rows.seek(all[from].0).unwrap();
                for expected in &all[from..] {
                    let (position, cells) = rows.next().unwrap().unwrap();
                    prop_assert_eq!(position, expected.0);
                    prop_assert_eq!(cells.iter().collect::<Vec<_>>(), expected.1.clone());
                }
                prop_assert!(rows.next().unwrap().is_none());
            }
        }
    }
}
