//! Files that only their owner can read or replace: checked before reading, created with mode 0600, replaced atomically.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::Path;

use idempost::auth::StoreError;
use secrecy::zeroize::Zeroizing;

use crate::files;

/// Minimum size of a record's file: hides the lengths of tokens, and keeps the disk space allocated.
pub(super) const RESERVED_BYTES: usize = 16 * 1024;
/// Larger files weren't written by this program.
const MAX_BYTES: u64 = 1024 * 1024;

/// A system error with the operation that failed.
pub(super) fn failed(verb: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(format!("couldn't {verb} {}", path.display())).caused_by(error)
}

/// Creates a folder (0700) if needed, and checks that only its owner has access.
pub(super) fn folder(path: &Path) -> Result<(), StoreError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if let Err(error) = std::fs::symlink_metadata(path)
        && error.kind() == ErrorKind::NotFound
    {
        builder.create(path).map_err(|error| failed("create the folder", path, error))?;
    }
    check_folder(path)
}

/// Checks that a folder, if it exists, is accessible only to its owner.
pub(super) fn check_folder(path: &Path) -> Result<(), StoreError> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("inspect", path, error)),
    };
    if !metadata.is_dir() {
        return Err(refused(path, "it isn't a folder (links aren't followed)"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        owned(path, metadata.uid())?;
        if metadata.mode() & 0o077 != 0 {
            let mode = metadata.mode() & 0o777;
            return Err(refused(
                path,
                &format!("it is accessible to others (mode {mode:03o}); run: chmod 700 {}", path.display()),
            ));
        }
    }
    Ok(())
}

/// Reads a whole file; `None` if it doesn't exist.
pub(super) fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true);
    let Some(file) = open(&options, path)? else { return Ok(None) };
    check(&file, path)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(RESERVED_BYTES));
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| failed("read", path, error))?;
    Ok(Some(bytes))
}

/// Opens a lock file, creating it if needed, and checks it.
pub(super) fn open_or_make(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // FILE_SHARE_READ | FILE_SHARE_WRITE: while it is open, it can't be removed or renamed.
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0x3);
    let file = open(&options, path)?.ok_or_else(|| {
        failed("create", path, io::Error::new(ErrorKind::NotFound, "its folder doesn't exist"))
    })?;
    check(&file, path)?;
    Ok(file)
}

fn open(options: &OpenOptions, path: &Path) -> Result<Option<File>, StoreError> {
    #[cfg(unix)]
    let options = {
        use rustix::fs::OFlags;
        let mut options = options.clone();
        // Links aren't followed, and a pipe without a writer doesn't block.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
        options
    };
    match options.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Err(refused(path, "it is a link, and links aren't followed"))
        }
        Err(error) => Err(failed("open", path, error)),
    }
}

