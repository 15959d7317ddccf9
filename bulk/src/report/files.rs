//! The files of a report: the report itself, and the lists of unsent rows.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Report;
use crate::{
    counts::Counts,
    error::{BulkError, Result},
    files::{read_if_exists, replace_json},
    folder::REPORT,
    list::List,
    lock::JobLock,
    outcomes::{self, Outcome, RowOutcome},
    parts,
    plan::Plan,
};

/// Rows that the service rejected.
const REJECTED: &str = "rejected.csv";
/// Rows for which it can't be determined whether the service accepted them.
const UNKNOWN: &str = "unknown.csv";

/// Closes the journal that `writer` holds, adds the counts of the plan's earlier parts, writes the report files from the data on disk, then releases
/// the lock.
pub(crate) async fn write_report(
    plan: &Arc<Plan>,
    mut report: Report,
    lock: JobLock,
    writer: impl Send + 'static,
) -> Result<Report> {
    let write = move |plan: &Plan| {
        drop(writer);
        report.counts = report.counts.combine(&parts::counts_before(plan)?);
        report.files = write(plan, &report)?;
        drop(lock);
        Ok(report)
    };
    plan.blocking(write).await
}

/// Writes the lists of unsent rows, and the report. Returns the lists that aren't empty.
fn write(plan: &Plan, report: &Report) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    files.extend(plan.invalid_rows());
    files.extend(write_lists(plan, &report.counts)?);
    let report = Report { files: files.clone(), ..report.clone() };
    replace_json(&plan.dir().join(REPORT), &report)?;
    Ok(files)
}

/// Writes the lists of rejected and unknown rows. Returns those that aren't empty.
pub(crate) fn write_lists(plan: &Plan, counts: &Counts) -> Result<Vec<PathBuf>> {
    let dir = plan.dir();
    let mut files = Vec::new();
    let header = ["row", "recipient", "batch", "status", "reason", "part"];
    let mut rejections = List::create(&dir.join(REJECTED), &header)?;
    let header = ["row", "recipient", "batch", "key", "first_attempt", "reason", "part"];
    let mut unknowns = List::create(&dir.join(UNKNOWN), &header)?;
    if counts.rejected + counts.unknown > 0 {
        outcomes::visit_unsent(plan, |found| {
            let RowOutcome { row, recipient, batch, key, first_attempt, outcome, part, .. } = found;
            let (row, batch) = (row.to_string(), batch.to_string());
            match outcome {
                Outcome::Sent { .. } => Ok(()),
                Outcome::Rejected { status, reason } => {
                    rejections.row([&*row, &recipient, &batch, &status.to_string(), &reason, &part])
                }
                Outcome::Unknown { reason } => unknowns.row([
                    &*row,
                    &recipient,
                    &batch,
                    &key,
                    &format_time(first_attempt),
                    &reason,
                    &part,
                ]),
            }
        })?;
    }
    for list in [rejections, unknowns] {
        files.extend(list.finish()?);
    }
    Ok(files)
}

/// Returns the report of the last run, if there was one.
pub(crate) fn read(dir: &Path) -> Result<Option<Report>> {
    let path = dir.join(REPORT);
    let Some(text) = read_if_exists(&path)? else { return Ok(None) };
    let parsed = serde_json::from_slice(&text);
    let mut report: Report = parsed.map_err(|error| BulkError::io("read", &path)(error.into()))?;
    // The folder may have been moved.
    let lists = report.files.iter().filter_map(|file| Some(dir.join(file.file_name()?)));
    report.files = lists.collect();
    Ok(Some(report))
}

/// Formats a time in the service's format.
pub(crate) fn format_time(unix_ms: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(unix_ms);
    idempost::Timestamp::from(time).to_string()
}
