//! The second pass over the file: sends each row to the service.

use std::fs::File;

use csv::{ByteRecord, Writer, WriterBuilder};
use futures_util::StreamExt as _;
use idempost::{Client, Error, Outcome};
use serde_json::json;

use super::columns::Columns;
use super::file::Csv;
use super::row::Row;
use super::{ImportOptions, OnConflict};
use crate::context::Context;
use crate::diagnostics::{Fail, Kind};
use crate::files::private_options;
use crate::literal::check_local;
use crate::output::progress::Rows;

enum RowOutcome {
    Written,
    Skipped,
    /// The service rejected the row, for this reason.
    Rejected(String),
    /// An error that stops the import.
    Stopped(Fail),
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    written: u64,
    skipped: u64,
    rejected: u64,
}

impl Count {
    fn processed(self) -> u64 {
        self.written + self.skipped + self.rejected
    }
}

pub(super) async fn run(
    client: &Client,
    csv: &Csv,
    columns: &Columns,
    rows: u64,
    options: ImportOptions,
    context: &Context,
) -> Result<(), Fail> {
    let mut refusals = options.failed.as_ref().map(|path| RejectedRows::new(path, csv)).transpose()?;
    let progress = Rows::new(context.settings()?.progress.value, &context.out, Some(rows));
    let mut unread = csv.rows().map_err(|error| csv.read_failure(error.into()))?;
    let records = std::iter::from_fn(move || {
        let mut record = ByteRecord::new();
        unread.read(&mut record).map(|found| found.then_some(record)).transpose()
    });
    let mut count = Count::default();
    let interrupted_message = |count| interrupted_message(count, rows, &options);
    context.in_flight.record_progress(Outcome::Unknown, interrupted_message(count));
    let mut outcomes = futures_util::stream::iter(records.skip(1))
        .map(|record| {
            let options = &options;
            async move {
                let record = match record {
                    Ok(record) => record,
                    // The rows that follow can't be read either.
                    Err(error) => {
                        let fail = Fail::local(format!("couldn't read {}", csv.name), error);
                        return (ByteRecord::new(), RowOutcome::Stopped(fail));
                    }
                };
                let outcome = match Row::read(&record, columns) {
                    Ok(row) => send(client, &row, options).await,
                    Err(_) => RowOutcome::Rejected("the file changed while it was read".to_owned()),
                };
                (record, outcome)
            }
        })
        .buffered(options.concurrency);
    while let Some((record, outcome)) = outcomes.next().await {
        match outcome {
            RowOutcome::Written => count.written += 1,
            RowOutcome::Skipped => count.skipped += 1,
            RowOutcome::Rejected(reason) => {
                count.rejected += 1;
                if let Some(refusals) = &mut refusals {
                    refusals.record_rejection(&record, &reason)?;
                } else {
                    let line = record.position().map_or(0, csv::Position::line);
                    context.out.warn(&format!("{}:{line}: {reason}", csv.name));
                }
            }
            RowOutcome::Stopped(fail) => {
                drop(progress);
                context.in_flight.finish();
                context.out.warn(&interrupted_message(count));
                return Err(fail);
            }
        }
        progress.set(count.processed());
        context.in_flight.record_progress(Outcome::Unknown, interrupted_message(count));
    }
    drop(progress);
    if count.processed() < rows {
        context.in_flight.finish();
        let message = format!("{} changed during the import: it had {rows} rows", csv.name);
        return Err(Fail::error(message).hint(interrupted_message(count)));
    }
    finish(count, rows, &options, context)
}

fn interrupted_message(count: Count, rows: u64, options: &ImportOptions) -> String {
    let new_file = if options.failed.is_some() { ", with another file for --failed" } else { "" };
    let effect = match options.on_conflict {
        OnConflict::Update => "rewrites",
        OnConflict::Skip => "skips",
        OnConflict::Fail => "rejects",
    };
    format!(
        "{} of {rows} rows are done, and some of the following may be; to continue, run the same command again{new_file}: it \
         {effect} the rows that are done",
        count.processed()
    )
}