/// Checks the type, size, owner and mode of an open file.
fn check(file: &File, path: &Path) -> Result<(), StoreError> {
    let metadata = file.metadata().map_err(|error| failed("inspect", path, error))?;
    if !metadata.is_file() {
        return Err(refused(path, "it isn't a regular file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(refused(path, "it is larger than 1 MiB"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        owned(path, metadata.uid())?;
        if metadata.nlink() > 1 {
            return Err(refused(path, "it has a second name (a hard link)"));
        }
        if metadata.mode() & 0o077 != 0 {
            let mode = metadata.mode() & 0o777;
            return Err(refused(
                path,
                &format!("it is accessible to others (mode {mode:03o}); run: chmod 600 {}", path.display()),
            ));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn owned(path: &Path, owner: u32) -> Result<(), StoreError> {
    let me = rustix::process::geteuid().as_raw();
    if owner == me {
        return Ok(());
    }
    Err(refused(path, &format!("it belongs to user {owner}, not to user {me}")))
}

fn refused(path: &Path, why: &str) -> StoreError {
    StoreError::unreadable(format!("refusing to use {}: {why}", path.display()))
}

/// A temporary file that will replace another: its disk space is allocated before its content is known.
#[derive(Debug)]
pub(super) struct StagedFile {
    file: File,
    room: usize,
}

impl StagedFile {
    /// Creates the file and fills it with spaces.
    pub(super) fn reserve(path: &Path, room: usize) -> Result<Self, StoreError> {
        let failed = |error| failed("make", path, error);
        remove_quietly(path);
        let mut options = OpenOptions::new();
        // A new file, so no link is followed.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(failed)?;
        // Regardless of the umask, the owner must be able to read it again.
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(failed)?;
        let whole = file.write_all(&vec![b' '; room]).and_then(|()| file.sync_all());
        if let Err(error) = whole {
            remove_quietly(path);
            return Err(failed(error));
        }
        Ok(Self { file, room })
    }

    /// Writes the content; durable only after [`sync`](Self::sync).
    pub(super) fn fill(&mut self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut padded = Zeroizing::new(Vec::with_capacity(self.room.max(bytes.len())));
        padded.extend_from_slice(bytes);
        padded.resize(self.room.max(bytes.len()), b' ');
        self.file
            .rewind()
            .and_then(|()| self.file.write_all(&padded))
            .map_err(|error| failed("write", path, error))
    }

    /// Syncs the content to disk.
    pub(super) fn sync(&self, path: &Path) -> Result<(), StoreError> {
        self.file.sync_all().map_err(|error| failed("write", path, error))
    }
}

/// Renames a file, replacing the target.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    files::until_free(|| std::fs::rename(from, to)).map_err(|error| failed("replace", to, error))
}

/// Makes the renames in a file's folder durable.
pub(super) fn sync_folder_of(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| failed("write", folder, error))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Replaces a small file atomically and durably, via a temporary name.
pub(super) fn replace(path: &Path, by_way_of: &Path, bytes: &[u8], room: usize) -> Result<(), StoreError> {
    let mut staged = StagedFile::reserve(by_way_of, room)?;
    let done = staged.fill(by_way_of, bytes).and_then(|()| staged.sync(by_way_of));
    if let Err(error) = done.and_then(|()| rename(by_way_of, path)) {
        remove_quietly(by_way_of);
        return Err(error);
    }
    sync_folder_of(path)
}

/// Disables core dumps: from here on the memory contains secrets.
pub(super) fn no_core() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        // If this isn't allowed, nothing is lost.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
}

/// Removes a file durably; succeeds if it doesn't exist.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match files::until_free(|| std::fs::remove_file(path)) {
        Ok(()) => sync_folder_of(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("remove", path, error)),
    }
}

/// Removes an obsolete file; does no harm if it stays.
pub(super) fn remove_quietly(path: &Path) {
    let _ = std::fs::remove_file(path);
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn message<T>(result: Result<T, StoreError>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn only_a_private_regular_file_is_read() {
        // E-01, E-04, E-05
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        for mode in [0o604, 0o640] {
            std::fs::set_permissions(at("file"), Permissions::from_mode(mode)).unwrap();
            let message = message(read(&at("file")));
            assert!(message.contains(&format!("(mode {mode:o}); run: chmod 600 ")), "{message}");
        }
        std::fs::set_permissions(at("file"), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&at("file")).unwrap().unwrap().as_slice(), b"x");
        assert!(read(&at("none")).unwrap().is_none());

        symlink(at("file"), at("link")).unwrap();
        symlink(at("none"), at("dangling")).unwrap();
        for link in ["link", "dangling"] {
            assert!(message(read(&at(link))).contains("is a link"), "{link}");
            assert!(message(open_or_make(&at(link))).contains("is a link"), "{link}");
        }
        std::fs::create_dir(at("folder")).unwrap();
        assert!(!message(read(&at("folder"))).is_empty());
        let made = std::process::Command::new("mkfifo").arg("-m600").arg(at("pipe")).status();
        assert!(made.unwrap().success());
        assert!(message(read(&at("pipe"))).contains("isn't a regular file"));
        assert!(!message(read(Path::new("/dev/null"))).is_empty());
        assert!(message(read(&at("file/below"))).contains("couldn't open"));
        let me = rustix::process::geteuid().as_raw();
        assert!(message(owned(&at("file"), me + 1)).contains(&format!("belongs to user {}", me + 1)));

        let sized = |name: &str, bytes: u64| {
            std::fs::File::create(at(name)).unwrap().set_len(bytes).unwrap();
            std::fs::set_permissions(at(name), Permissions::from_mode(0o600)).unwrap();
            read(&at(name))
        };
        assert_eq!(sized("largest", 1 << 20).unwrap().unwrap().len(), 1 << 20);
        assert!(message(sized("larger", (1 << 20) + 1)).contains("larger than 1 MiB"));
        assert!(message(sized("huge", 1 << 30)).contains("larger than 1 MiB"));

        std::fs::hard_link(at("file"), at("second")).unwrap();
        assert!(message(read(&at("file"))).contains("hard link"));
    }

    #[test]
    fn a_folder_accessible_to_others_and_a_link_to_a_folder_are_refused() {
        // E-04, E-05
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        folder(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        for mode in [0o705, 0o750] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let message = message(folder(&path));
            assert!(message.contains(&format!("(mode {mode:o}); run: chmod 700 ")), "{message}");
        }
        let link = home.path().join("link");
        symlink(home.path().join("a"), &link).unwrap();
        assert!(message(folder(&link)).contains("link"));
        let file = home.path().join("file");
        std::fs::write(&file, "x").unwrap();
        check_folder(&home.path().join("none")).unwrap();
        assert!(message(check_folder(&file)).contains("isn't a folder"));
        assert!(message(check_folder(&file.join("below"))).contains("couldn't inspect"));
    }

    #[test]
    fn removing_succeeds_without_a_file_and_reports_any_other_failure() {
        let home = tempfile::tempdir().unwrap();
        remove(&home.path().join("none")).unwrap();
        assert!(message(remove(home.path())).contains("couldn't remove"));
        assert!(home.path().exists());
    }

    #[test]
    fn a_replaced_file_is_private_and_leaves_no_temporary_file() {
        // E-14
        let home = tempfile::tempdir().unwrap();
        let (path, way) = (home.path().join("a"), home.path().join("b"));
        for text in ["first", "second"] {
            replace(&path, &way, text.as_bytes(), 64).unwrap();
            let content = read(&path).unwrap().unwrap();
            assert_eq!((content.len(), String::from_utf8_lossy(&content).trim_end()), (64, text));
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
