//! Segments: sequences of records with their positions.
//!
//! Writing appends segments and never changes existing ones. The last entry for a position applies. An entry consists of the tenant's number, the
//! table's number, the position and the length of the record, all little-endian, followed by the record. [`DELETED`] in place of the length means
//! that there is no record.

use crate::persistence::PersistenceError;

/// The number of bytes before an entry's record.
const HEAD: usize = 17;
const DELETED: u32 = u32::MAX;
/// Higher than any position that a table assigns.
const MAX_POSITION: u64 = 1 << 60;

/// The position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The number of the tenant in the file; [`ALL`](Self::ALL) for records shared by all tenants.
    pub(super) tenant: u32,
    pub(super) table: u8,
    pub(super) position: u64,
}

impl Place {
    pub(super) const ALL: u32 = 0;
}

/// Appends a record.
pub(super) type Write<'a> = &'a dyn Fn(&mut Vec<u8>) -> Result<(), PersistenceError>;

/// A position and its record, or `None` if it is deleted.
type Entry<'a> = (Place, Option<&'a [u8]>);

/// Appends an entry with the record that `write` appends; without `write`, the entry is a deletion. Returns the length of the record.
pub(super) fn append(
    segment: &mut Vec<u8>,
    place: Place,
    write: Option<Write<'_>>,
) -> Result<Option<u32>, PersistenceError> {
    let start = segment.len();
    segment.extend_from_slice(&place.tenant.to_le_bytes());
    segment.push(place.table);
    segment.extend_from_slice(&place.position.to_le_bytes());
    segment.extend_from_slice(&DELETED.to_le_bytes());
    let Some(write) = write else { return Ok(None) };
    write(segment)?;
    let length = u32::try_from(segment.len() - start - HEAD).ok().filter(|length| *length != DELETED);
    let length = length.ok_or_else(|| PersistenceError::Unwritten("it is larger than 4 GiB".to_owned()))?;
    segment[start + HEAD - 4..start + HEAD].copy_from_slice(&length.to_le_bytes());
    Ok(Some(length))
}

/// Reads the entries of a segment.
pub(super) fn read_entries(mut segment: &[u8]) -> impl Iterator<Item = Result<Entry<'_>, PersistenceError>> {
    std::iter::from_fn(move || {
        if segment.is_empty() {
            return None;
        }
        let entry = split(segment);
        segment = entry.map_or(&[], |(_, rest)| rest);
        let invalid = || PersistenceError::Damaged("a record has no valid position or length".to_owned());
        Some(entry.map(|(entry, _)| entry).ok_or_else(invalid))
    })
}

/// Splits off the first entry.
fn split(segment: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (tenant, rest) = segment.split_first_chunk()?;
    let (table, rest) = rest.split_first()?;
    let (position, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let place =
        Place { tenant: u32::from_le_bytes(*tenant), table: *table, position: u64::from_le_bytes(*position) };
    if place.position > MAX_POSITION {
        return None;
    }
    match u32::from_le_bytes(*length) {
        DELETED => Some(((place, None), rest)),
        length => {
            let (record, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some(((place, Some(record)), rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_appended_and_a_cut_one_is_damage() {
        let place = |position| Place { tenant: 7, table: 2, position };
        let write = |segment: &mut Vec<u8>| {
            segment.extend_from_slice(b"record");
            Ok(())
        };
        let mut segment = Vec::new();
        assert_eq!(append(&mut segment, place(1), Some(&write)).unwrap(), Some(6));
        assert_eq!(append(&mut segment, place(MAX_POSITION), None).unwrap(), None);
        let read: Vec<_> = read_entries(&segment).map(Result::unwrap).collect();
        assert_eq!(read, [(place(1), Some(&b"record"[..])), (place(MAX_POSITION), None)]);
        let whole: Vec<usize> =
            (0..segment.len()).filter(|at| read_entries(&segment[..*at]).all(|one| one.is_ok())).collect();
        assert_eq!(whole, [0, HEAD + 6], "only complete entries are read");
    }
}
