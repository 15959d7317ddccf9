//! Files that commands read and write: bounded reads, and atomic writes that never replace a device, pipe or socket.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::literal::check_local;

/// Maximum number of files with the same base name in a folder.
const MAX_DUPLICATES: usize = 1_000;

/// A file under construction. Its content appears completely with [`commit`](Self::commit), or not at all; a device or pipe receives it
/// immediately.
#[derive(Debug)]
pub(crate) enum Output {
    /// The temporary file, and its destination.
    Staged(NamedTempFile, PathBuf),
    /// A device or pipe, which can't be replaced.
    InPlace(File),
}

impl Output {
    /// Prepares a write to `path`, through symbolic links. A new file has mode 0600; an existing one keeps its mode and its owner.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        check_local()?;
        let existing = if_found(std::fs::metadata(path))?;
        if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            // Fails for a folder with the system's error.
            return Ok(Self::InPlace(OpenOptions::new().write(true).open(path)?));
        }
        let path = target(path)?;
        let file = NamedTempFile::new_in(folder(&path))?;
        if let Some(existing) = existing {
            // Root may replace a user's file, which the user must still be able to read. For anyone else, this changes nothing.
            #[cfg(unix)]
            {
                use std::os::unix::fs::{MetadataExt as _, fchown};
                if rustix::process::geteuid().is_root() {
                    fchown(file.as_file(), Some(existing.uid()), Some(existing.gid()))?;
                }
            }
            file.as_file().set_permissions(existing.permissions())?;
        }
        Ok(Self::Staged(file, path))
    }

    /// The async variant: opening a pipe blocks until it has a reader, and signals must still end the command.
    pub(crate) async fn open(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || Self::create(&path))
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Makes the content durable and visible; unless `replace` is set, an existing file is an error.
    pub(crate) fn commit(self, replace: bool) -> io::Result<()> {
        let Self::Staged(file, path) = self else { return Ok(()) };
        sync_file(file.as_file())?;
        let mut file = Some(file);
        retry_while_busy(|| match file.take() {
            Some(staged) => {
                let persisted = if replace { staged.persist(&path) } else { staged.persist_noclobber(&path) };
                persisted.map(drop).map_err(|failed| {
                    file = Some(failed.file);
                    failed.error
                })
            }
            None => Ok(()),
        })?;
        sync(folder(&path))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Staged(file, _) => file.write(bytes),
            Self::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a complete file; creates its folder (0700) if it doesn't exist.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    create_dir(folder(path))?;
    let mut output = Output::create(path)?;
    output.write_all(content)?;
    output.commit(true)
}

/// Options to write a file, which gets mode 0600 if it's new.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Writes a new file under the first free name; an identical one counts as written. Returns its path and whether it is new.
pub(crate) fn write_new(
    folder: &Path,
    names: impl Fn(usize) -> String,
    content: &[u8],
) -> io::Result<(PathBuf, bool)> {
    check_local()?;
    let mut staged: Option<NamedTempFile> = None;
    for path in (1..=MAX_DUPLICATES).map(|number| folder.join(names(number))) {
        if has_content(&path, content)? {
            return Ok((path, false));
        }
        let file = if let Some(file) = staged.take() {
            file
        } else {
            let mut file = NamedTempFile::new_in(folder)?;
            file.write_all(content)?;
            sync_file(file.as_file())?;
            file
        };
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok((path, true)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => staged = Some(error.file),
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{MAX_DUPLICATES} files with this name exist")))
}

/// Reads a file of limited size; `None` if there is none. Devices are rejected, and pipes unless `pipes` is set, since they may never end.
pub(crate) fn read(path: &Path, limit: u64, pipes: bool) -> io::Result<Option<Vec<u8>>> {
    let reject = |rule: &str| Err(io::Error::new(io::ErrorKind::InvalidData, rule));
    let Some(metadata) = if_found(std::fs::metadata(path))? else { return Ok(None) };
    if !(metadata.is_file() || pipes && is_pipe(&metadata)) {
        return reject(if pipes { "not a regular file or pipe" } else { "not a regular file" });
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return reject(&format!("larger than {} MiB", limit >> 20));
    }
    Ok(Some(bytes))
}

/// The result of an operation on a file or folder; `None` if it doesn't exist.
pub(crate) fn if_found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn is_pipe(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type());
    #[cfg(not(unix))]
    return !metadata.is_file() && !metadata.is_dir();
}

/// Creates a folder and its parents (0700).
pub(crate) fn create_dir(folder: &Path) -> io::Result<()> {
    check_local()?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Resolves symbolic links, even if the target doesn't exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    match (path.canonicalize(), path.read_link()) {
        (Err(error), Ok(link)) if error.kind() == io::ErrorKind::NotFound => target(&folder(path).join(link)),
        // The resolved folder: on Windows such a path may be longer than 260 characters.
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {
            let folder = folder(path).canonicalize()?;
            Ok(path.file_name().map_or(path.to_owned(), |name| folder.join(name)))
        }
        (target, _) => target,
    }
}

