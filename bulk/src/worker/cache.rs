//! The job files that workers on this machine have copied. They contain recipients, so a job's last worker deletes them.

use std::{
    fs::{self, File},
    path::Path,
};

use crate::{
    error::{BulkError, Result},
    files,
};

/// The file that a job's workers lock in shared mode, and in the folder above, the one that is locked while a job's folder is created or deleted.
const LOCK: &str = "lock";

/// Creates the folder for a job's files, readable only by the owner. It isn't deleted until the returned value is dropped.
pub(super) fn open(dir: &Path) -> Result<File> {
    let cache = files::parent(dir);
    files::create_dir(cache)?;
    let _changing = files::lock(&cache.join(LOCK))?;
    files::create_dir(dir)?;
    let path = dir.join(LOCK);
    let lock = files::open_private(&path)?;
    lock.lock_shared().map_err(BulkError::io("lock", path))?;
    Ok(lock)
}

/// Deletes a job's files, unless a worker uses them.
pub(super) fn delete(dir: &Path) {
    if let Ok(_changing) = files::lock(&files::parent(dir).join(LOCK))
        && let Ok(lock) = File::open(dir.join(LOCK))
        && lock.try_lock().is_ok()
    {
        // The next worker tries again.
        let _ = fs::remove_dir_all(dir);
    }
}

/// Deletes the files of jobs that have ended, unless a worker uses them.
pub(super) fn delete_ended(cache: &Path, is_running: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(&is_running) {
            delete(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn files_are_deleted_when_the_job_has_ended_and_no_worker_uses_them() {
        let cache = tempfile::tempdir().unwrap();
        let dir = |name: &str| cache.path().join(name);
        for name in ["running", "ended", "used"] {
            drop(open(&dir(name)).unwrap());
            fs::write(dir(name).join("input"), "to\na@x.test\n").unwrap();
        }
        fs::create_dir(dir("other")).unwrap();
        let shared = [open(&dir("used")).unwrap(), open(&dir("used")).unwrap()];
        let existing = || ["running", "ended", "used", "other"].map(|name| dir(name).exists());
        delete_ended(cache.path(), |job| job == "running");
        assert_eq!(existing(), [true, false, true, true]);
        drop(shared);
        delete(&dir("used"));
        assert_eq!(existing(), [true, false, false, true]);
    }

    #[test]
    fn files_that_one_worker_deletes_while_another_starts_exist_until_that_one_ends() {
        let cache = tempfile::tempdir().unwrap();
        let (dir, starting) = (&cache.path().join("job"), AtomicBool::new(true));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while starting.load(Ordering::Relaxed) {
                    delete(dir);
                }
            });
            let missing = (0..2_000).find_map(|_| match open(dir) {
                Ok(_used) => (!dir.join(LOCK).exists()).then(|| "deleted".to_owned()),
                Err(error) => Some(error.to_string()),
            });
            starting.store(false, Ordering::Relaxed);
            assert_eq!(missing, None);
        });
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_the_files() {
        use std::os::unix::fs::PermissionsExt as _;

        let cache = tempfile::tempdir().unwrap();
        let dir = cache.path().join("workers").join("job");
        let _lock = open(&dir).unwrap();
        for (path, mode) in
            [(cache.path().join("workers"), 0o700), (dir.clone(), 0o700), (dir.join(LOCK), 0o600)]
        {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode, "{path:?}");
        }
    }
}
