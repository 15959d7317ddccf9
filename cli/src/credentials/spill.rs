//! The last resort: a renewed record that can't be saved where it belongs, kept in another folder until it can.
//!
//! The old refresh token is spent by then, so anything is better than losing the new one. Whoever takes the lock and finds the mark of a
//! renewal without outcome looks here, and unites what it finds with the login.

use std::path::PathBuf;

use posthaste::auth::StoreError;
use secrecy::zeroize::Zeroizing;

use super::place::Place;
use super::secure::{self, Coming};

/// Writes the bytes to the first folder that takes them; `cause` if none does.
pub(super) fn write(place: &Place, bytes: &[u8], cause: StoreError) -> Result<(), StoreError> {
    for path in place.spills() {
        let Some(folder) = path.parent() else { continue };
        let written = || {
            // The runtime folder is the system's, and never made here.
            if folder.ends_with("posthaste") {
                secure::folder(folder)?;
            }
            let mut file = Coming::reserve(&path, secure::ROOM)?;
            file.fill(&path, bytes)?;
            file.sync(&path)?;
            secure::sync_folder_of(&path)
        };
        if written().is_ok() {
            return Ok(());
        }
        secure::remove_quietly(&path);
    }
    Err(cause)
}

/// What was spilled, with its places. What can't be read is left where it is.
pub(super) fn read(place: &Place) -> Vec<(PathBuf, Zeroizing<Vec<u8>>)> {
    let spills = place.spills().into_iter();
    spills.filter_map(|path| Some((path.clone(), secure::read(&path).ok()??))).collect()
}

/// Removes what was spilled.
pub(super) fn remove(place: &Place) -> Result<(), StoreError> {
    place.spills().iter().try_for_each(|path| secure::remove(path))
}
