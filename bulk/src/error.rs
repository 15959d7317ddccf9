//! Errors of a bulk job.

use std::{io, path::PathBuf};

use idempost::problem::Problem;

use crate::{account::AccountError, counts::CountMismatch, differences::Differences};

/// A result whose error is [`BulkError`].
pub type Result<T, E = BulkError> = std::result::Result<T, E>;

/// An error that stops a bulk job. The job's folder is left unchanged; once the cause is fixed, resuming continues where it stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// The input as a whole can't be used: an unknown column, an unreadable header, an unsupported encoding.
    #[error("{}", join_problems(.0))]
    Input(Vec<Problem>),
    /// The stream of rows failed; nothing was planned.
    #[error("the rows can't be read")]
    Rows(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Rows of the input are invalid; nothing was sent.
    #[error("{invalid} of {rows} rows are invalid; nothing was sent")]
    InvalidRows {
        /// The number of invalid rows.
        invalid: u64,
        /// The number of rows.
        rows: u64,
    },
    /// A file of the job can't be read or written.
    #[error("couldn't {action} {}", path.display())]
    Io {
        /// What failed: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The journal is damaged before its end: valid records follow the damaged one, so this isn't an interrupted write.
    #[error("the journal {} is damaged at byte {offset}; nothing more was sent", path.display())]
    JournalDamaged {
        /// The journal.
        path: PathBuf,
        /// The offset of the damaged record.
        offset: u64,
    },
    /// The job was started, but its journal is missing or empty: which rows were sent is unknown.
    #[error("the journal {} is missing or empty, although the job was started; nothing more was sent", path.display())]
    JournalMissing {
        /// The journal.
        path: PathBuf,
    },
    /// [Corrected rows](crate::Bulk::corrections_of) belong to a job whose other rows haven't been sent. Nothing was planned.
    #[error("job {job} hasn't been started: its valid rows must be sent before its corrected ones")]
    NotStarted {
        /// The job's ID.
        job: String,
    },
    /// The plan no longer matches the files that it refers to: the input, the plan or the job's description changed.
    #[error("{0}")]
    PlanChanged(String),
    /// A job of the same name has different rows or another message, so the caller has to choose: resume that job, [add](crate::Bulk::add_rows) the
    /// new rows to it, or use another [name](crate::Bulk::job). Nothing was planned.
    #[error("{0}")]
    Differs(Box<Differences>),
    /// The job of this name has rows left to send that the plan's [limit](crate::Bulk::limit) excludes. Nothing was planned.
    #[error("job {job} has {rows} unsent rows beyond the first {limit}; nothing was sent")]
    BeyondLimit {
        /// The ID of the job's latest part.
        job: String,
        /// The number of rows left to send that the limit excludes.
        rows: u64,
        /// The limit.
        limit: u64,
    },
    /// The job can't run here or now: another process is running it, or it was canceled.
    #[error("{0}")]
    NotRunnable(String),
    /// The job belongs to another account.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The counts in the journal don't match the plan.
    #[error(transparent)]
    CountMismatch(#[from] CountMismatch),
    /// The shared queue of a distributed job can't be used.
    #[cfg(feature = "nats")]
    #[error(transparent)]
    Queue(#[from] crate::queue::QueueError),
    /// A client call other than sending failed.
    #[error(transparent)]
    Client(#[from] idempost::Error),
}

impl BulkError {
    /// Creates a function that adds the action and the path to an I/O error.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

fn join_problems(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
