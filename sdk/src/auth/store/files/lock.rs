//! An inter-process file lock.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use super::{io_error, is_same, open};
use crate::error::StoreError;

/// A lock held by one process at a time, until it is dropped or the process ends for any reason.
///
/// The system releases it when the file is closed. There are therefore no stale locks, and no lock is ever broken: neither by age (its holder may
/// merely be suspended) nor by removing the file (two processes would each hold a lock, on two files with the same name). The file stays.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Makes one attempt to take the lock, creating its file (mode 0600) if needed. `None` if another process, or another part of this one, holds it.
    ///
    /// # Errors
    /// The file can't be opened or locked, or fails the checks of [`read`](super::read).
    pub fn try_take(path: &Path) -> Result<Option<Self>, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // FILE_SHARE_READ | FILE_SHARE_WRITE: while it is open, it can't be removed or renamed.
        #[cfg(windows)]
        std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0x3);
        // Limits the attempts, in case the file keeps being removed.
        for _ in 0..100 {
            // A problem with the lock file says nothing about the stored login.
            let opened = open(&options, path).map_err(|error| match error {
                StoreError::Unreadable { reason } => StoreError::unavailable(reason),
                other => other,
            })?;
            let file = opened.ok_or_else(|| {
                io_error("create", path, io::Error::new(ErrorKind::NotFound, "its folder doesn't exist"))
            })?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(io_error("lock", path, error)),
            }
            let lock = Self { file, path: path.to_owned() };
            // The file may have been unlinked between open and lock: other processes would then lock a different one.
            if lock.is_current() {
                return Ok(Some(lock));
            }
        }
        Err(StoreError::unavailable(format!("{} is being replaced repeatedly", path.display())))
    }

    /// Writes a note about the holder into the file, for other processes' messages. Failures are ignored.
    pub fn sign(&mut self, note: &str) {
        let _ = self.file.set_len(0);
        let _ = self.file.rewind();
        let _ = self.file.write_all(note.as_bytes());
    }

    /// Checks the lock again, just before an irreversible step.
    ///
    /// # Errors
    /// The lock file was removed or replaced, so other processes may hold a lock too.
    pub fn verify_held(&self) -> Result<(), StoreError> {
        if self.is_current() {
            return Ok(());
        }
        Err(StoreError::unavailable(format!(
            "{} was removed or replaced while this process held it",
            self.path.display()
        )))
    }

    /// Returns whether the locked file is still the one at its path. On systems other than Unix, an open file can't be removed.
    fn is_current(&self) -> bool {
        let (Ok(held), Ok(named)) = (self.file.metadata(), fs::symlink_metadata(&self.path)) else {
            return cfg!(not(unix));
        };
        is_same(&held, &named)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Unlock explicitly, not only by closing: a child forked in the meantime may hold the file open.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Folder, *};

    #[test]
    fn a_lock_is_released_even_if_a_child_has_inherited_its_file() {
        // E-09
        let home = Folder::new();
        let path = home.join("lock");
        let held = FileLock::try_take(&path).unwrap().unwrap();
        let _inherited = held.file.try_clone().unwrap();
        assert!(FileLock::try_take(&path).unwrap().is_none());
        drop(held);
        assert!(FileLock::try_take(&path).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_whose_file_was_removed_is_not_held() {
        // E-09
        let home = Folder::new();
        let path = home.join("lock");
        let held = FileLock::try_take(&path).unwrap().unwrap();
        held.verify_held().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(held.verify_held().unwrap_err().to_string().contains("was removed or replaced"));
        let second = FileLock::try_take(&path).unwrap().unwrap();
        second.verify_held().unwrap();
        assert!(held.verify_held().is_err() && FileLock::try_take(&path).unwrap().is_none());
    }
}
