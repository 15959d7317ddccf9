//! The store in a file, for machines without a keyring: by explicit choice, readable by its owner alone.
//!
//! The record is replaced by renaming `NAME.next` over `NAME.cred`. When the renewal's mark is written, `.next` is made with room for the next
//! record really on the disk, so that a disk that is full by the time the answer comes loses nothing. Whoever takes the lock
//! and finds a whole `.next` with the next generation of the same login adopts it: its writer died before the rename.

use posthaste::auth::StoreError;

use super::failpoint::point;
use super::kept::{self, Record};
use super::lock::Lock;
use super::place::{Part, Place};
use super::secure::{self, Coming};
use super::spill;

/// Reads the record as it stands.
pub(super) fn look(place: &Place) -> Result<Option<Record>, StoreError> {
    secure::check_folder(place.folder())?;
    let path = place.file(Part::Cred);
    let Some(bytes) = secure::read(&path)? else { return Ok(None) };
    kept::from_file(&bytes).map(Some).map_err(|error| match error {
        StoreError::Unreadable { reason } => {
            StoreError::unreadable(format!("{}: {reason}; it was left as it is", path.display()))
        }
        other => other,
    })
}

/// Reads the record under the lock, after taking in what a writer that died has left.
pub(super) fn read(place: &Place) -> Result<Option<Record>, StoreError> {
    secure::remove_quietly(&place.file(Part::Mark));
    let current = look(place)?;
    let (next, cred) = (place.file(Part::Next), place.file(Part::Cred));
    let Some(current) = current else {
        // Nobody is logged in; what a login that was cut off has left belongs to nobody.
        secure::remove(&next)?;
        return Ok(None);
    };
    if let Some(bytes) = secure::read(&next)? {
        match kept::from_file(&bytes) {
            Ok(found) if found.follows(&current.login, current.kept.generation()) => {
                // It may never have reached the disk.
                let done = std::fs::File::open(&next).and_then(|file| file.sync_all());
                done.map_err(|error| secure::failed("write", &next, error))?;
                secure::rename(&next, &cred)?;
                secure::sync_folder_of(&cred)?;
                spill::remove(place)?;
                return Ok(Some(found));
            }
            _ => secure::remove(&next)?,
        }
    }
    if !current.kept.is_pending() {
        return Ok(Some(current));
    }
    let found = spill::read(place).into_iter().filter_map(|(_, bytes)| kept::from_file(&bytes).ok());
    let found = found.filter(|found| found.follows(&current.login, current.kept.generation()));
    let Some(found) = found.max_by_key(|found| found.kept.generation()) else { return Ok(Some(current)) };
    secure::replace(&cred, &next, &kept::to_file(&found), secure::ROOM)?;
    spill::remove(place)?;
    Ok(Some(found))
}

/// Writes the record, and makes room for the one that comes after it if it announces one.
pub(super) fn write(
    place: &Place,
    lock: &Lock,
    before: Option<&Record>,
    record: &Record,
    coming: &mut Option<Coming>,
) -> Result<(), StoreError> {
    let (next, cred) = (place.file(Part::Next), place.file(Part::Cred));
    let bytes = kept::to_file(record);
    let renewed = before.is_some_and(|before| record.follows(&before.login, before.kept.generation()));
    if renewed {
        let saved = save(place, coming.take(), &bytes);
        return saved.or_else(|error| spill::write(place, &bytes, error));
    }
    lock.still_holds()?;
    let announces = record.kept.is_pending();
    if announces {
        point("C2");
        // Room first: a mark that is written says that a request may have left.
        *coming = None;
        *coming = Some(Coming::reserve(&next, secure::ROOM.max(bytes.len() * 2))?);
    }
    let mark = place.file(Part::Mark);
    let mut file = Coming::reserve(&mark, secure::ROOM)?;
    let written = file.fill(&mark, &bytes).and_then(|()| {
        point(if announces { "C3" } else { "C13" });
        file.sync(&mark)?;
        lock.still_holds()?;
        secure::rename(&mark, &cred)?;
        secure::sync_folder_of(&cred)
    });
    if let Err(error) = written {
        secure::remove_quietly(&mark);
        return Err(error);
    }
    if announces {
        point("C4");
    } else {
        *coming = None;
        secure::remove_quietly(&next);
        spill::remove(place)?;
    }
    Ok(())
}

/// Saves a renewed record: from here on the old one is spent.
fn save(place: &Place, coming: Option<Coming>, bytes: &[u8]) -> Result<(), StoreError> {
    let (next, cred) = (place.file(Part::Next), place.file(Part::Cred));
    let mut file = match coming {
        Some(file) => file,
        None => Coming::reserve(&next, secure::ROOM)?,
    };
    file.fill(&next, bytes)?;
    point("C8");
    file.sync(&next)?;
    point("C10");
    secure::rename(&next, &cred)?;
    point("C11");
    secure::sync_folder_of(&cred)?;
    point("C12");
    Ok(())
}

/// Removes the record and everything around it but the lock.
pub(super) fn remove(place: &Place) -> Result<(), StoreError> {
    // First what could bring the record back.
    secure::remove(&place.file(Part::Next))?;
    spill::remove(place)?;
    point("C13");
    secure::remove(&place.file(Part::Cred))
}
