//! Journal storage, and its implementation for files.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    error::{BulkError, Result},
    files,
};

/// The bytes of a journal.
pub(crate) trait Storage: Send + 'static {
    /// Returns the storage's path, for error messages.
    fn path(&self) -> &Path;

    /// Reads bytes at `offset` and returns their number, 0 at the end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Appends bytes. After an error, any prefix of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes all earlier appends and truncations durable.
    fn sync(&mut self) -> io::Result<()>;

    /// Truncates the storage to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

/// A journal in a file that only its owner can read.
#[derive(Debug)]
pub(crate) struct FileStorage {
    file: File,
    path: PathBuf,
}

impl FileStorage {
    /// Opens the file for reading; `None` if it doesn't exist.
    pub(crate) fn open_existing(path: &Path) -> Result<Option<Self>> {
        match files::open(path) {
            Ok(file) => Ok(Some(Self { file, path: path.into() })),
            Err(BulkError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file, or creates it durably.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = files::open_private(path)?;
        // Without this, the file could disappear in a power failure even though its content was synced.
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(BulkError::io("sync", folder))?;
        }
        Ok(Self { file, path: path.into() })
    }
}

impl Storage for FileStorage {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(offset))?;
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}
