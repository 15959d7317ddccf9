//! The rows of an input in any format.

use std::fs::File;

use super::{
    Format, Position, cells::Cells, csv_rows::CsvRows, json_rows::JsonRows, layout::Layout,
    read_error::ReadError,
};

/// Reads an input's rows, starting at any row.
pub(crate) enum Rows {
    Csv(Box<CsvRows<File>>),
    Json(JsonRows<File>),
}

/// A row as it appears in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record<'a> {
    Cells(Cells<'a>),
    Json(&'a str),
}

impl Rows {
    /// Reads from the first row after the header. `file` must be at that row's offset.
    pub(crate) fn new(file: File, layout: &Layout) -> Self {
        match layout.format {
            Format::JsonLines => Self::Json(JsonRows::new(file, layout.first)),
            Format::Csv | Format::Tsv => {
                Self::Csv(Box::new(CsvRows::new(file, layout.delimiter, layout.first)))
            }
        }
    }

    /// Reads the next row; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Position, Record<'_>)>, ReadError> {
        match self {
            Self::Csv(rows) => Ok(rows.next()?.map(|(position, cells)| (position, Record::Cells(cells)))),
            Self::Json(rows) => Ok(rows.next()?.map(|(position, line)| (position, Record::Json(line)))),
        }
    }

    /// Moves to a row. Lines are counted from there.
    pub(crate) fn seek(&mut self, to: Position) -> Result<(), ReadError> {
        match self {
            Self::Csv(rows) => Ok(rows.seek(to)?),
            Self::Json(rows) => Ok(rows.seek(to)?),
        }
    }
}
