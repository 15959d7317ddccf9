//! Prepares requests.

use std::path::Path;

use idempost::{Attachment, Email, bytes::Bytes, emails::EmailFields};

use super::{
    BatchKind, PlannedRow, Prepared, PreparedRow, PreviewEmail, body_hash,
    composer::Files,
    context::Context,
    index::{Entry, Index},
    row_key::is_at,
};
use crate::{
    error::{BulkError, Result},
    input::{Position, Reading, Row, RowProblem, Rows},
};

/// Prepares a plan's requests, in any order. Preparing them in order is fastest.
pub(crate) struct Preparer {
    context: Context,
    index: Index,
    rows: Rows,
    /// The size of the previous body, so that one allocation suffices for the next one.
    last_size: usize,
    /// The domains whose emails are counted.
    domains: Vec<String>,
}

impl Preparer {
    pub(super) fn new(context: Context, dir: &Path, entries: u32) -> Result<Self> {
        let (rows, index) = (context.rows()?, Index::open(dir, entries)?);
        Ok(Self { context, index, rows, last_size: 0, domains: Vec::new() })
    }

    /// Counts the emails to these domains.
    pub(crate) fn counting(self, domains: Vec<String>) -> Self {
        Self { domains, ..self }
    }

    /// Returns the number of emails of a request to each of these domains. Attachments aren't read.
    pub(crate) fn domains_of(&mut self, batch: u32) -> Result<Vec<u64>> {
        let entry = self.index.get(batch)?;
        let Self { context, rows, domains: names, .. } = self;
        let mut domains = vec![0; names.len()];
        compose(context, rows, (batch, entry), Files::Skip, |_, email| {
            count_domains(names, &context.composer.fields(email), &mut domains);
            Ok(())
        })?;
        Ok(domains)
    }

    /// Returns the rows of a request. Attachments aren't read.
    pub(crate) fn rows_of(&mut self, batch: u32) -> Result<Vec<PlannedRow>> {
        let entry = self.index.get(batch)?;
        let Self { context, rows: input, .. } = self;
        let mut rows = Vec::with_capacity(usize::from(entry.count));
        compose(context, input, (batch, entry), Files::Skip, |row, email| {
            let composer = &context.composer;
            let subject = composer.subject(email).map_err(BulkError::io("write", &context.source.name))?;
            rows.push(PlannedRow { row, to: composer.fields(email).to.to_vec(), subject });
            Ok(())
        })?;
        Ok(rows)
    }

    /// Prepares a request. Its bytes are always as planned.
    ///
    /// # Errors
    /// [`BulkError::PlanChanged`] if the bytes would differ, an attachment is missing, or there is no such batch; [`BulkError::Io`] if a file can't
    /// be read.
    pub(crate) fn prepare(&mut self, batch: u32) -> Result<Prepared> {
        let entry = self.index.get(batch)?;
        let Entry { count, kind, hash, .. } = entry;
        let Self { context, rows: input, last_size, domains: names, .. } = self;
        let files = if kind == BatchKind::Single { Files::Attach } else { Files::Skip };
        let mut body = Vec::with_capacity(*last_size + *last_size / 8);
        let mut rows = Vec::with_capacity(usize::from(count));
        let mut domains = vec![0; names.len()];
        let mut attachments = Vec::new();
        compose(context, input, (batch, entry), files, |row, email| {
            if kind == BatchKind::Batch {
                body.push(if rows.is_empty() { b'[' } else { b',' });
            }
            let composer = &context.composer;
            composer.write(email, &mut body).map_err(BulkError::io("write", &context.source.name))?;
            let fields = composer.fields(email);
            count_domains(names, &fields, &mut domains);
            let names = fields.attachments.iter().filter_map(Attachment::file_name);
            attachments.extend(names.map(|name| format!("attachment `{name}`, ")));
            rows.push(PreparedRow { row, recipient: fields.to.join("; "), end: body.len() });
            Ok(())
        })?;
        if kind == BatchKind::Batch {
            body.push(b']');
        }
        *last_size = body.len();
        if body_hash(blake3::Hasher::new().update(&body)) != hash {
            let why = format!("{}job.json or this program's version changed", attachments.concat());
            return Err(changed_input(batch, entry, &why));
        }
        Ok(Prepared { batch, kind, body: Bytes::from(body), hash, rows, domains })
    }
}

/// Composes the emails of a request in order, and visits them with their rows.
fn compose(
    context: &Context,
    rows: &mut Rows,
    (batch, entry): (u32, Entry),
    files: Files,
    mut visit: impl FnMut(u64, &Email) -> Result<()>,
) -> Result<()> {
    let Context { layout, composer, .. } = context;
    let Entry { offset, row, count, kind, .. } = entry;
    let in_input = |error| context.row_error(error);
    rows.seek(Position { row, line: 0, offset }).map_err(in_input)?;
    let mut visited = 0;
    while visited < count {
        let Some((position, record)) = rows.next().map_err(in_input)? else {
            return Err(changed_input(batch, entry, "the input ends before the batch's last row"));
        };
        if !context.contains_row(position.row) {
            continue;
        }
        let composed = match Row::read(record, position, layout) {
            Reading::Row(read) if composer.kind(&read) == kind => composer.compose(*read, files),
            Reading::Row(_) => continue,
            Reading::Blank => Err(Vec::new()),
            Reading::Unreadable(problem) => Err(vec![problem]),
        };
        let email = composed.map_err(|problems| {
            let problem = problems.first().map(RowProblem::without_location);
            changed_input(batch, entry, problem.as_deref().unwrap_or("a row is blank"))
        })?;
        visit(position.row, &email)?;
        visited += 1;
    }
    Ok(())
}

/// Counts an email for each domain at which it has a recipient.
fn count_domains(domains: &[String], fields: &EmailFields<'_>, counts: &mut [u64]) {
    for (domain, count) in domains.iter().zip(counts) {
        let mut recipients = [fields.to, fields.cc, fields.bcc].into_iter().flatten();
        *count += u64::from(recipients.any(|recipient| is_at(recipient, domain)));
    }
}

fn changed_input(batch: u32, entry: Entry, why: &str) -> BulkError {
    BulkError::PlanChanged(format!("batch {batch} can't be prepared again from row {}: {why}", entry.row))
}

/// Renders the first `n` rows of a plan.
pub(super) fn preview(context: &Context, n: usize) -> Result<Vec<PreviewEmail>> {
    let Context { source, composer, .. } = context;
    let mut emails = Vec::new();
    context.visit_rows(|_, row| {
        if emails.len() == n {
            return Ok(false);
        }
        let number = row.position.row;
        let attachments = row.attachments.iter().map(ToString::to_string).collect();
        if let Ok(email) = composer.compose(row, Files::Skip) {
            let json = composer.json(&email).map_err(BulkError::io("write", &source.name))?;
            emails.push(PreviewEmail { row: number, email: Email::read(&json).0, attachments });
        }
        Ok(true)
    })?;
    Ok(emails)
}
