//! The context shared by planning and preparing, so that both read the rows in the same way.

use std::io::{Seek as _, SeekFrom};

use super::{Selection, composer::Composer, job::JobOptions};
use crate::{
    error::{BulkError, Result},
    input::{Layout, ReadError, Reading, Record, Row, Rows, Source},
    message::Message,
};

/// An input with its layout, and the composer for its emails.
pub(super) struct Context {
    pub(super) source: Source,
    pub(super) layout: Layout,
    pub(super) composer: Composer,
    /// The rows to read; `None` for all.
    pub(super) selection: Option<Selection>,
}

impl Context {
    pub(super) fn new(source: Source, message: &Message, options: &JobOptions) -> Result<Self> {
        let compiled = message.compile().map_err(BulkError::Input)?;
        let layout = Layout::read(&source, &compiled, &options.ignore_columns, options.key.as_deref())?;
        let composer = Composer::new(compiled, options, &source.folder)?;
        Ok(Self { source, layout, composer, selection: options.rows.clone() })
    }

    /// Returns whether a row belongs to the job.
    pub(super) fn contains_row(&self, row: u64) -> bool {
        self.selection.as_ref().is_none_or(|selection| selection.contains(row))
    }

    /// Returns a reader that starts at the first row.
    pub(super) fn rows(&self) -> Result<Rows> {
        let mut file = self.source.open()?;
        let start = file.seek(SeekFrom::Start(self.layout.first.offset));
        start.map_err(BulkError::io("read", &self.source.path))?;
        Ok(Rows::new(file, &self.layout))
    }

    /// Visits the job's readable rows in order, until `visit` returns `false`.
    pub(super) fn visit_rows(
        &self,
        mut visit: impl FnMut(Record<'_>, Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let mut rows = self.rows()?;
        while let Some((position, record)) = rows.next().map_err(|error| self.row_error(error))? {
            if self.contains_row(position.row)
                && let Reading::Row(row) = Row::read(record, position, &self.layout)
                && !visit(record, *row)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Returns the error for an unreadable row.
    pub(super) fn row_error(&self, error: ReadError) -> BulkError {
        error.with_input(&self.source.name, &self.source.path)
    }
}
