//! The files of a job's folder besides the plan: the lock, the journal, and requests from other processes.

use std::{fs, path::Path};

use crate::{
    error::{BulkError, Result},
    files::remove,
    host_id::HostId,
    journal::{FileStorage, Journal},
    lock::{JobLock, check_host},
    plan::Plan,
    state::BatchStates,
};

pub(crate) const JOURNAL: &str = "journal";
/// What the coordinator of a distributed job remembers.
pub(crate) const QUEUE: &str = "queue.json";
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
    // The workers of a distributed job have to learn of it.
    if is_canceled(dir) && !is_distributed(dir) {
        return Err(BulkError::NotRunnable(format!("job {} was canceled; nothing was sent", plan.id())));
    }
    let host = HostId::load(&dir.with_file_name("host-id"))?;
    let lock = JobLock::acquire(dir, host)?;
    let mut states = BatchStates::new(plan.batches());
    let journal = Journal::open(FileStorage::open(&dir.join(JOURNAL))?, |record| states.apply(&record))?;
    check_host(dir, states.job().map(|job| job.host), host, take_over)?;
    if let Some(job) = states.job().filter(|job| *job.id != *plan.id()) {
        return Err(BulkError::PlanChanged(format!(
            "the journal {} belongs to job {}",
            dir.join(JOURNAL).display(),
            job.id
        )));
    }
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

/// Returns whether workers send the job. Its journal lags behind theirs, so it can't run without them.
pub(crate) fn is_distributed(dir: &Path) -> bool {
    dir.join(QUEUE).exists()
}

/// No worker of the canceled job sends any more, so it is like any other.
#[cfg(feature = "nats")]
pub(crate) fn forget_queue(dir: &Path) -> Result<()> {
    remove(&dir.join(QUEUE))
}

/// Returns whether the job is canceled.
pub(crate) fn is_canceled(dir: &Path) -> bool {
    dir.join(CANCELED).exists()
}

/// Returns whether another process asked the job to stop.
pub(crate) fn stop_is_requested(dir: &Path) -> bool {
    dir.join(PAUSE).exists() || is_canceled(dir)
}
