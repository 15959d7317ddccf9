//! Creates plans.

use std::{collections::HashSet, path::Path};

use idempost::{
    Email,
    problem::{Problem, limits::EMAILS_PER_BATCH},
};

use super::{
    BatchKind, ChangedRows, Counts, Held, KnownRows, PlanOptions, RowKey, SKIPPED, Selection, body_hash,
    composer::Files,
    context::Context,
    hashes::{Bits, MAX_IN_MEMORY, Sorter},
    index::{self, Entry, IndexWriter},
    invalid_rows::{self, InvalidRows},
};
use crate::{
    error::{BulkError, Result},
    files,
    input::{Position, Reading, Record, Row, RowProblem},
    list::List,
};

/// The maximum size of a batch, in bytes of JSON: 4 MiB. It limits the memory of the batches in flight.
const MAX_BODY: usize = 4 << 20;
/// The number of problems kept for display.
const PROBLEMS: usize = 20;
/// The number of changed rows kept for display.
const CHANGED: usize = 5;

/// A plan whose files have been written.
pub(super) struct Built {
    pub(super) counts: Counts,
    /// The rows to send.
    pub(super) rows: Selection,
    pub(super) problems: Vec<RowProblem>,
    /// The number of changed rows, and the first of them with their recipients.
    pub(super) changed: (u64, Vec<(u64, String)>),
    pub(super) entries: u32,
    pub(super) index_hash: blake3::Hash,
}

/// Reads all rows, or the first `limit` valid ones, and writes the index and the invalid rows into `dir`. Rows that an earlier part holds are left
/// out.
pub(super) fn build(
    context: &Context,
    dir: &Path,
    options: &PlanOptions,
    known: &mut KnownRows,
    changed: ChangedRows,
) -> Result<Built> {
    let mut repeated = Bits::default();
    loop {
        let mut rows = context.rows()?;
        let mut builder = Builder {
            context,
            known,
            changed_rows: changed,
            options,
            skipped: List::create(&dir.join(SKIPPED), &["row", "recipient", "reason"])?,
            index: IndexWriter::create(dir)?,
            invalid: InvalidRows::create(dir, &context.layout)?,
            repeated: &mut repeated,
            recent: HashSet::new(),
            identities: Sorter::new(dir),
            recipients: Sorter::new(dir),
            batch: None,
            json: Vec::new(),
            counts: Counts::default(),
            rows: Selection::default(),
            problems: Vec::new(),
            changed: (0, Vec::new()),
        };
        while options.job.limit.is_none_or(|limit| builder.counts.valid + builder.counts.known < limit) {
            let Some((position, record)) = rows.next().map_err(|error| context.row_error(error))? else {
                break;
            };
            if context.contains_row(position.row) {
                builder.add_row(position, record)?;
            }
        }
        if let Some(built) = builder.finish()? {
            return Ok(built);
        }
        // Equal rows were found that are far apart. Plan again without them, now that they are known.
        for name in [index::NAME, invalid_rows::NAME, SKIPPED] {
            files::remove(&dir.join(name))?;
        }
    }
}

struct Builder<'a> {
    context: &'a Context,
    known: &'a mut KnownRows,
    changed_rows: ChangedRows,
    options: &'a PlanOptions,
    skipped: List,
    index: IndexWriter,
    invalid: InvalidRows<'a>,
    /// The numbers of rows that repeat an earlier row, one bit each.
    repeated: &'a mut Bits,
    /// The identities of the most recent rows to send, which suffice for most inputs.
    recent: HashSet<[u8; 16]>,
    /// The identities of all rows to send, with their numbers; and their recipients.
    identities: Sorter,
    recipients: Sorter,
    /// The batch that still accepts emails.
    batch: Option<OpenBatch>,
    /// The JSON of the current email.
    json: Vec<u8>,
    counts: Counts,
    rows: Selection,
    problems: Vec<RowProblem>,
    changed: (u64, Vec<(u64, String)>),
}

struct OpenBatch {
    first: Position,
    count: u16,
    /// The size of the body without the closing bracket, in bytes.
    size: usize,
    hasher: blake3::Hasher,
}

