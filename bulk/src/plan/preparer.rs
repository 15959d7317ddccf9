//! Preparing of requests.

use std::{fs::File, path::Path};

use idempost::{Email, bytes::Bytes};

use super::{
    BatchKind, Prepared, PreparedRow, PreviewEmail,
    composer::{Composed, Files},
    context::{Context, verify_input},
    index::{Entry, Index},
    job::Job,
};
use crate::{
    error::{BulkError, Result},
    input::{Fingerprint, Position, Reading, Row, RowProblem, Rows},
};

/// Prepares the requests of a plan, in any order. Reading them in order is fastest.
pub(crate) struct Preparer {
    context: Context,
    index: Index,
    rows: Rows,
    /// A handle of the input, for its metadata.
    file: File,
    fingerprint: Fingerprint,
    /// The size of the last body, so that the next one needs one allocation.
    last_size: usize,
}

impl Preparer {
    pub(super) fn new(context: Context, dir: &Path, job: &Job) -> Result<Self> {
        let (rows, file) = context.rows()?;
        let index = Index::open(dir, job.index.entries)?;
        let fingerprint = job.input.fingerprint.clone();
        Ok(Self { context, index, rows, file, fingerprint, last_size: 0 })
    }

    /// Prepares a request. It always has the same bytes.
    ///
    /// # Errors
    /// [`BulkError::PlanChanged`] if the input isn't the planned one, an attachment is missing, or there is no such batch; [`BulkError::Io`]
    /// if a file can't be read.
    pub(crate) fn prepare(&mut self, batch: u32) -> Result<Prepared> {
        self.fingerprint = verify_input(&self.context.source, &self.file, &self.fingerprint)?;
        let entry = self.index.get(batch)?;
        let Entry { offset, row, count, kind } = entry;
        let Context { source, layout, composer, .. } = &self.context;
        let in_input = |error: crate::input::ReadError| error.in_input(&source.name, &source.path);
        self.rows.seek(Position { row, line: 0, offset }).map_err(in_input)?;
        let files = if kind == BatchKind::Single { Files::Attach } else { Files::Skip };
        let mut body = Vec::with_capacity(self.last_size + self.last_size / 8);
        let mut rows = Vec::with_capacity(usize::from(count));
        while rows.len() < usize::from(count) {
            let Some((position, record)) = self.rows.next().map_err(in_input)? else {
                return Err(changed(batch, entry, "the input ends before its last row"));
            };
            if !self.context.selects(position.row) {
                continue;
            }
            let composed = match Row::read(record, position, layout) {
                Reading::Row(read) if composer.kind(&read) == kind => composer.compose(*read, files),
                Reading::Row(_) | Reading::Blank => Err(Vec::new()),
                Reading::Unreadable(problem) => Err(vec![problem]),
            };
            let Composed { email, .. } = match composed {
                Ok(composed) => composed,
                // The first row is in the batch by definition; the others may be between its rows.
                Err(problems) if rows.is_empty() => {
                    let why = problems
                        .first()
                        .map_or("it belongs elsewhere".to_owned(), RowProblem::without_location);
                    return Err(changed(batch, entry, &why));
                }
                Err(_) => continue,
            };
            if kind == BatchKind::Batch {
                body.push(if rows.is_empty() { b'[' } else { b',' });
            }
            composer.write(&email, &mut body).map_err(BulkError::io("write", &source.name))?;
            rows.push(PreparedRow { row: position.row, recipient: composer.fields(&email).to.join("; ") });
        }
        if kind == BatchKind::Batch {
            body.push(b']');
        }
        self.last_size = body.len();
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(&body).as_bytes()[..16]);
        Ok(Prepared { batch, kind, body: Bytes::from(body), hash, rows })
    }
}

fn changed(batch: u32, entry: Entry, why: &str) -> BulkError {
    BulkError::PlanChanged(format!("batch {batch} can't be prepared again from row {}: {why}", entry.row))
}

/// Renders the first `n` valid rows.
pub(super) fn preview(context: &Context, n: usize) -> Result<Vec<PreviewEmail>> {
    let Context { source, layout, composer, .. } = context;
    let (mut rows, _) = context.rows()?;
    let mut emails = Vec::new();
    while emails.len() < n {
        let next = rows.next().map_err(|error| error.in_input(&source.name, &source.path))?;
        let Some((position, record)) = next else { break };
        if !context.selects(position.row) {
            continue;
        }
        let Reading::Row(row) = Row::read(record, position, layout) else { continue };
        let attachments = row.attachments.iter().map(ToString::to_string).collect();
        // A row with a missing file is invalid too, and isn't shown.
        let inspected = match Row::read(record, position, layout) {
            Reading::Row(row) => composer.compose(*row, Files::Inspect).is_ok(),
            _ => false,
        };
        let Ok(Composed { email, .. }) = composer.compose(*row, Files::Skip) else { continue };
        if !inspected {
            continue;
        }
        let json = composer.json(&email).map_err(BulkError::io("write", &source.name))?;
        emails.push(PreviewEmail { row: position.row, email: Email::read(&json).0, attachments });
    }
    Ok(emails)
}
