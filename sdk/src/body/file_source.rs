//! Files as parts of a body.

use std::{fs::Metadata, io, path::PathBuf, sync::Arc, time::SystemTime};

use bytes::{Bytes, BytesMut};
use tokio::{fs::File, io::AsyncReadExt as _};

use super::CHUNK;

/// A file in its state when it was attached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileSource {
    path: PathBuf,
    version: FileVersion,
}

/// File metadata that changes with the content, so that a change is detected without reading the file.
#[derive(Debug, PartialEq, Eq)]
struct FileVersion {
    len: u64,
    modified: Option<SystemTime>,
    /// Device and inode: a replacement file can have the same length and modification time.
    inode: Option<(u64, u64)>,
}

impl FileVersion {
    fn from_metadata(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt as _;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let inode = None;
        Self { len: metadata.len(), modified: metadata.modified().ok(), inode }
    }
}

/// A file that is being read.
pub(super) struct OpenFile {
    source: Arc<FileSource>,
    file: File,
    left: u64,
}

impl FileSource {
    /// Reads a file's metadata. It must be a regular, readable file.
    pub(crate) async fn inspect(path: PathBuf) -> io::Result<Self> {
        let found = tokio::fs::metadata(&path).await?;
        if !found.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(&path).await?;
        let found = file.metadata().await?;
        Ok(Self { path, version: FileVersion::from_metadata(&found) })
    }

    pub(crate) fn len(&self) -> u64 {
        self.version.len
    }

    pub(super) async fn open(self: Arc<Self>) -> io::Result<OpenFile> {
        let mut file = File::open(&self.path).await.map_err(|error| self.with_path(&error))?;
        file.set_max_buf_size(CHUNK);
        let now = file.metadata().await.map_err(|error| self.with_path(&error))?;
        if FileVersion::from_metadata(&now) != self.version {
            return Err(self.changed_error());
        }
        Ok(OpenFile { left: self.len(), file, source: self })
    }

    fn changed_error(&self) -> io::Error {
        let text = format!("{}: the file changed after it was attached", self.path.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    }

    fn with_path(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl OpenFile {
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        let wanted = usize::try_from(self.left).unwrap_or(CHUNK).min(CHUNK);
        let mut buffer = BytesMut::zeroed(wanted);
        if let Err(error) = self.file.read_exact(&mut buffer).await {
            let shrunk = error.kind() == io::ErrorKind::UnexpectedEof;
            return Err(if shrunk { self.source.changed_error() } else { self.source.with_path(&error) });
        }
        self.left -= wanted as u64;
        // Checked before the last chunk is sent, so that the service can't mistake an incomplete body for a complete one.
        if self.left == 0 {
            let now = self.file.metadata().await.map_err(|error| self.source.with_path(&error))?;
            if FileVersion::from_metadata(&now) != self.source.version {
                return Err(self.source.changed_error());
            }
        }
        Ok(Some(buffer.freeze()))
    }
}