/// Renames or removes a file; if another program has it open, such as a virus scanner, tries again for a second. Only on Windows is that an obstacle.
pub(crate) fn retry_while_busy<T>(operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    // ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
    let in_use = |error: &io::Error| cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32 | 33));
    retry(operation, in_use, std::thread::sleep)
}

fn retry<T>(
    mut operation: impl FnMut() -> io::Result<T>,
    passes: impl Fn(&io::Error) -> bool,
    mut sleep: impl FnMut(Duration),
) -> io::Result<T> {
    for pause in [1, 2, 5, 10, 20, 50, 100, 200, 300, 300] {
        match operation() {
            Err(error) if passes(&error) => sleep(Duration::from_millis(pause)),
            ended => return ended,
        }
    }
    operation()
}

/// Makes a file's content durable. On macOS that means writing out the drive's cache, which network drives don't support.
fn sync_file(file: &File) -> io::Result<()> {
    let synced = file.sync_all();
    #[cfg(target_vendor = "apple")]
    if synced.is_err() {
        return Ok(rustix::fs::fsync(file)?);
    }
    synced
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A rename is durable only after its folder is synced.
fn sync(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    sync_file(&File::open(folder)?)?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

fn has_content(path: &Path, content: &[u8]) -> io::Result<bool> {
    let metadata = if_found(std::fs::symlink_metadata(path))?;
    let fits = metadata.is_some_and(|found| found.is_file() && found.len() == content.len() as u64);
    Ok(fits && std::fs::read(path)? == content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_files_are_never_overwritten_and_identical_ones_reused() {
        let folder = tempfile::tempdir().unwrap();
        let save = |content: &str| {
            let names = |n| if n == 1 { "a.txt".to_owned() } else { format!("a-{n}.txt") };
            let (path, new) = write_new(folder.path(), names, content.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
            (path.file_name().unwrap().to_str().unwrap().to_owned(), new)
        };
        assert_eq!(save("one"), ("a.txt".to_owned(), true));
        assert_eq!(save("one"), ("a.txt".to_owned(), false));
        assert_eq!(save("two"), ("a-2.txt".to_owned(), true));
        assert_eq!(save("two"), ("a-2.txt".to_owned(), false));
        assert_eq!(folder.path().read_dir().unwrap().count(), 2, "nothing else is left behind");
    }

    #[test]
    fn an_operation_is_repeated_while_its_error_passes_for_about_a_second() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let passes = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let run = |failures: usize, error: fn() -> io::Error| {
            let (mut calls, mut slept) = (0, Duration::ZERO);
            let operation = || {
                calls += 1;
                if calls > failures { Ok(()) } else { Err(error()) }
            };
            let result = retry(operation, passes, |pause| slept += pause).map_err(|error| error.kind());
            (result, calls, slept.as_millis())
        };
        assert_eq!(run(0, denied), (Ok(()), 1, 0));
        assert_eq!(run(3, denied), (Ok(()), 4, 8));
        assert_eq!(run(99, denied), (Err(io::ErrorKind::PermissionDenied), 11, 988));
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(run(99, full), (Err(io::ErrorKind::StorageFull), 1, 0));
    }

    #[cfg(unix)]
    #[test]
    fn a_write_is_private_keeps_an_existing_mode_and_follows_links() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let mode = |path: &Path| Some(std::fs::metadata(path).unwrap().permissions().mode() & 0o777);
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new/config.toml");
        write(&path, b"a").unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (Some(0o600), Some(0o700)));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        for (name, target) in [("link", path.clone()), ("dangling", "new/other".into())] {
            let link = home.path().join(name);
            symlink(target, &link).unwrap();
            write(&link, b"b").unwrap();
            assert!(link.is_symlink());
            assert_eq!(std::fs::read_to_string(&link).unwrap(), "b");
        }
        assert_eq!(mode(&path), Some(0o644));
        assert!(home.path().join("new/other").exists());
    }
}
