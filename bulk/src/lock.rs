//! The lock of a job's folder: one process at a time runs a job.

use std::{
    fs::{File, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
    process, thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    error::{BulkError, Result},
    files,
    journal::UnixMillis,
};

/// The name of the lock file in a job's folder.
const FILE: &str = "lock";
/// How often a start waits a millisecond for processes that only ask whether the job is held: one of them may be stopped.
const MAX_PROBES: u32 = 100;

/// The right to run a job. The operating system releases it when the value is dropped or the process ends, for any reason.
#[derive(Debug)]
pub(crate) struct JobLock(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

/// The process that holds the lock, for error messages.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    started: u64,
}

impl JobLock {
    /// Locks the job in `folder`.
    ///
    /// # Errors
    ///
    /// - [`BulkError::NotRunnable`] if another process runs the job.
    /// - [`BulkError::Io`] if the lock file can't be used.
    pub(crate) fn acquire(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let mut file = files::open_private(&path)?;
        let mut probes = 0..MAX_PROBES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // A process that only asks whether the job is held has the lock for a moment.
                Err(TryLockError::WouldBlock) if probes.next().is_some() && !is_exclusive(&file, &path)? => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => return Err(in_use_error(folder, &mut file)),
                Err(TryLockError::Error(error)) => return Err(BulkError::io("lock", path)(error)),
            }
        }
        let holder = Holder { pid: process::id(), started: UnixMillis::now().0 };
        let text = serde_json::to_vec(&holder).map_err(io::Error::from);
        let written = text.and_then(|text| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(&text)
        });
        written.map_err(BulkError::io("write", path))?;
        Ok(Self(file))
    }
}

/// Returns whether a process runs the job in `folder`.
///
/// # Errors
/// [`BulkError::Io`] if the lock file can't be used.
pub(crate) fn is_held(folder: &Path) -> Result<bool> {
    Ok(held(folder)?.is_some())
}

/// Fails if a process runs the job in `folder`, which may be read-only.
///
/// # Errors
/// Those of [`JobLock::acquire`].
pub(crate) fn check_free(folder: &Path) -> Result<()> {
    held(folder)?.map_or(Ok(()), |mut file| Err(in_use_error(folder, &mut file)))
}

/// Opens the lock file if a process that runs the job has the lock.
fn held(folder: &Path) -> Result<Option<File>> {
    let path = folder.join(FILE);
    match File::open(&path) {
        Ok(file) => Ok(is_exclusive(&file, &path)?.then_some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BulkError::io("open", path)(error)),
    }
}

/// Returns whether a process that runs the job has the lock.
fn is_exclusive(file: &File, path: &Path) -> Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => {
            // Unlock explicitly: Windows may unlock only some time after the file is closed. Wine unlocks it but reports an error.
            let _ = file.unlock();
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(BulkError::io("lock", path)(error)),
    }
}

fn in_use_error(folder: &Path, file: &mut File) -> BulkError {
    let mut text = String::new();
    // Where locks are mandatory (Windows), the holder can't be read.
    let holder = match file.read_to_string(&mut text) {
        Ok(_) => serde_json::from_str::<Holder>(&text).ok(),
        Err(_) => None,
    };
    let holder = holder.map_or_else(
        || "another process".to_owned(),
        |holder| {
            let since = UnixMillis::now()
                .checked_duration_since(UnixMillis(holder.started))
                .unwrap_or_default()
                .as_secs();
            format!("process {}, started {} ago,", holder.pid, format_duration(since))
        },
    );
    BulkError::NotRunnable(format!(
        "{holder} is running the job in {}; wait for it, or stop it",
        folder.display()
    ))
}

fn format_duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_locked_job_names_the_process_that_runs_it() {
        // F-10
        let folder = tempfile::tempdir().unwrap();
        let lock = JobLock::acquire(folder.path()).unwrap();
        let error = JobLock::acquire(folder.path()).unwrap_err().to_string();
        let expected = format!("process {}, started", process::id());
        assert!(error.starts_with(if cfg!(windows) { "another process" } else { &expected }), "{error}");
        drop(lock);
        JobLock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn a_job_is_held_while_a_process_has_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_held(folder.path()).unwrap(), "a job that never ran");
        let lock = JobLock::acquire(folder.path()).unwrap();
        assert!(is_held(folder.path()).unwrap());
        drop(lock);
        assert!(!is_held(folder.path()).unwrap());
        let below_a_file = folder.path().join(FILE);
        assert!(cfg!(windows) || matches!(is_held(&below_a_file), Err(BulkError::Io { action: "open", .. })));
    }

    #[test]
    fn a_process_that_shows_a_job_does_not_keep_another_one_from_starting_it() {
        // F-10
        let folder = tempfile::tempdir().unwrap();
        drop(JobLock::acquire(folder.path()).unwrap());
        let starting = AtomicBool::new(true);
        thread::scope(|scope| {
            scope.spawn(|| {
                while starting.load(Ordering::Relaxed) {
                    is_held(folder.path()).unwrap();
                }
            });
            let started = (0..1_000).find_map(|_| JobLock::acquire(folder.path()).err());
            starting.store(false, Ordering::Relaxed);
            assert!(started.is_none(), "{started:?}");
        });
    }

    #[test]
    fn a_process_that_stops_while_it_shows_a_job_does_not_make_a_start_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        drop(JobLock::acquire(folder.path()).unwrap());
        let stopped = File::open(folder.path().join(FILE)).unwrap();
        stopped.lock_shared().unwrap();
        assert!(matches!(JobLock::acquire(folder.path()), Err(BulkError::NotRunnable(_))));
    }

    #[test]
    fn an_unreadable_lock_file_is_locked_nevertheless() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "{\"pid\":").unwrap();
        let lock = JobLock::acquire(folder.path()).unwrap();
        std::fs::write(folder.path().join(FILE), "?").unwrap();
        let error = JobLock::acquire(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("another process is running"), "{error}");
        drop(lock);
    }

    #[test]
    fn ages_are_written_in_the_largest_unit() {
        let ages = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 900_000].map(format_duration);
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "10 d"]);
    }
}
