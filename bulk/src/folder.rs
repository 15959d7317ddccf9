//! The files of a job's folder besides the plan: the lock, the journal, and requests from other processes.

use std::{io::ErrorKind, path::Path};

use crate::{
    account::{AccountError, JobAccount, Sending},
    error::{BulkError, Result},
    files::{self, blocking, remove},
    journal::{self, Contradiction, FileStorage, Journal, Record},
    lock::JobLock,
    plan::{DESCRIPTION, Plan},
    state::BatchStates,
};

pub(crate) const JOURNAL: &str = "journal";
/// The coordinator's memory of a distributed job.
pub(crate) const QUEUE: &str = "queue.json";
/// The account that the job belongs to, written before its first request and after the start of its journal.
const ACCOUNT: &str = "account.json";
/// The report of the last run.
pub(crate) const REPORT: &str = "report.json";
const PAUSE: &str = "pause";
const CANCELED: &str = "canceled";

/// A job that is ready to run.
pub(crate) struct Opened {
    pub(crate) lock: JobLock,
    pub(crate) journal: Journal,
    pub(crate) states: BatchStates,
}

/// Locks the job and recovers its journal. If this starts a run of `starting`, requests to pause an earlier run of it or of its earlier parts are
/// dropped.
pub(crate) fn open(plan: &Plan, starting: Option<&Plan>) -> Result<Opened> {
    let dir = plan.dir();
    check_exists(plan)?;
    let lock = JobLock::acquire(dir)?;
    // Whoever deletes a job removes its description under the lock, and its folder later.
    check_exists(plan)?;
    starting.into_iter().flat_map(Plan::part_dirs).try_for_each(|dir| remove(&dir.join(PAUSE)))?;
    // Checked under the lock: another plan may include the rows of a canceled job that no process runs. A distributed job's workers still have to
    // learn that it is canceled.
    if is_abandoned(dir) {
        return Err(BulkError::NotRunnable(format!("job {} was canceled", plan.id())));
    }
    check_journal(dir)?;
    let mut states = BatchStates::new(plan.batches());
    let journal = Journal::open(FileStorage::open(&dir.join(JOURNAL))?, |record| states.apply(&record))?;
    if let Some(job) = states.job().filter(|job| *job.id != *plan.id()) {
        return Err(BulkError::PlanChanged(format!(
            "the journal {} belongs to job {}",
            dir.join(JOURNAL).display(),
            job.id
        )));
    }
    Ok(Opened { lock, journal, states })
}

/// Fails if another process has deleted the job, or replaced it before it was started.
pub(crate) fn check_exists(plan: &Plan) -> Result<()> {
    if plan.dir().join(DESCRIPTION).exists() {
        return Ok(());
    }
    Err(BulkError::NotRunnable(format!("job {} was deleted, or replaced by another plan", plan.id())))
}

/// Passes the records of a job's journal to `visit`, as [`journal::read`] does.
///
/// # Errors
/// Also [`BulkError::JournalMissing`].
pub(crate) fn read_journal(dir: &Path, visit: impl FnMut(Record) -> Result<(), Contradiction>) -> Result<()> {
    check_journal(dir)?;
    journal::read(&dir.join(JOURNAL), visit)
}

