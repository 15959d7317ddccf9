//! The file store, for machines without a keyring: only by explicit choice, readable only by its owner.
//!
//! The record is replaced by renaming `NAME.next` over `NAME.cred`. When a refresh is marked as pending, `.next` is created with disk space for
//! the next record already allocated, so that a disk that is full when the response arrives loses nothing. A holder of the lock
//! that finds a complete `.next` with the next generation of the same login adopts it: its writer died before the rename.

use idempost::auth::StoreError;
use idempost::auth::files::FileLock;

use super::failpoint::point;
use super::fallback_file;
use super::place::{FileKind, Place};
use super::private_file::{self, StagedFile};
use super::stored::{self, Record};

/// Reads the record without the lock.
pub(super) fn peek(place: &Place) -> Result<Option<Record>, StoreError> {
    private_file::check_folder(place.folder())?;
    let path = place.file(FileKind::Cred);
    let Some(bytes) = private_file::read(&path)? else { return Ok(None) };
    stored::from_file(&bytes).map(Some).map_err(|error| match error {
        StoreError::Unreadable { reason } => {
            StoreError::unreadable(format!("{}: {reason}; the file is unchanged", path.display()))
        }
        other => other,
    })
}

/// Reads the record under the lock, after recovering the leftovers of a dead writer.
pub(super) fn read(place: &Place) -> Result<Option<Record>, StoreError> {
    private_file::remove_quietly(&place.file(FileKind::Temporary));
    let current = peek(place)?;
    let (next, cred) = (place.file(FileKind::Next), place.file(FileKind::Cred));
    let Some(current) = current else {
        // Not logged in; leftovers of an interrupted login are discarded.
        private_file::remove(&next)?;
        return Ok(None);
    };
    if let Some(bytes) = private_file::read(&next)? {
        match stored::from_file(&bytes) {
            Ok(found) if found.follows(&current.login, current.credential.generation()) => {
                // It may never have been synced to disk.
                private_file::sync(&next)?;
                private_file::rename(&next, &cred)?;
                private_file::sync_folder_of(&cred)?;
                fallback_file::remove(place)?;
                return Ok(Some(found));
            }
            _ => private_file::remove(&next)?,
        }
    }
    if !current.credential.is_pending() {
        return Ok(Some(current));
    }
    let found =
        fallback_file::read(place).into_iter().filter_map(|(_, bytes)| stored::from_file(&bytes).ok());
    let found = found.filter(|found| found.follows(&current.login, current.credential.generation()));
    let Some(found) = found.max_by_key(|found| found.credential.generation()) else {
        return Ok(Some(current));
    };
    private_file::replace(&cred, &next, &stored::to_file(&found), private_file::RESERVED_BYTES)?;
    fallback_file::remove(place)?;
    Ok(Some(found))
}

/// Writes the record, and reserves space for the next one if a refresh is pending.
pub(super) fn write(
    place: &Place,
    lock: &FileLock,
    before: Option<&Record>,
    record: &Record,
    staged: &mut Option<StagedFile>,
) -> Result<(), StoreError> {
    let (next, cred) = (place.file(FileKind::Next), place.file(FileKind::Cred));
    let bytes = stored::to_file(record);
    let renewed = before.is_some_and(|before| record.follows(&before.login, before.credential.generation()));
    if renewed {
        let saved = save(place, staged.take(), &bytes);
        return saved.or_else(|error| fallback_file::write(place, &bytes, error));
    }
    lock.still_holds()?;
    let announces = record.credential.is_pending();
    if announces {
        point("C2");
        // Reserves space first: once the refresh is marked as pending, a request may have been sent.
        *staged = None;
        *staged = Some(StagedFile::reserve(&next, private_file::RESERVED_BYTES.max(bytes.len() * 2))?);
    }
    let mark = place.file(FileKind::Temporary);
    let mut file = StagedFile::reserve(&mark, private_file::RESERVED_BYTES)?;
    let written = file.fill(&mark, &bytes).and_then(|()| {
        point(if announces { "C3" } else { "C13" });
        file.sync(&mark)?;
        lock.still_holds()?;
        private_file::rename(&mark, &cred)?;
        private_file::sync_folder_of(&cred)
    });
    if let Err(error) = written {
        private_file::remove_quietly(&mark);
        return Err(error);
    }
    if announces {
        point("C4");
    } else {
        *staged = None;
        private_file::remove_quietly(&next);
        fallback_file::remove(place)?;
    }
    Ok(())
}

/// Saves a refreshed record; the old one is then useless.
fn save(place: &Place, staged: Option<StagedFile>, bytes: &[u8]) -> Result<(), StoreError> {
    let (next, cred) = (place.file(FileKind::Next), place.file(FileKind::Cred));
    let mut file = match staged {
        Some(file) => file,
        None => StagedFile::reserve(&next, private_file::RESERVED_BYTES)?,
    };
    file.fill(&next, bytes)?;
    point("C8");
    file.sync(&next)?;
    point("C10");
    private_file::rename(&next, &cred)?;
    point("C11");
    private_file::sync_folder_of(&cred)?;
    point("C12");
    Ok(())
}

/// Removes the record and all its files except the lock.
pub(super) fn remove(place: &Place) -> Result<(), StoreError> {
    // First the files that could restore the record.
    private_file::remove(&place.file(FileKind::Next))?;
    fallback_file::remove(place)?;
    point("C13");
    private_file::remove(&place.file(FileKind::Cred))
}
