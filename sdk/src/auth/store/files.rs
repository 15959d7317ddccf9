//! Files that only their owner can read or replace, and an inter-process lock: the building blocks of a file-based token store.
//!
//! [`FileStore`](super::FileStore) is built on them, and so can be an application's own store. All functions block their thread.

mod lock;

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, ErrorKind, Read as _, Seek as _, Write as _},
    path::Path,
    time::Duration,
};

use secrecy::zeroize::Zeroizing;

pub use self::lock::FileLock;
use crate::error::StoreError;

/// The minimum size of a record's file, in bytes. It hides the lengths of tokens, and keeps disk space allocated.
pub const RESERVED_BYTES: usize = 16 * 1024;
/// Files larger than this weren't written by a store.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads a whole file; `None` if it doesn't exist.
///
/// # Errors
/// The file can't be read, is larger than 1 MiB, isn't a regular file (links aren't followed), or, on Unix, isn't owned by this user, has a second
/// hard link, or is accessible to others.
pub fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true);
    let Some(file) = open(&options, path)? else { return Ok(None) };
    let mut bytes = Zeroizing::new(Vec::with_capacity(RESERVED_BYTES));
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| io_error("read", path, error))?;
    Ok(Some(bytes))
}

/// Opens a file that passes the checks of [`read`]; `None` if it doesn't exist.
fn open(options: &OpenOptions, path: &Path) -> Result<Option<File>, StoreError> {
    // Limits the attempts, in case the file keeps being replaced.
    for _ in 0..100 {
        // Check before opening: opening a pipe would block.
        checked_metadata(path)?;
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("open", path, error)),
        };
        let opened = file.metadata().map_err(|error| io_error("inspect", path, error))?;
        check(path, &opened)?;
        // Check afterwards as well: the file may have been opened through a link.
        if checked_metadata(path)?.is_none_or(|named| is_same(&named, &opened)) {
            return Ok(Some(file));
        }
    }
    Err(StoreError::unavailable(format!("{} is being replaced repeatedly", path.display())))
}

