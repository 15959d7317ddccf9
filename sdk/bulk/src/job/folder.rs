//! The files of a job's folder besides the plan: lock, journal, requests from other processes, and reports.

use std::{
    fs,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use csv::Writer;
use tempfile::NamedTempFile;

use crate::{
    error::{BulkError, Result},
    host_id::HostId,
    journal::{FileStorage, Journal},
    lock::{JobLock, check_host},
    outcomes::{self, Outcome, RowOutcome},
    plan::Plan,
    report::Report,
    state::BatchStates,
};

pub(crate) const JOURNAL: &str = "journal";
/// Rows that the service rejected.
const REJECTED: &str = "rejected.csv";
/// Rows of which it can't be known whether the service accepted them.
const UNKNOWN: &str = "unknown.csv";
/// Rows that were found invalid when the job was planned.
pub(crate) const INVALID: &str = "invalid.csv";
const REPORT: &str = "report.json";
const PAUSE: &str = "pause";
const CANCELED: &str = "canceled";

/// A job that is ready to run.
pub(crate) struct Opened {
    pub(crate) lock: JobLock,
    pub(crate) journal: Journal,
    pub(crate) states: BatchStates,
    pub(crate) host: HostId,
}

/// Locks the job and recovers its journal.
pub(crate) fn open(plan: &Plan, take_over: bool) -> Result<Opened> {
    let dir = plan.dir();
    if dir.join(CANCELED).exists() {
        return Err(BulkError::NotRunnable(format!("job {} was canceled; nothing was sent", plan.id())));
    }
    let host = HostId::load(&dir.with_file_name("host-id"))?;
    let lock = JobLock::acquire(dir, host)?;
    let mut states = BatchStates::new(plan.batches());
    let journal = Journal::open(FileStorage::open(&dir.join(JOURNAL))?, |record| states.apply(&record))?;
    check_host(dir, states.job().map(|job| job.host), host, take_over)?;
    remove(&dir.join(PAUSE))?;
    Ok(Opened { lock, journal, states, host })
}

/// What another process asks of a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Pause,
    Cancel,
}

/// Leaves a request for the process that runs the job. A cancellation stays.
pub(crate) fn request(dir: &Path, request: Request) -> Result<()> {
    let path = dir.join(match request {
        Request::Pause => PAUSE,
        Request::Cancel => CANCELED,
    });
    fs::write(&path, []).map_err(BulkError::io("write", path))
}

/// Returns whether the job is canceled.
pub(crate) fn is_canceled(dir: &Path) -> bool {
    dir.join(CANCELED).exists()
}

/// Returns whether another process asked the job to stop.
pub(crate) fn stop_is_requested(dir: &Path) -> bool {
    dir.join(PAUSE).exists() || is_canceled(dir)
}

/// Writes the lists of rows that weren't sent, and the report. Returns the lists that have rows.
pub(crate) fn write_report(plan: &Plan, report: &Report) -> Result<Vec<PathBuf>> {
    let dir = plan.dir();
    let mut files = Vec::new();
    if plan.counts().invalid > 0 {
        files.push(dir.join(INVALID));
    }
    let (rejected, unknown) = (dir.join(REJECTED), dir.join(UNKNOWN));
    remove(&rejected)?;
    remove(&unknown)?;
    if report.counts.rejected + report.counts.unknown > 0 {
        let mut rejections = List::create(&rejected, &["row", "recipient", "batch", "status", "reason"])?;
        let header = ["row", "recipient", "batch", "key", "first_attempt", "reason"];
        let mut unknowns = List::create(&unknown, &header)?;
        outcomes::visit(plan, |RowOutcome { row, recipient, batch, key, first_attempt, outcome }| {
            let (row, batch) = (row.to_string(), batch.to_string());
            match outcome {
                Outcome::Sent { .. } => Ok(()),
                Outcome::Rejected { status, reason } => {
                    rejections.row(&[&row, &recipient, &batch, &status.to_string(), &reason])
                }
                Outcome::Unknown { reason } => {
                    unknowns.row(&[&row, &recipient, &batch, &key, &time(first_attempt), &reason])
                }
            }
        })?;
        for list in [rejections, unknowns] {
            files.extend(list.finish()?);
        }
    }
    let report = Report { files: files.clone(), ..report.clone() };
    let path = dir.join(REPORT);
    let text = serde_json::to_vec_pretty(&report).map_err(io::Error::other);
    text.and_then(|text| replace(&path, &text)).map_err(BulkError::io("write", path))?;
    Ok(files)
}

/// Returns the report of the last run, if there was one.
pub(crate) fn read_report(dir: &Path) -> Result<Option<Report>> {
    let path = dir.join(REPORT);
    match fs::read(&path) {
        Ok(text) => {
            let report = serde_json::from_slice(&text).map_err(|error| BulkError::io("read", path)(error.into()))?;
            Ok(Some(report))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BulkError::io("read", path)(error)),
    }
}

/// A list of rows that only its owner can read.
struct List {
    path: PathBuf,
    writer: Writer<BufWriter<NamedTempFile>>,
    rows: u64,
}

impl List {
    fn create(path: &Path, header: &[&str]) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(folder).map_err(BulkError::io("write", path))?;
        let mut writer = Writer::from_writer(BufWriter::new(file));
        writer.write_record(header).map_err(|error| BulkError::io("write", path)(error.into()))?;
        Ok(Self { path: path.to_owned(), writer, rows: 0 })
    }

    fn row(&mut self, fields: &[&str]) -> Result<()> {
        self.rows += 1;
        self.writer.write_record(fields).map_err(|error| BulkError::io("write", &self.path)(error.into()))
    }

    /// Moves the list to its place, unless it is empty.
    fn finish(self) -> Result<Option<PathBuf>> {
        let Self { path, writer, rows } = self;
        if rows == 0 {
            return Ok(None);
        }
        let saved = writer.into_inner().map_err(|error| error.into_error()).and_then(|buffer| {
            let file = buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        });
        saved.map_err(BulkError::io("write", &path))?;
        Ok(Some(path))
    }
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BulkError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Formats a time as the service does.
fn time(unix_ms: u64) -> String {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(unix_ms);
    posthaste::Timestamp::from(time).to_string()
}
