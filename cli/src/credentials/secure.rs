//! Files that nobody but their owner reads or replaces: checked before they are read, made with mode 0600, replaced as a whole.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::Path;

use posthaste::auth::StoreError;
use secrecy::zeroize::Zeroizing;

/// What a record's file takes on the disk, at the least: its length says nothing of the tokens' lengths, and room that was there once is there again.
pub(super) const ROOM: usize = 16 * 1024;
/// Above this it is no file of ours.
const MOST_BYTES: u64 = 1024 * 1024;

/// An error of the system, with what was tried.
pub(super) fn failed(verb: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(format!("cannot {verb} {}", path.display())).caused_by(error)
}

/// Makes a folder (0700) if there is none, and checks that it is one, and its owner's alone.
pub(super) fn folder(path: &Path) -> Result<(), StoreError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if let Err(error) = std::fs::symlink_metadata(path)
        && error.kind() == ErrorKind::NotFound
    {
        builder.create(path).map_err(|error| failed("make the folder", path, error))?;
    }
    check_folder(path)
}

/// Checks that a folder is one, and its owner's alone. None there is fine.
pub(super) fn check_folder(path: &Path) -> Result<(), StoreError> {
    let facts = match std::fs::symlink_metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("look at", path, error)),
    };
    if !facts.is_dir() {
        return Err(refused(path, "it is not a folder (a link to one is not taken)"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        owned(path, facts.uid())?;
        if facts.mode() & 0o077 != 0 {
            let mode = facts.mode() & 0o777;
            return Err(refused(
                path,
                &format!("others may use it (mode {mode:03o}); run: chmod 700 {}", path.display()),
            ));
        }
    }
    Ok(())
}

/// Reads a file as a whole; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true);
    let Some(mut file) = open(&options, path)? else { return Ok(None) };
    check(&file, path)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(ROOM));
    io::Read::by_ref(&mut file)
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed("read", path, error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(refused(path, "it is larger than 1 MiB"));
    }
    Ok(Some(bytes))
}

/// A file that is open, checked, made if it was not there: for a lock.
pub(super) fn open_or_make(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = open(&options, path)?.ok_or_else(|| {
        failed("make", path, io::Error::new(ErrorKind::NotFound, "its folder is not there"))
    })?;
    check(&file, path)?;
    Ok(file)
}

fn open(options: &OpenOptions, path: &Path) -> Result<Option<File>, StoreError> {
    let mut options = options.clone();
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // A link is not followed, and a pipe without a writer doesn't hang.
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    match options.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Err(refused(path, "it is a link, and a link is not followed here"))
        }
        Err(error) => Err(failed("open", path, error)),
    }
}

/// What an open file must be.
fn check(file: &File, path: &Path) -> Result<(), StoreError> {
    let facts = file.metadata().map_err(|error| failed("look at", path, error))?;
    if !facts.is_file() {
        return Err(refused(path, "it is not a file"));
    }
    if facts.len() > MOST_BYTES {
        return Err(refused(path, "it is larger than 1 MiB"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        owned(path, facts.uid())?;
        if facts.nlink() > 1 {
            return Err(refused(path, "it has a second name (a hard link)"));
        }
        if facts.mode() & 0o077 != 0 {
            let mode = facts.mode() & 0o777;
            return Err(refused(
                path,
                &format!("others may use it (mode {mode:03o}); run: chmod 600 {}", path.display()),
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
    Err(refused(path, &format!("it belongs to user {owner}, and this is user {me}")))
}

fn refused(path: &Path, why: &str) -> StoreError {
    StoreError::unreadable(format!("{} is not used: {why}", path.display()))
}

/// A file on its way to replace another one: its room is on the disk before there is anything to write into it.
#[derive(Debug)]
pub(super) struct Coming {
    file: File,
    room: usize,
}

impl Coming {
    /// Makes the file anew and fills it with spaces.
    pub(super) fn reserve(path: &Path, room: usize) -> Result<Self, StoreError> {
        let failed = |error| failed("make", path, error);
        remove_quietly(path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed());
        }
        let mut file = options.open(path).map_err(failed)?;
        // Whatever the mask of the process takes away, the owner must be able to read it again.
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

    /// Brings what was written to the disk.
    pub(super) fn sync(&self, path: &Path) -> Result<(), StoreError> {
        self.file.sync_all().map_err(|error| failed("write", path, error))
    }
}

/// Gives a file another name, in place of what has that name.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    std::fs::rename(from, to).map_err(|error| failed("replace", to, error))
}

/// Makes the names in a file's folder last.
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

/// Replaces a small file as a whole, durably, by way of another name.
pub(super) fn replace(path: &Path, by_way_of: &Path, bytes: &[u8], room: usize) -> Result<(), StoreError> {
    let mut coming = Coming::reserve(by_way_of, room)?;
    let done = coming.fill(by_way_of, bytes).and_then(|()| coming.sync(by_way_of));
    if let Err(error) = done.and_then(|()| rename(by_way_of, path)) {
        remove_quietly(by_way_of);
        return Err(error);
    }
    sync_folder_of(path)
}

/// From here on a crash leaves no image of the memory, where secrets are now.
pub(super) fn no_core() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        // Where it isn't allowed, nothing is worse than it was.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
}

/// Removes a file, durably; none there is fine.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_folder_of(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("remove", path, error)),
    }
}

/// Removes what is of no use any more; it does no harm where it stays.
pub(super) fn remove_quietly(path: &Path) {
    let _ = std::fs::remove_file(path);
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn said<T>(result: Result<T, StoreError>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn only_a_file_of_ones_own_is_read() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        assert!(said(read(&at("file"))).contains("chmod 600"));
        std::fs::set_permissions(at("file"), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&at("file")).unwrap().unwrap().as_slice(), b"x");
        assert!(read(&at("none")).unwrap().is_none());

        symlink(at("file"), at("link")).unwrap();
        symlink(at("none"), at("dangling")).unwrap();
        for link in ["link", "dangling"] {
            assert!(said(read(&at(link))).contains("is a link"), "{link}");
            assert!(said(open_or_make(&at(link))).contains("is a link"), "{link}");
        }
        std::fs::create_dir(at("folder")).unwrap();
        assert!(!said(read(&at("folder"))).is_empty());
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(said(read(&at("pipe"))).contains("not a file"));
        assert!(!said(read(Path::new("/dev/null"))).is_empty());

        std::fs::File::create(at("huge")).unwrap().set_len(1 << 30).unwrap();
        std::fs::set_permissions(at("huge"), Permissions::from_mode(0o600)).unwrap();
        assert!(said(read(&at("huge"))).contains("larger than 1 MiB"));

        std::fs::hard_link(at("file"), at("second")).unwrap();
        assert!(said(read(&at("file"))).contains("hard link"));
    }

    #[test]
    fn a_folder_of_others_or_a_link_to_one_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        folder(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        assert!(said(folder(&path)).contains("chmod 700"));
        let link = home.path().join("link");
        symlink(home.path().join("a"), &link).unwrap();
        assert!(said(folder(&link)).contains("link"));
    }

    #[test]
    fn what_replaces_a_file_is_its_owners_alone_and_leaves_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        let (path, way) = (home.path().join("a"), home.path().join("b"));
        for text in ["first", "second"] {
            replace(&path, &way, text.as_bytes(), 64).unwrap();
            let kept = read(&path).unwrap().unwrap();
            assert_eq!((kept.len(), String::from_utf8_lossy(&kept).trim_end()), (64, text));
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