fn finish(count: Count, rows: u64, options: &ImportOptions, context: &Context) -> Result<(), Fail> {
    let Count { written, skipped, rejected } = count;
    let document = json!({
        "object": "import", "rows": rows, "written": written, "skipped": skipped, "rejected": rejected,
    });
    let summary = format!("{written} written, {skipped} skipped, {rejected} rejected");
    context.in_flight.record_progress(Outcome::Accepted, &summary);
    context.out.result(&[summary], &document)?;
    context.in_flight.finish();
    if rejected == 0 {
        return Ok(());
    }
    let hint = match &options.failed {
        Some(path) => {
            format!(
                "correct the rows in {} and import that file with --map rejection_reason=",
                path.display()
            )
        }
        None => "pass --failed PATH to write them to a file".to_owned(),
    };
    Err(Fail::items(written + skipped == 0, format!("{rejected} of {rows} rows were rejected")).hint(hint))
}

async fn send(client: &Client, row: &Row, options: &ImportOptions) -> RowOutcome {
    match try_send(client, row, options).await {
        Ok(outcome) => outcome,
        Err(error) => match Fail::from_call(error, "the row may have been written", false) {
            fail if matches!(fail.kind(), Kind::Rejected | Kind::NotFound | Kind::Usage) => {
                RowOutcome::Rejected(fail.sdk().map_or_else(String::new, error_reason))
            }
            fail => RowOutcome::Stopped(fail),
        },
    }
}

async fn try_send(client: &Client, row: &Row, options: &ImportOptions) -> idempost::Result<RowOutcome> {
    if options.on_conflict != OnConflict::Update {
        match client.contacts().get(&row.email).await {
            Ok(_) if options.on_conflict == OnConflict::Skip => return Ok(RowOutcome::Skipped),
            Ok(_) => return Ok(RowOutcome::Rejected("a contact already has this address".to_owned())),
            Err(Error::Api(api)) if api.status.as_u16() == 404 => {}
            Err(error) => return Err(error),
        }
    }
    match client.contacts().create(&row.contact(&options.segments)).await {
        // A service that doesn't update existing contacts reports the conflict.
        Err(Error::Api(api)) if api.status.as_u16() == 409 && options.on_conflict == OnConflict::Update => {
            if let Some(patch) = row.patch() {
                client.contacts().update(&row.email, &patch).await?;
            }
            for segment in &options.segments {
                client.contacts().add_to_segment(&row.email, segment.as_str()).await?;
            }
        }
        answer => drop(answer?),
    }
    Ok(RowOutcome::Written)
}

/// The service's message, without the context that other commands add.
fn error_reason(error: &Error) -> String {
    match error {
        Error::Api(api) => api.message.clone(),
        other => other.to_string(),
    }
}

/// The file of rejected rows.
struct RejectedRows {
    writer: Writer<File>,
    name: String,
}

impl RejectedRows {
    /// Creates the file immediately, so that an unwritable path is reported before anything is sent.
    fn new(path: &std::path::Path, csv: &Csv) -> Result<Self, Fail> {
        let name = path.display().to_string();
        let file = check_local().and_then(|()| private_options().create_new(true).open(path));
        let file = file.map_err(|error| Fail::local(format!("couldn't write {name}"), error))?;
        let writer = WriterBuilder::new().delimiter(csv.delimiter).flexible(true).from_writer(file);
        let mut refusals = Self { writer, name };
        let header = csv.header().ok().flatten().unwrap_or_default();
        refusals.record_rejection(&header, "rejection_reason")?;
        Ok(refusals)
    }

    fn record_rejection(&mut self, record: &ByteRecord, reason: &str) -> Result<(), Fail> {
        let mut record = record.clone();
        record.push_field(reason.as_bytes());
        let written = self.writer.write_byte_record(&record).map_err(std::io::Error::other);
        // Flushed immediately: an interruption must not lose rejected rows.
        let written = written.and_then(|()| self.writer.flush());
        written.map_err(|error| Fail::local(format!("couldn't write {}", self.name), error))
    }
}
