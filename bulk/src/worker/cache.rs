//! The job files that workers on this machine have copied. They contain recipients, so a job's last worker deletes them.

use std::{
    fs::{self, File},
    path::Path,
};

use crate::{
    error::{BulkError, Result},
    files,
};

/// The file that a job's workers lock in shared mode.
const LOCK: &str = "lock";

/// Creates the folder for a job's files, readable only by the owner. It isn't deleted until the returned value is dropped.
pub(super) fn open(dir: &Path) -> Result<File> {
    files::create_dir(dir)?;
    let path = dir.join(LOCK);
    let lock = files::open_private(&path)?;
    lock.lock_shared().map_err(BulkError::io("lock", path))?;
    Ok(lock)
}

/// Deletes a job's files, unless a worker uses them.
pub(super) fn delete(dir: &Path) {
    if let Ok(lock) = File::open(dir.join(LOCK))
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
