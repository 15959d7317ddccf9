//! Private files, written so that a crash leaves either the old or the new content.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::error::{BulkError, Result};

const NOT_REGULAR: &str = "it isn't a regular file";
/// The age at which a hidden folder isn't needed any more: the service has forgotten the idempotency keys of that time.
const STALE_AFTER: Duration = Duration::from_hours(24);

/// Creates a file that only its owner can read.
pub(crate) fn create(path: &Path) -> Result<File> {
    private(OpenOptions::new().create_new(true), path).map_err(BulkError::io("write", path))
}

/// Opens a file for reading. Anything but a regular file is rejected: a named pipe, for example, might have no end.
pub(crate) fn open(path: &Path) -> Result<File> {
    let opened = fs::metadata(path).and_then(|metadata| {
        if metadata.is_file() {
            File::open(path)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR))
        }
    });
    opened.map_err(BulkError::io("read", path))
}

/// Reads one of the job's own files.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content).map_err(BulkError::io("read", path))?;
    Ok(content)
}

/// Reads one of the job's own files, if it exists.
pub(crate) fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BulkError::io("read", path)(error)),
    }
}

/// Parses one of the job's own files.
pub(crate) fn parse_json<T: DeserializeOwned>(content: &[u8], path: &Path) -> Result<T> {
    let damaged = |error| BulkError::PlanChanged(format!("{} is damaged: {error}", path.display()));
    serde_json::from_slice(content).map_err(damaged)
}

/// Opens or creates a file that only its owner can read and write.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    // A named pipe would have no end.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let error = io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR);
        return Err(BulkError::io("open", path)(error));
    }
    private(OpenOptions::new().create(true).truncate(false), path).map_err(BulkError::io("open", path))
}

fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.read(true).write(true).open(path)
}

/// Locks a file, creating it if necessary, until the returned value is dropped. Waits while another process holds the lock.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = open_private(path)?;
    file.lock().map_err(BulkError::io("lock", path))?;
    Ok(file)
}

/// Creates a folder and its parents, readable only by the owner.
pub(crate) fn create_dir(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(BulkError::io("write", path))
}

/// Creates a temporary folder in `dir`, readable only by the owner.
pub(crate) fn temporary_dir(prefix: &str, dir: &Path) -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(dir).map_err(BulkError::io("write", dir))
}

/// Returns the free space on the folder's disk, in bytes; `None` if unknown.
pub(crate) fn free_space(dir: &Path) -> Option<u64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(dir).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    #[cfg(not(unix))]
    return None;
}

/// Removes the folders with this prefix that have been unchanged for a day, such as those that killed processes left behind.
pub(crate) fn remove_stale(prefix: &str, dir: &Path) {
    let is_old = |path: &Path| {
        let changed = path.metadata().and_then(|metadata| metadata.modified()).ok();
        changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > STALE_AFTER)
    };
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let named = entry.file_name().to_string_lossy().starts_with(prefix);
        let mut files = fs::read_dir(&path).into_iter().flatten().flatten();
        if named && is_old(&path) && files.all(|file| is_old(&file.path())) {
            // The next plan tries again.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Returns the folder that contains a file or folder.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Replaces a file with a JSON document, atomically.
pub(crate) fn replace_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec_pretty(value);
    replace(path, &text.map_err(|error| BulkError::io("write", path)(error.into()))?)
}

/// Replaces a file atomically.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let writing = |error| BulkError::io("write", path)(error);
    let dir = path.parent().unwrap_or(Path::new("."));
    // `tempfile` creates files that only the owner can read.
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(dir).map_err(writing)?;
    file.write_all(content).map_err(writing)?;
    file.as_file().sync_all().map_err(writing)?;
    let mut file = Some(file);
    retry_until_free(|| match file.take().map(|file| file.persist(path)) {
        Some(Err(failed)) => {
            file = Some(failed.file);
            Err(failed.error)
        }
        _ => Ok(()),
    })
    .map_err(writing)?;
    sync_dir(dir)
}

/// Renames a file or folder. On Windows, retries for a second if another program, such as a virus scanner, has it open.
pub(crate) fn retry_until_free(mut operation: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for _ in 0..20 {
        match operation() {
            // ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
            Err(error) if cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32 | 33)) => {
                std::thread::sleep(Duration::from_millis(50));
            }
            ended => return ended,
        }
    }
    operation()
}

