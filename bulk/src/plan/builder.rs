//! Making of a plan.

use std::{
    io::{self, Write},
    path::Path,
};

use idempost::{emails::EmailFields, problem::limits::EMAILS_PER_BATCH};

use super::{
    BatchKind, Counts,
    composer::{Composed, Files},
    context::Context,
    duplicates::Duplicates,
    index::{Entry, IndexWriter},
    invalid_rows::InvalidRows,
};
use crate::{
    error::{BulkError, Result},
    input::{Position, Reading, Record, Row, RowProblem},
};

/// The maximum size of a batch, in bytes of JSON: 4 MiB. It limits the memory of the batches in flight.
const MAX_BODY: u64 = 4 << 20;
/// The number of problems that are kept for display.
const PROBLEMS: usize = 20;

/// A plan whose files were written.
pub(super) struct Built {
    pub(super) counts: Counts,
    pub(super) problems: Vec<RowProblem>,
    pub(super) entries: u32,
    pub(super) index_hash: blake3::Hash,
}

/// Reads all rows, or the first `limit` valid ones, and writes the index and the invalid rows into `dir`.
pub(super) fn build(context: &Context, dir: &Path, limit: Option<u64>) -> Result<Built> {
    let (mut rows, _) = context.rows()?;
    let mut builder = Builder {
        context,
        index: IndexWriter::create(dir)?,
        invalid: InvalidRows::new(dir, &context.layout),
        duplicates: Duplicates::new(),
        batch: None,
        counts: Counts::default(),
        problems: Vec::new(),
    };
    while limit.is_none_or(|limit| builder.counts.valid < limit) {
        let next = rows.next().map_err(|error| error.in_input(&context.source.name, &context.source.path))?;
        let Some((position, record)) = next else { break };
        if context.selects(position.row) {
            builder.row(position, record)?;
        }
    }
    builder.finish()
}

struct Builder<'a> {
    context: &'a Context,
    index: IndexWriter,
    invalid: InvalidRows<'a>,
    duplicates: Duplicates,
    /// The batch that may take more emails.
    batch: Option<OpenBatch>,
    counts: Counts,
    problems: Vec<RowProblem>,
}

struct OpenBatch {
    first: Position,
    count: u16,
    /// The size of the body without its last bracket, in bytes.
    size: u64,
}

impl Builder<'_> {
    fn row(&mut self, position: Position, record: Record<'_>) -> Result<()> {
        self.counts.rows += 1;
        match Row::read(record, position, &self.context.layout) {
            Reading::Blank => self.counts.blank += 1,
            Reading::Unreadable(problem) => self.invalid(position, record, vec![problem])?,
            Reading::Row(row) => {
                let kind = self.context.composer.kind(&row);
                match self.context.composer.compose(*row, Files::Inspect) {
                    Ok(composed) => self.valid(position, kind, &composed)?,
                    Err(problems) => self.invalid(position, record, problems)?,
                }
            }
        }
        Ok(())
    }

    fn valid(&mut self, position: Position, kind: BatchKind, composed: &Composed) -> Result<()> {
        let Composed { email, files_size } = composed;
        self.duplicates.add(email.fields().to);
        let mut size = Size(*files_size);
        let fields = self.context.composer.fields(email);
        let written = self.context.composer.write(email, &mut size);
        written.map_err(BulkError::io("write", &self.context.source.name))?;
        self.counts.valid += 1;
        self.counts.recipients += recipients(&fields);
        match kind {
            BatchKind::Single => {
                self.counts.singles += 1;
                self.counts.bytes += size.0;
                self.push(position, 1, BatchKind::Single)
            }
            BatchKind::Batch => self.add(position, size.0),
        }
    }

    /// Adds an email to the open batch, or to the next one if it has no room.
    fn add(&mut self, position: Position, size: u64) -> Result<()> {
        // A comma or the first bracket before the email, and the last bracket.
        if self.batch.as_ref().is_some_and(|batch| batch.size + 1 + size + 1 > MAX_BODY) {
            self.close()?;
        }
        let batch = self.batch.get_or_insert(OpenBatch { first: position, count: 0, size: 0 });
        batch.count += 1;
        batch.size += 1 + size;
        if usize::from(batch.count) == EMAILS_PER_BATCH {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(OpenBatch { first, count, size }) = self.batch.take() else { return Ok(()) };
        self.counts.batches += 1;
        self.counts.bytes += size + 1;
        self.push(first, count, BatchKind::Batch)
    }

    fn push(&mut self, position: Position, count: u16, kind: BatchKind) -> Result<()> {
        self.index.push(Entry { offset: position.offset, row: position.row, count, kind })
    }

    fn invalid(&mut self, position: Position, record: Record<'_>, problems: Vec<RowProblem>) -> Result<()> {
        self.counts.invalid += 1;
        self.counts.problems += problems.len() as u64;
        self.invalid.push(position.row, &problems, record)?;
        let room = PROBLEMS - self.problems.len();
        self.problems.extend(problems.into_iter().take(room));
        Ok(())
    }

    fn finish(mut self) -> Result<Built> {
        self.close()?;
        self.invalid.finish()?;
        let (entries, index_hash) = self.index.finish()?;
        self.counts.duplicates = self.duplicates.count();
        Ok(Built { counts: self.counts, problems: self.problems, entries, index_hash })
    }
}

fn recipients(fields: &EmailFields<'_>) -> u64 {
    (fields.to.len() + fields.cc.len() + fields.bcc.len()) as u64
}

/// A writer that only counts.
struct Size(u64);

impl Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
