//! Private files, and a disk whose steps fail or end the process.

use std::{
    cell::Cell,
    io::{self, ErrorKind},
    path::PathBuf,
};

/// The fault at the next disk steps of this thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::auth::store) enum Fault {
    None,
    /// The process ends before the step with this index.
    EndsAt(usize),
    /// The disk is full from the step with this index on.
    FullFrom(usize),
}

thread_local! {
    static FAULT: Cell<(Fault, usize)> = const { Cell::new((Fault::None, 0)) };
}

/// Sets this thread's fault. Returns the number of steps since the last call.
pub(in crate::auth::store) fn set_fault(fault: Fault) -> usize {
    FAULT.replace((fault, 0)).1
}

pub(super) fn step() -> io::Result<()> {
    let (fault, taken) = FAULT.get();
    FAULT.set((fault, taken + 1));
    match fault {
        // Unwinding closes the files and does nothing else, as the system does for a process that ends.
        Fault::EndsAt(at) if at == taken => std::panic::resume_unwind(Box::new("ended")),
        Fault::FullFrom(at) if at <= taken => Err(ErrorKind::StorageFull.into()),
        _ => Ok(()),
    }
}

/// A new folder (mode 0700), removed when it is dropped.
pub(in crate::auth::store) struct Folder(PathBuf);

impl Folder {
    pub(in crate::auth::store) fn new() -> Self {
        let path =
            std::env::temp_dir().join(format!("idempost-store-{}", crate::types::IdempotencyKey::random()));
        super::create_folder_of(&path.join("file")).unwrap();
        Self(path)
    }

    pub(in crate::auth::store) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(in crate::auth::store) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
mod unix {
    use std::{
        fs::Permissions,
        os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
        path::Path,
    };

    use super::{super::*, *};

    fn message<T>(result: Result<T, StoreError>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn only_a_private_regular_file_is_read() {
        // E-01, E-04, E-05
        let home = Folder::new();
        let at = |name: &str| home.join(name);
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
            assert!(message(FileLock::try_take(&at(link))).contains("is a link"), "{link}");
        }
        std::fs::create_dir(at("folder")).unwrap();
        assert!(message(read(&at("folder"))).contains("isn't a regular file"));
        let made = std::process::Command::new("mkfifo").arg("-m600").arg(at("pipe")).status();
        assert!(made.unwrap().success());
        assert!(message(read(&at("pipe"))).contains("isn't a regular file"));
        assert!(!message(read(Path::new("/dev/null"))).is_empty());
        assert!(message(read(&at("file/below"))).contains("couldn't open"));
        let me = std::fs::metadata(at("file")).unwrap().uid();
        assert_eq!(effective_user().unwrap(), me);
        assert!(message(check_owner(&at("file"), me + 1)).contains(&format!("belongs to user {}", me + 1)));

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
    fn a_folder_that_others_can_write_to_is_rejected_and_a_missing_one_is_private() {
        // E-04
        let home = Folder::new();
        let path = home.join("a/b/file");
        create_folder_of(&path).unwrap();
        let folder = path.parent().unwrap();
        assert_eq!(std::fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        for (mode, advice) in [
            (0o755, None),
            (0o770, Some("run: chmod go-w ")),
            (0o702, Some("run: chmod go-w ")),
            // Like /tmp, which must stay writable.
            (0o1777, Some("use a private folder")),
        ] {
            std::fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
            let message = message(create_folder_of(&path));
            let expected = advice.map_or(String::new(), |advice| format!("(mode {mode:o}); {advice}"));
            assert_eq!(message.is_empty(), advice.is_none(), "{message}");
            assert!(message.contains(&expected), "{message}");
        }
    }

    #[test]
    fn removing_succeeds_without_a_file_and_reports_any_other_failure() {
        let home = Folder::new();
        remove(&home.join("none")).unwrap();
        assert!(message(remove(&home.join("."))).contains("couldn't remove"));
        assert!(home.join(".").exists());
    }

    #[test]
    fn a_replaced_file_is_private_and_leaves_no_temporary_file() {
        // E-14
        let home = Folder::new();
        let (path, way) = (home.join("a"), home.join("b"));
        for text in ["first", "second"] {
            replace(&path, &way, text.as_bytes(), 64).unwrap();
            let content = read(&path).unwrap().unwrap();
            assert_eq!((content.len(), String::from_utf8_lossy(&content).trim_end()), (64, text));
        }
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(home.names(), ["a"]);
    }
}
