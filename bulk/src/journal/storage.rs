//! Journal storage, and its implementation for files.

use std::{
    fs::{File, OpenOptions},
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
    /// Opens the file, or creates it durably.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = private_file(path).map_err(BulkError::io("open", path))?;
        // Without this, the file could disappear in a power failure even though its content was synced.
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(BulkError::io("sync", folder))?;
        }
        Ok(Self { file, path: path.into() })
    }
}

/// Opens or creates a file that only its owner can read and write.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    // A named pipe would have no end.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it isn't a regular file"));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A read-only journal: a torn end is left in place.
#[derive(Debug)]
pub(crate) struct ReadOnly(FileStorage);

impl ReadOnly {
    /// Opens the file; `None` if it doesn't exist.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        match files::open(path) {
            Ok(file) => Ok(Some(Self(FileStorage { file, path: path.into() }))),
            Err(BulkError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Storage for ReadOnly {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }

    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Ok(())
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
