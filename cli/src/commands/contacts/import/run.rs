//! The second reading of the file: row by row to the service.

use std::fs::File;

use csv::{ByteRecord, Writer};
use futures_util::StreamExt as _;
use posthaste::{Client, Error};
use serde_json::json;

use super::columns::Columns;
use super::file::Csv;
use super::row::Row;
use super::{OnConflict, Wishes};
use crate::context::Context;
use crate::diagnostics::{Fail, Kind};
use crate::output::rows::Rows;

/// What became of a row.
enum Fate {
    Written,
    Skipped,
    /// The service said no, for this reason.
    Refused(String),
    /// Nothing more can be done for any row.
    Stopped(Fail),
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    written: u64,
    skipped: u64,
    refused: u64,
}

impl Count {
    fn done(self) -> u64 {
        self.written + self.skipped + self.refused
    }
}

pub(super) async fn run(
    client: &Client,
    csv: &Csv,
    columns: &Columns,
    rows: u64,
    wishes: Wishes,
    context: &Context,
) -> Result<(), Fail> {
    let mut refusals = wishes.failed.as_ref().map(|path| Refusals::new(path, csv)).transpose()?;
    let progress = Rows::new(context.settings()?.progress.value, &context.out, Some(rows));
    let records = csv.rows().map_err(|error| csv.unreadable(error.into()))?.into_byte_records().skip(1);
    let mut count = Count::default();
    context.in_flight.begin(going_on(count, rows), None);
    let mut fates = futures_util::stream::iter(records)
        .map(|record| {
            let wishes = &wishes;
            async move {
                let Ok(record) = record else {
                    return (
                        ByteRecord::new(),
                        Fate::Refused("the file changed while it was read".to_owned()),
                    );
                };
                let fate = match Row::read(&record, columns) {
                    Ok(row) => send(client, &row, wishes).await,
                    Err(_) => Fate::Refused("the file changed while it was read".to_owned()),
                };
                (record, fate)
            }
        })
        .buffered(wishes.concurrency);
    while let Some((record, fate)) = fates.next().await {
        match fate {
            Fate::Written => count.written += 1,
            Fate::Skipped => count.skipped += 1,
            Fate::Refused(reason) => {
                count.refused += 1;
                if let Some(refusals) = &mut refusals {
                    refusals.note(&record, &reason)?;
                } else {
                    let line = record.position().map_or(0, csv::Position::line);
                    context.out.warn(&format!("{}:{line}: {reason}", csv.name));
                }
            }
            Fate::Stopped(fail) => {
                drop(progress);
                context.in_flight.finish();
                context.out.warn(&going_on(count, rows));
                return Err(fail);
            }
        }
        progress.set(count.done());
        context.in_flight.begin(going_on(count, rows), None);
    }
    context.in_flight.finish();
    drop(progress);
    finish(count, rows, &wishes, context)
}

fn going_on(count: Count, rows: u64) -> String {
    format!(
        "{} of {rows} rows are done, and some of the next ones may be; to go on, run the same command again: what is written already is \
         written once more",
        count.done()
    )
}

fn finish(count: Count, rows: u64, wishes: &Wishes, context: &Context) -> Result<(), Fail> {
    let Count { written, skipped, refused } = count;
    let document = json!({
        "object": "import", "rows": rows, "written": written, "skipped": skipped, "refused": refused,
    });
    context.out.result(&[format!("{written} written, {skipped} skipped, {refused} refused")], &document)?;
    if refused == 0 {
        return Ok(());
    }
    let hint = Some(match &wishes.failed {
        Some(path) => {
            format!("look at {}, mend it, and import it with --map refused_because=", path.display())
        }
        None => "with --failed PATH they are written to a file".to_owned(),
    });
    let message = format!("{refused} of {rows} rows were refused");
    if written + skipped == 0 {
        return Err(Fail::Rejected { message, hint });
    }
    Err(Fail::Partial { message, hint })
}

async fn send(client: &Client, row: &Row, wishes: &Wishes) -> Fate {
    match try_send(client, row, wishes).await {
        Ok(fate) => fate,
        Err(error) => match Fail::of_call(error, "the row may have been written") {
            fail if matches!(fail.kind(), Kind::Rejected | Kind::NotFound | Kind::Usage) => {
                Fate::Refused(fail.sdk().map_or_else(String::new, reason))
            }
            fail => Fate::Stopped(fail),
        },
    }
}

async fn try_send(client: &Client, row: &Row, wishes: &Wishes) -> posthaste::Result<Fate> {
    if wishes.on_conflict != OnConflict::Update {
        match client.contacts().get(&row.email).await {
            Ok(_) if wishes.on_conflict == OnConflict::Skip => return Ok(Fate::Skipped),
            Ok(_) => return Ok(Fate::Refused("a contact has this address already".to_owned())),
            Err(Error::Api(api)) if api.status.as_u16() == 404 => {}
            Err(error) => return Err(error),
        }
    }
    match client.contacts().create(&row.contact(&wishes.segments)).await {
        // A service that doesn't write over a contact says that there is one.
        Err(Error::Api(api)) if api.status.as_u16() == 409 && wishes.on_conflict == OnConflict::Update => {
            if let Some(patch) = row.patch() {
                client.contacts().update(&row.email, &patch).await?;
            }
            for segment in &wishes.segments {
                client.contacts().add_to_segment(&row.email, segment.as_str()).await?;
            }
        }
        answer => drop(answer?),
    }
    Ok(Fate::Written)
}

/// What the service said, without what surrounds it elsewhere.
fn reason(error: &Error) -> String {
    match error {
        Error::Api(api) => api.message.clone(),
        other => other.to_string(),
    }
}

/// The file of refused rows.
struct Refusals {
    writer: Writer<File>,
    name: String,
}

impl Refusals {
    /// Makes the file, so that a place that can't be written to is told before anything is sent.
    fn new(path: &std::path::Path, csv: &Csv) -> Result<Self, Fail> {
        let name = path.display().to_string();
        let file = File::create_new(path);
        let file = file.map_err(|error| Fail::local(format!("{name} cannot be written"), error))?;
        let mut refusals = Self { writer: Writer::from_writer(file), name };
        let header = csv.header().ok().flatten().unwrap_or_default();
        refusals.note(&header, "refused_because")?;
        Ok(refusals)
    }

    fn note(&mut self, record: &ByteRecord, reason: &str) -> Result<(), Fail> {
        let mut record = record.clone();
        record.push_field(reason.as_bytes());
        let written = self.writer.write_byte_record(&record).map_err(std::io::Error::other);
        // At once: an interruption must not lose what was refused.
        let written = written.and_then(|()| self.writer.flush());
        written.map_err(|error| Fail::local(format!("{} cannot be written", self.name), error))
    }
}
