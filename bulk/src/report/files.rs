//! The files of a report: the report itself, and the lists of unsent rows.

use std::{
    fs,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::Arc,
};

use csv::Writer;
use tempfile::NamedTempFile;

use super::Report;
use crate::{
    error::{BulkError, Result},
    files::{blocking, remove, replace},
    folder,
    lock::JobLock,
    outcomes::{self, Outcome, RowOutcome},
    plan::Plan,
};

/// Rows that the service rejected.
const REJECTED: &str = "rejected.csv";
/// Rows for which it can't be determined whether the service accepted them.
const UNKNOWN: &str = "unknown.csv";
const REPORT: &str = "report.json";

/// Closes the journal that `writer` holds, writes the report files from the data on disk, then releases the lock.
pub(crate) async fn write_report(
    plan: Arc<Plan>,
    mut report: Report,
    lock: JobLock,
    writer: impl Send + 'static,
) -> Result<Report> {
    blocking(move || {
        drop(writer);
        report.files = write(&plan, &report)?;
        drop(lock);
        Ok(report)
    })
    .await
}

/// Writes the lists of unsent rows, and the report. Returns the lists that aren't empty.
fn write(plan: &Plan, report: &Report) -> Result<Vec<PathBuf>> {
    let dir = plan.dir();
    let mut files = Vec::new();
    files.extend(plan.invalid_rows());
    let (rejected, unknown) = (dir.join(REJECTED), dir.join(UNKNOWN));
    remove(&rejected)?;
    remove(&unknown)?;
    if report.counts.rejected + report.counts.unknown > 0 {
        let mut rejections = List::create(&rejected, &["row", "recipient", "batch", "status", "reason"])?;
        let header = ["row", "recipient", "batch", "key", "first_attempt", "reason"];
        let mut unknowns = List::create(&unknown, &header)?;
        // This run has ended, although it still holds the lock.
        outcomes::visit_ended(
            plan,
            folder::is_abandoned(dir),
            |RowOutcome { row, recipient, batch, key, first_attempt, outcome }| {
                let (row, batch) = (row.to_string(), batch.to_string());
                match outcome {
                    Outcome::Sent { .. } => Ok(()),
                    Outcome::Rejected { status, reason } => {
                        rejections.row(&[&row, &recipient, &batch, &status.to_string(), &reason])
                    }
                    Outcome::Unknown { reason } => {
                        unknowns.row(&[&row, &recipient, &batch, &key, &format_time(first_attempt), &reason])
                    }
                }
            },
        )?;
        for list in [rejections, unknowns] {
            files.extend(list.finish()?);
        }
    }
    let report = Report { files: files.clone(), ..report.clone() };
    let path = dir.join(REPORT);
    let text = serde_json::to_vec_pretty(&report);
    replace(&path, &text.map_err(|error| BulkError::io("write", &path)(error.into()))?)?;
    Ok(files)
}

/// Returns the report of the last run, if there was one.
pub(crate) fn read(dir: &Path) -> Result<Option<Report>> {
    let path = dir.join(REPORT);
    match fs::read(&path) {
        Ok(text) => {
            let report =
                serde_json::from_slice(&text).map_err(|error| BulkError::io("read", path)(error.into()))?;
            Ok(Some(report))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BulkError::io("read", path)(error)),
    }
}

/// Removes the report of the last run.
pub(crate) fn remove_report(dir: &Path) -> Result<()> {
    remove(&dir.join(REPORT))
}

/// A list of rows, readable only by the owner.
pub(crate) struct List {
    path: PathBuf,
    writer: Writer<BufWriter<NamedTempFile>>,
    rows: u64,
}

impl List {
    pub(crate) fn create(path: &Path, header: &[&str]) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).map_err(BulkError::io("write", path))?;
        let mut writer = Writer::from_writer(BufWriter::new(file));
        writer.write_record(header).map_err(|error| BulkError::io("write", path)(error.into()))?;
        Ok(Self { path: path.to_owned(), writer, rows: 0 })
    }

    pub(crate) fn row(&mut self, fields: &[&str]) -> Result<()> {
        self.rows += 1;
        self.writer.write_record(fields).map_err(|error| BulkError::io("write", &self.path)(error.into()))
    }

    /// Moves the list to its final path, unless it is empty.
    pub(crate) fn finish(self) -> Result<Option<PathBuf>> {
        let Self { path, writer, rows } = self;
        if rows == 0 {
            return Ok(None);
        }
        let saved = writer.into_inner().map_err(csv::IntoInnerError::into_error).and_then(|buffer| {
            let file = buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        });
        saved.map_err(BulkError::io("write", &path))?;
        Ok(Some(path))
    }
}

/// Formats a time in the service's format.
pub(crate) fn format_time(unix_ms: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(unix_ms);
    idempost::Timestamp::from(time).to_string()
}
