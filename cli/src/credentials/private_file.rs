//! The folder for files that only their owner can read or replace, and the files (`idempost::auth::files`).

use std::io::{self, ErrorKind};
use std::path::Path;

use idempost::auth::StoreError;
pub(super) use idempost::auth::files::{
    RESERVED_BYTES, StagedFile, read, remove, remove_quietly, rename, replace, sync, sync_folder_of,
};

use crate::files::if_found;

/// A system error with the operation that failed.
pub(super) fn io_failure(verb: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(format!("couldn't {verb} {}", path.display())).with_source(error)
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
        builder.create(path).map_err(|error| io_failure("create the folder", path, error))?;
    }
    check_folder(path)
}

/// Checks that a folder, if it exists, is accessible only to its owner.
pub(super) fn check_folder(path: &Path) -> Result<(), StoreError> {
    let metadata = if_found(std::fs::symlink_metadata(path));
    let metadata = metadata.map_err(|error| io_failure("inspect", path, error))?;
    let Some(metadata) = metadata else { return Ok(()) };
    if !metadata.is_dir() {
        return Err(rejection(path, "it isn't a folder (links aren't followed)"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        check_owner(path, metadata.uid())?;
        if metadata.mode() & 0o077 != 0 {
            let mode = metadata.mode() & 0o777;
            return Err(rejection(
                path,
                &format!("it is accessible to others (mode {mode:03o}); run: chmod 700 {}", path.display()),
            ));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn check_owner(path: &Path, owner: u32) -> Result<(), StoreError> {
    let me = rustix::process::geteuid().as_raw();
    if owner == me {
        return Ok(());
    }
    Err(rejection(path, &format!("it belongs to user {owner}, not to user {me}")))
}

fn rejection(path: &Path, why: &str) -> StoreError {
    StoreError::invalid_data(format!("refusing to use {}: {why}", path.display()))
}

/// Disables core dumps, since the memory will contain secrets.
pub(super) fn disable_core_dumps() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        // If this isn't allowed, nothing is lost.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
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
}