impl Builder<'_> {
    fn add_row(&mut self, position: Position, record: Record<'_>) -> Result<()> {
        self.counts.rows += 1;
        match Row::read(record, position, &self.context.layout) {
            Reading::Blank => self.counts.blank += 1,
            Reading::Unreadable(problem) => self.add_invalid(position, record, vec![problem])?,
            Reading::Row(row) => self.email(position, record, *row)?,
        }
        Ok(())
    }

    fn email(&mut self, position: Position, record: Record<'_>, row: Row<'_>) -> Result<()> {
        let layout = &self.context.layout;
        let Some(key) = RowKey::new(record, row.email.fields().to, layout) else {
            let name = layout.key.as_deref().unwrap_or_default();
            let problem = Problem::new("", "required", "the row has no key");
            return self.add_invalid(position, record, vec![RowProblem::new(position, name, problem)]);
        };
        let held = self.known.find(&key.identity)?;
        if held.is_some_and(Held::is_final) {
            self.counts.known += 1;
            return Ok(());
        }
        // Without a key, a corrected row can't be distinguished from another row of the same recipient.
        if held.is_none() && layout.key.is_none() && self.known.has_recipient(&key.recipient)? {
            let (count, shown) = &mut self.changed;
            *count += 1;
            if shown.len() < CHANGED {
                shown.push((position.row, row.email.fields().to.join("; ")));
            }
            if self.changed_rows == ChangedRows::Skip {
                self.counts.skipped += 1;
                return self.skip(position.row, row.email.fields().to, "changed");
            }
        }
        let kind = self.context.composer.kind(&row);
        let email = match self.context.composer.compose(row, Files::Attach) {
            Ok(email) => email,
            Err(problems) => return self.add_invalid(position, record, problems),
        };
        let fields = email.fields();
        if let Some(reason) = self.options.suppression(&fields) {
            self.counts.suppressed += 1;
            return self.skip(position.row, fields.to, reason);
        }
        let row = usize::try_from(position.row).unwrap_or(usize::MAX);
        if self.repeated.contains(row) || self.recent.contains(&key.identity) {
            self.repeated.insert(row);
            self.counts.repeated += 1;
            return self.skip(position.row, fields.to, "repeated");
        }
        if self.recent.len() == MAX_IN_MEMORY {
            self.recent.clear();
        }
        self.recent.insert(key.identity);
        self.identities.push((key.identity, position.row))?;
        self.recipients.push((key.recipient, 0))?;
        self.counts.retried_rejected += u64::from(held == Some(Held::Rejected));
        self.counts.retried_unknown += u64::from(held == Some(Held::Unknown));
        self.counts.retried_unsent += u64::from(held == Some(Held::Unsent));
        self.add_valid(position, kind, &email)
    }

    fn skip(&mut self, row: u64, to: &[String], reason: &str) -> Result<()> {
        self.skipped.row([&*row.to_string(), &to.join("; "), reason])
    }

    fn add_valid(&mut self, position: Position, kind: BatchKind, email: &Email) -> Result<()> {
        let composer = &self.context.composer;
        self.json.clear();
        let written = composer.write(email, &mut self.json);
        written.map_err(BulkError::io("write", &self.context.source.name))?;
        self.rows.push(position.row);
        self.counts.valid += 1;
        let fields = composer.fields(email);
        self.counts.recipients += (fields.to.len() + fields.cc.len() + fields.bcc.len()) as u64;
        match kind {
            BatchKind::Single => {
                self.counts.singles += 1;
                self.counts.bytes += self.json.len() as u64;
                let hash = body_hash(blake3::Hasher::new().update(&self.json));
                let Position { offset, row, .. } = position;
                self.index.push(Entry { offset, row, count: 1, kind, hash })
            }
            BatchKind::Batch => self.add(position),
        }
    }

    /// Adds the current email to the open batch, or to the next batch if it doesn't fit.
    fn add(&mut self, position: Position) -> Result<()> {
        // A comma or the opening bracket before the email, and the closing bracket.
        let size = 1 + self.json.len();
        if self.batch.as_ref().is_some_and(|batch| batch.size + size + 1 > MAX_BODY) {
            self.close()?;
        }
        let batch = self.batch.get_or_insert_with(|| OpenBatch {
            first: position,
            count: 0,
            size: 0,
            hasher: blake3::Hasher::new(),
        });
        batch.hasher.update(if batch.count == 0 { b"[" } else { b"," }).update(&self.json);
        batch.count += 1;
        batch.size += size;
        if usize::from(batch.count) == self.options.job.batch_size.map_or(EMAILS_PER_BATCH, usize::from) {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(OpenBatch { first, count, size, mut hasher }) = self.batch.take() else { return Ok(()) };
        self.counts.batches += 1;
        self.counts.bytes += size as u64 + 1;
        let hash = body_hash(hasher.update(b"]"));
        self.index.push(Entry { offset: first.offset, row: first.row, count, kind: BatchKind::Batch, hash })
    }

    fn add_invalid(
        &mut self,
        position: Position,
        record: Record<'_>,
        problems: Vec<RowProblem>,
    ) -> Result<()> {
        self.counts.invalid += 1;
        self.counts.problems += problems.len() as u64;
        self.invalid.push(position.row, &problems, record)?;
        let room = PROBLEMS - self.problems.len();
        self.problems.extend(problems.into_iter().take(room));
        Ok(())
    }

    /// Completes the plan. `None` if it contains rows that turn out to be equal.
    fn finish(mut self) -> Result<Option<Built>> {
        self.close()?;
        self.invalid.finish()?;
        self.skipped.finish()?;
        let (entries, index_hash) = self.index.finish()?;
        let (mut last, mut is_final) = (None, true);
        self.identities.finish(|(identity, row)| {
            if last.replace(identity) == Some(identity) {
                self.repeated.insert(usize::try_from(row).unwrap_or(usize::MAX));
                is_final = false;
            }
            Ok(())
        })?;
        if !is_final {
            return Ok(None);
        }
        let mut last = None;
        self.recipients.finish(|(recipient, _)| {
            self.counts.duplicates += u64::from(last.replace(recipient) == Some(recipient));
            Ok(())
        })?;
        let Self { counts, rows, problems, changed, .. } = self;
        Ok(Some(Built { counts, rows, problems, changed, entries, index_hash }))
    }
}
