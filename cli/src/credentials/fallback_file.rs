//! The last resort: a refreshed record that can't be saved to its store is saved in another folder.
//!
//! The old refresh token is already used, so the new one must not be lost. The next holder of the lock that finds a pending refresh looks here
//! and adopts the record.

use std::path::PathBuf;

use idempost::auth::StoreError;
use secrecy::zeroize::Zeroizing;

use super::place::Place;
use super::private_file::{self, StagedFile};

/// Writes the bytes to the first writable folder; returns `cause` if there is none.
pub(super) fn write(place: &Place, bytes: &[u8], cause: StoreError) -> Result<(), StoreError> {
    for path in place.fallback_files() {
        let Some(folder) = path.parent() else { continue };
        let written = || {
            // The runtime folder is created by the system only.
            if folder.ends_with("idempost") {
                private_file::folder(folder)?;
            }
            let mut file = StagedFile::reserve(&path, private_file::RESERVED_BYTES)?;
            file.fill(&path, bytes)?;
            file.sync(&path)?;
            private_file::sync_folder_of(&path)
        };
        if written().is_ok() {
            return Ok(());
        }
        private_file::remove_quietly(&path);
    }
    Err(cause)
}

/// The fallback files with their paths. Ignores unreadable ones.
pub(super) fn read(place: &Place) -> Vec<(PathBuf, Zeroizing<Vec<u8>>)> {
    let fallback_files = place.fallback_files().into_iter();
    fallback_files.filter_map(|path| Some((path.clone(), private_file::read(&path).ok()??))).collect()
}

/// Removes the fallback files.
pub(super) fn remove(place: &Place) -> Result<(), StoreError> {
    place.fallback_files().iter().try_for_each(|path| private_file::remove(path))
}
