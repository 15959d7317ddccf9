//! Errors of reading rows.

use std::io;

use idempost::problem::Problem;

use super::{MAX_COLUMNS, MAX_ROW, Position};
use crate::error::BulkError;

/// An error after which no further row can be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    Io(io::Error),
    /// A row is longer than [`MAX_ROW`].
    RowTooLong(Position),
    TooManyColumns(Position),
    /// A quote is never closed.
    Unclosed(Position),
    NotUtf8 {
        /// The offset of the first invalid byte.
        offset: u64,
        line: u64,
        byte: u8,
    },
}

impl ReadError {
    /// Adds the input's name.
    pub(crate) fn with_input(self, name: &str, path: &std::path::Path) -> BulkError {
        let at = |Position { row, line, .. }| match row {
            0 => format!("{name}:{line}"),
            _ => format!("{name}:{line}, row {row}"),
        };
        let (code, message) = match self {
            Self::Io(source) => return BulkError::io("read", path)(source),
            Self::RowTooLong(position) => {
                let at = at(position);
                (
                    "size",
                    format!(
                        "{at}: a row must have at most {MAX_ROW} bytes; is a quote or a line break missing?"
                    ),
                )
            }
            Self::TooManyColumns(position) => {
                let at = at(position);
                ("count", format!("{at}: a row must have at most {MAX_COLUMNS} columns"))
            }
            Self::Unclosed(position) => {
                ("quote", format!("{}: a quote in this row is never closed", at(position)))
            }
            Self::NotUtf8 { offset, line, byte } => {
                let fix = "save the file as \"CSV UTF-8\"";
                let what = format!("byte 0x{byte:02X} at offset {offset} isn't UTF-8");
                ("encoding", format!("{name}:{line}: {what}; {fix}"))
            }
        };
        BulkError::Input(vec![Problem::new("", code, message)])
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Finds the first invalid byte of a row that isn't valid UTF-8.
pub(super) fn not_utf8(row: &[u8], position: Position) -> ReadError {
    let valid = std::str::from_utf8(row).map_or_else(|error| error.valid_up_to(), str::len);
    ReadError::NotUtf8 {
        offset: position.offset + valid as u64,
        line: position.line + newlines(&row[..valid]),
        byte: row.get(valid).copied().unwrap_or_default(),
    }
}

pub(super) fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}
