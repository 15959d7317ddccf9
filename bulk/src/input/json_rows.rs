//! JSON Lines rows.

use std::io::{self, BufRead, BufReader, Read, Seek};

use super::{
    MAX_ROW, Position,
    read_error::{ReadError, not_utf8},
};

/// The size of the read buffer, in bytes.
const BUFFER: usize = 128 * 1024;

/// Reads the lines of an input, starting at any row. Blank lines aren't rows.
pub(crate) struct JsonRows<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    next: Position,
}

impl<R: Read + Seek> JsonRows<R> {
    /// Creates a reader that begins at a row. `from` must be at that row's offset.
    pub(crate) fn new(from: R, next: Position) -> Self {
        Self { from: BufReader::with_capacity(BUFFER, from), line: Vec::new(), next }
    }

    /// Moves to a row. Lines are counted from there.
    pub(crate) fn seek(&mut self, to: Position) -> io::Result<()> {
        self.from.seek_relative(to.offset.cast_signed() - self.next.offset.cast_signed())?;
        self.next = to;
        Ok(())
    }

    /// Reads the next row; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Position, &str)>, ReadError> {
        let position = loop {
            let position = self.next;
            self.line.clear();
            let read = (&mut self.from).take(MAX_ROW + 1).read_until(b'\n', &mut self.line)? as u64;
            if read == 0 {
                return Ok(None);
            }
            if read > MAX_ROW {
                return Err(ReadError::RowTooLong(position));
            }
            self.next.offset += read;
            self.next.line += 1;
            if !self.line.trim_ascii().is_empty() {
                break position;
            }
        };
        self.next.row += 1;
        match std::str::from_utf8(&self.line) {
            Ok(line) => Ok(Some((position, line.trim_ascii()))),
            Err(_) => Err(not_utf8(&self.line, position)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const START: Position = Position { row: 1, line: 1, offset: 0 };

    #[test]
    fn empty_lines_are_no_rows_and_any_row_can_be_read_again() {
        let mut rows = JsonRows::new(Cursor::new("{}\r\n \n\n{\"é\":1}\n[]"), START);
        let mut all = Vec::new();
        while let Some((position, line)) = rows.next().unwrap() {
            all.push((position, line.to_owned()));
        }
        let places: Vec<_> = all.iter().map(|(p, line)| (p.row, p.line, p.offset, line.as_str())).collect();
        assert_eq!(places, [(1, 1, 0, "{}"), (2, 4, 7, "{\"é\":1}"), (3, 5, 16, "[]")]);
        rows.seek(all[1].0).unwrap();
        assert_eq!(rows.next().unwrap().unwrap(), (all[1].0, all[1].1.as_str()));
    }

    #[test]
    fn a_line_is_limited_and_invalid_utf8_is_located() {
        let max = usize::try_from(MAX_ROW).unwrap();
        let mut rows = JsonRows::new(Cursor::new(vec![b'x'; max]), START);
        assert_eq!(rows.next().unwrap().unwrap().1.len(), max);
        let mut rows = JsonRows::new(Cursor::new(vec![b'x'; max + 1]), START);
        assert!(matches!(rows.next().unwrap_err(), ReadError::RowTooLong(Position { row: 1, .. })));
        let mut rows = JsonRows::new(Cursor::new(b"{}\n{\"\xff\"}".to_vec()), START);
        rows.next().unwrap();
        assert!(matches!(rows.next().unwrap_err(), ReadError::NotUtf8 { offset: 5, line: 2, byte: 0xff }));
    }
}