/// Makes files created or renamed in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    // Windows can't open a folder as a file, and its renames don't need this.
    if cfg!(unix) {
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(BulkError::io("write", dir))?;
    }
    Ok(())
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BulkError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Runs file operations off the async threads. The task is boxed: tokio's code for tasks is compiled again for each type of task.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (done, mut result) = oneshot::channel();
    let task: Box<dyn FnOnce() + Send> = Box::new(move || drop(done.send(work())));
    let ended = tokio::task::spawn_blocking(task).await;
    match ended.map(|()| result.try_recv()) {
        Ok(Ok(result)) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        _ => Err(BulkError::NotRunnable("the runtime shut down".to_owned())),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Creates a folder, in memory if it has room: a paused clock advances while a thread syncs a file, so on a disk, a run has many more ticks.
    pub(crate) fn folder() -> TempDir {
        let memory = Path::new("/dev/shm");
        // In a container, it often has 64 MB.
        let has_room = free_space(memory).is_some_and(|bytes| bytes > 1 << 30);
        if has_room { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
    }

    #[test]
    fn a_replaced_file_has_the_new_content_and_no_file_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job.json");
        for content in ["1", "22"] {
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        let folder = dir.path().join("folder");
        create_dir(&folder).unwrap();
        assert!(replace(&folder, b"").is_err(), "a folder is no file");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        assert!(create(&path).is_err(), "an existing file is never overwritten");
    }

    #[test]
    fn an_operation_is_repeated_only_on_windows_and_only_while_the_file_is_in_use() {
        let in_use = || io::Error::from_raw_os_error(32);
        let calls_until_free = |failure: &dyn Fn() -> io::Error| {
            let mut calls = 0;
            let result = retry_until_free(|| {
                calls += 1;
                if calls < 3 { Err(failure()) } else { Ok(()) }
            });
            (calls, result.is_ok())
        };
        assert_eq!(calls_until_free(&in_use), if cfg!(windows) { (3, true) } else { (1, false) });
        assert_eq!(calls_until_free(&|| io::ErrorKind::NotFound.into()), (1, false));
    }

    #[test]
    fn a_removed_file_is_gone_and_a_missing_one_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("request");
        create(&path).unwrap();
        for _ in 0..2 {
            remove(&path).unwrap();
            assert!(!path.exists());
        }
        assert!(remove(dir.path()).is_err(), "a folder is no file");
    }

    #[test]
    fn a_name_without_a_folder_is_in_the_current_one() {
        assert_eq!(parent(Path::new("job")), Path::new("."));
        assert_eq!(parent(Path::new("jobs/job")), Path::new("jobs"));
        assert_eq!(parent(Path::new("/")), Path::new("."));
    }

    #[tokio::test]
    async fn a_panic_of_a_file_operation_reaches_its_caller() {
        let caller = tokio::spawn(blocking(|| -> Result<()> { panic!("a simulated panic") }));
        assert!(caller.await.unwrap_err().is_panic());
    }

    #[test]
    fn a_runtime_that_has_shut_down_runs_no_file_operation() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let error = blocking(|| Ok(())).now_or_never().unwrap().unwrap_err();
        assert!(matches!(&error, BulkError::NotRunnable(why) if why == "the runtime shut down"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn files_and_folders_are_private() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let [jobs, file, replaced] = ["a/b", "file", "replaced"].map(|name| dir.path().join(name));
        create_dir(&jobs).unwrap();
        create(&file).unwrap();
        replace(&replaced, b"").unwrap();
        assert_eq!((mode(&jobs), mode(&file), mode(&replaced)), (0o700, 0o600, 0o600));
    }

    #[cfg(unix)]
    #[test]
    fn folders_of_killed_processes_are_removed_after_a_day() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".planning-old", ".planning-in-use", ".planning-new", "job"] {
            let path = dir.path().join(name);
            create_dir(&path).unwrap();
            let input = create(&path.join("input")).unwrap();
            let long_ago = std::time::SystemTime::now() - 2 * STALE_AFTER;
            if name != ".planning-in-use" {
                input.set_modified(long_ago).unwrap();
            }
            if name != ".planning-new" {
                File::open(&path).unwrap().set_modified(long_ago).unwrap();
            }
        }
        remove_stale(".planning-", dir.path());
        let mut left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".planning-in-use", ".planning-new", "job"]);
    }
}