/// Fails if a job that was started has no journal, or one that doesn't even have its first bytes: without its records, every row seems unsent.
fn check_journal(dir: &Path) -> Result<()> {
    // Read first: a process may be starting the job.
    let (is_bound, is_reported) = (dir.join(ACCOUNT).exists(), dir.join(REPORT).exists());
    let path = dir.join(JOURNAL);
    let is_lost = match files::open(&path) {
        Ok(file) => is_bound && !journal::has_begun(file).map_err(BulkError::io("read", &path))?,
        Err(BulkError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => is_bound || is_reported,
        Err(error) => return Err(error),
    };
    if is_lost { Err(BulkError::JournalMissing { path }) } else { Ok(()) }
}

/// Binds a job that hasn't sent anything to the account, or checks that the account is the job's. The caller has opened the job. `is_started` is
/// whether a process may have sent.
pub(crate) async fn resolve_account(plan: &Plan, is_started: bool, sending: &Sending) -> Result<JobAccount> {
    let dir = plan.dir();
    let (found, salt) = read_account(plan).await?;
    let presented = sending.present(&salt).await?;
    let (account, changed) = match found {
        Some(found) => match found.check(&presented)? {
            Some(extended) => (extended, true),
            None => (found, !dir.join(ACCOUNT).exists()),
        },
        None if is_started && !sending.affirms_same_account() => return Err(missing_job(dir).into()),
        None => (JobAccount::new(&presented, salt)?, true),
    };
    if changed {
        let (path, changed) = (dir.join(ACCOUNT), account.clone());
        blocking(move || files::replace_json(&path, &changed)).await?;
    }
    Ok(account)
}

/// Checks, without changing anything, that the account is the job's or that the job has none yet.
pub(crate) async fn check_account(plan: &Plan, is_started: bool, sending: &Sending) -> Result<()> {
    sending.check_service(plan.origin(), plan.profile())?;
    let (found, salt) = read_account(plan).await?;
    match found {
        Some(found) => found.check(&sending.present(&salt).await?).map(drop)?,
        None if is_started && !sending.affirms_same_account() => return Err(missing_job(plan.dir()).into()),
        None => {}
    }
    Ok(())
}

/// Reads the account and the salt of the job or of its latest part, or creates a new salt.
async fn read_account(plan: &Plan) -> Result<(Option<JobAccount>, String)> {
    let dirs = [plan.dir().to_owned()].into_iter().chain(plan.earlier_dirs().rev());
    let paths: Vec<_> = dirs.map(|dir| dir.join(ACCOUNT)).collect();
    blocking(move || {
        for path in paths {
            if let Some(text) = files::read_if_exists(&path)? {
                let found: JobAccount = files::parse_json(&text, &path)?;
                let salt = found.salt.clone();
                return Ok((Some(found), salt));
            }
        }
        Ok((None, JobAccount::random_salt()))
    })
    .await
}

fn missing_job(dir: &Path) -> AccountError {
    AccountError::Missing { file: dir.join(ACCOUNT).display().to_string() }
}

/// A request to the process that runs the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Pause,
    Cancel,
}

/// Leaves a request for the process that runs the job. A cancellation can't be undone: a later part may send the rows that this one didn't.
pub(crate) fn request(dir: &Path, request: Request) -> Result<()> {
    let path = dir.join(match request {
        Request::Pause => PAUSE,
        Request::Cancel => CANCELED,
    });
    files::replace(&path, &[])
}

/// Returns whether workers send the job. Its journal lags behind the ledger, so the job can't be run locally.
pub(crate) fn is_distributed(dir: &Path) -> bool {
    dir.join(QUEUE).exists()
}

/// Forgets up to which time intents were read. The journal of a distributed job doesn't contain every intent read from the ledger; without this time,
/// none counts as recent.
pub(crate) fn forget_seen_intents(dir: &Path) -> Result<()> {
    if !is_distributed(dir) {
        return Ok(());
    }
    let path = dir.join(QUEUE);
    let damaged = |error: serde_json::Error| BulkError::io("read", &path)(error.into());
    let mut memory: serde_json::Value = serde_json::from_slice(&files::read(&path)?).map_err(damaged)?;
    memory["seen_until"] = serde_json::Value::Null;
    files::replace(&path, memory.to_string().as_bytes())
}

/// Makes a canceled job an ordinary one: none of its workers sends any more.
#[cfg(feature = "nats")]
pub(crate) fn forget_queue(dir: &Path) -> Result<()> {
    remove(&dir.join(QUEUE))
}

/// Returns whether the job is canceled.
pub(crate) fn is_canceled(dir: &Path) -> bool {
    dir.join(CANCELED).exists()
}

/// Returns whether the job is canceled and no worker sends it any more. A process that runs it finishes its requests in flight.
pub(crate) fn is_abandoned(dir: &Path) -> bool {
    is_canceled(dir) && !is_distributed(dir)
}

/// Returns whether another process asked the job to stop.
pub(crate) fn stop_is_requested(dir: &Path) -> bool {
    dir.join(PAUSE).exists() || is_canceled(dir)
}