/// Returns the metadata of the file with this name, if it passes the checks.
fn checked_metadata(path: &Path) -> Result<Option<Metadata>, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => check(path, &metadata).map(|()| Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("open", path, error)),
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Checks the type, size, owner and mode of a file.
fn check(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    if metadata.is_symlink() {
        return Err(rejected_file(path, "it is a link, and links aren't followed"));
    }
    if !metadata.is_file() {
        return Err(rejected_file(path, "it isn't a regular file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(rejected_file(path, "it is larger than 1 MiB"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        check_owner(path, metadata.uid())?;
        if metadata.nlink() > 1 {
            return Err(rejected_file(path, "it has more than one hard link"));
        }
        let mode = metadata.mode() & 0o777;
        if mode & 0o077 != 0 {
            let path_text = path.display();
            let text = format!("it is accessible to others (mode {mode:03o}); run: chmod 600 {path_text}");
            return Err(rejected_file(path, &text));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn check_owner(path: &Path, owner: u32) -> Result<(), StoreError> {
    let me = effective_user().map_err(|error| io_error("inspect", path, error))?;
    if owner == me {
        return Ok(());
    }
    Err(rejected_file(path, &format!("it belongs to user {owner}, not to user {me}")))
}

/// Returns the effective user, which owns everything that this process creates, such as a pipe.
#[cfg(unix)]
fn effective_user() -> io::Result<u32> {
    use std::os::{fd::OwnedFd, unix::fs::MetadataExt as _};
    let (reader, _writer) = io::pipe()?;
    Ok(File::from(OwnedFd::from(reader)).metadata()?.uid())
}

fn io_error(verb: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(format!("couldn't {verb} {}", path.display())).with_source(error)
}

fn rejected_file(path: &Path, why: &str) -> StoreError {
    StoreError::invalid_data(format!("refusing to use {}: {why}", path.display()))
}

/// A file that will replace another, with mode 0600: its disk space is allocated before its content is known.
#[derive(Debug)]
pub struct StagedFile {
    file: File,
    room: usize,
}

impl StagedFile {
    /// Creates the file, replacing an older one, and fills it with spaces.
    ///
    /// # Errors
    /// The file can't be created, or the disk is full.
    pub fn reserve(path: &Path, room: usize) -> Result<Self, StoreError> {
        let failed = |error| io_error("make", path, error);
        remove_quietly(path);
        let mut options = OpenOptions::new();
        // Always a new file, so no link is followed.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = step().and_then(|()| options.open(path)).map_err(failed)?;
        // The owner must be able to read it again, regardless of the umask.
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(failed)?;
        let whole = step().and_then(|()| file.write_all(&vec![b' '; room])).and_then(|()| file.sync_all());
        if let Err(error) = whole {
            remove_quietly(path);
            return Err(failed(error));
        }
        Ok(Self { file, room })
    }

    /// Writes the content, padded with spaces; durable only after [`sync`](Self::sync).
    ///
    /// # Errors
    /// The file can't be written.
    pub fn fill(&mut self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut padded = Zeroizing::new(Vec::with_capacity(self.room.max(bytes.len())));
        padded.extend_from_slice(bytes);
        padded.resize(self.room.max(bytes.len()), b' ');
        step()
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(&padded))
            .map_err(|error| io_error("write", path, error))
    }

    /// Makes the content durable.
    ///
    /// # Errors
    /// The disk reports a failure.
    pub fn sync(&self, path: &Path) -> Result<(), StoreError> {
        step().and_then(|()| self.file.sync_all()).map_err(|error| io_error("write", path, error))
    }
}

/// Makes a file's content durable, which another process may have written.
///
/// # Errors
/// The file can't be opened, or the disk reports a failure.
pub fn sync(path: &Path) -> Result<(), StoreError> {
    step().and_then(|()| File::open(path)?.sync_all()).map_err(|error| io_error("write", path, error))
}

/// Renames a file, replacing the target.
///
/// # Errors
/// The system's error.
pub fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    step()
        .and_then(|()| retry_until_free(|| fs::rename(from, to)))
        .map_err(|error| io_error("replace", to, error))
}

/// Makes the renames and removals in a file's folder durable.
///
/// # Errors
/// The disk reports a failure.
pub fn sync_folder_of(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    {
        let folder = parent_folder(path);
        step()
            .and_then(|()| File::open(folder))
            .and_then(|folder| folder.sync_all())
            .map_err(|error| io_error("write", folder, error))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Replaces a file atomically and durably with one of at least `room` bytes, using a temporary name in the same folder.
///
/// # Errors
/// A step failed; the file is unchanged, unless the disk failed after the rename.
pub fn replace(path: &Path, by_way_of: &Path, bytes: &[u8], room: usize) -> Result<(), StoreError> {
    let mut staged = StagedFile::reserve(by_way_of, room)?;
    let done = staged.fill(by_way_of, bytes).and_then(|()| staged.sync(by_way_of));
    if let Err(error) = done.and_then(|()| rename(by_way_of, path)) {
        remove_quietly(by_way_of);
        return Err(error);
    }
    sync_folder_of(path)
}

/// Removes a file durably; succeeds if it doesn't exist.
///
/// # Errors
/// The system's error.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    match step().and_then(|()| retry_until_free(|| fs::remove_file(path))) {
        Ok(()) => sync_folder_of(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error("remove", path, error)),
    }
}

/// Removes an obsolete file; failures are ignored, since a leftover does no harm.
pub fn remove_quietly(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Creates the folder of a file (mode 0700) if it doesn't exist, and checks that others can't replace the file.
pub(super) fn create_folder_of(path: &Path) -> Result<(), StoreError> {
    let folder = parent_folder(path);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| io_error("create the folder", folder, error))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let mode = fs::metadata(folder).map_err(|error| io_error("inspect", folder, error))?.mode() & 0o1777;
        if mode & 0o022 != 0 {
            // Other users need the permission in a folder such as /tmp.
            let is_shared = mode & 0o1000 != 0;
            let advice = if is_shared {
                "use a private folder".to_owned()
            } else {
                format!("run: chmod go-w {}", folder.display())
            };
            let text = format!("others can write to its folder (mode {mode:03o}); {advice}");
            return Err(rejected_file(path, &text));
        }
    }
    Ok(())
}

fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Retries an operation for a second while another program, such as a virus scanner, has the file open. This happens only on Windows.
fn retry_until_free<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for pause in [1, 2, 5, 10, 20, 50, 100, 200, 300, 300] {
        match operation() {
            // ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
            Err(error) if cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32 | 33)) => {
                std::thread::sleep(Duration::from_millis(pause));
            }
            ended => return ended,
        }
    }
    operation()
}

/// Called before each step on the disk: tests make it fail, or end the process there.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "it fails in tests")]
fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use tests::step;

#[cfg(test)]
pub(super) mod tests;
