//! Reads a damaged journal: finds every readable record, and determines how much each lost range may have contained.
//!
//! # What a lost range may have contained
//!
//! A range whose bytes were changed in place contained at most as many records as fit into it. If bytes are missing, it may have contained any
//! number. Bytes were certainly only changed if the lengths in the bad frames lead exactly to the next valid frame, or if the range includes more
//! consecutive zeros than any record has: that is a block that was never written or was overwritten.

use super::{Record, frame, recovery::HEADER};
use crate::error::{BulkError, Result};

/// The length of the frame of an [`Record::Intent`].
const INTENT: usize = frame::OVERHEAD + 30;
/// The length of the frame of a [`Record::Split`], and of a [`Record::NotSent`].
const SPLIT: usize = frame::OVERHEAD + 4;
/// More consecutive zeros than valid frames contain. A [`Record::Finished`] has the most.
const ZEROS: usize = 40;

/// A part of a damaged journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// A readable record.
    Record(Record),
    /// A range without readable records.
    Lost(Lost),
}

/// A range of a journal that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// The maximum number of intents in the range; `None` if there may have been any number.
    pub(crate) intents: Option<u64>,
    /// Whether a batch may have been split in the range.
    pub(crate) splits: bool,
}

/// Visits the pieces of a journal in order.
///
/// # Errors
/// [`BulkError::NotRunnable`] if the journal has another version, or the error of `visit`.
pub(crate) fn read(journal: &[u8], mut visit: impl FnMut(Piece) -> Result<()>) -> Result<()> {
    let mut at = if journal.starts_with(HEADER) { HEADER.len() } else { 0 };
    if matches!(journal, [b'B', b'U', b'L', b'K', b'J', b'2'..=b'9', b'\n', ..]) {
        let message = "the journal was written by a newer version; update this program to salvage it";
        return Err(BulkError::NotRunnable(message.to_owned()));
    }
    while at < journal.len() {
        if at > 0
            && let Some((record, len)) = parse_record(&journal[at..])
        {
            visit(Piece::Record(record))?;
            at += len;
            continue;
        }
        let end = (at + 1..journal.len()).find(|at| parse_record(&journal[*at..]).is_some());
        let end = end.unwrap_or(journal.len());
        let range = &journal[at..end];
        visit(match with_length(range) {
            Some(record) => Piece::Record(record),
            None if at == 0 && end == HEADER.len() => Piece::Lost(lost_range(at, range, Some(Vec::new()))),
            None => Piece::Lost(lost_range(at, range, lengths(range))),
        })?;
        at = end;
    }
    Ok(())
}

/// Returns the record at the start of `bytes`, and its length.
fn parse_record(bytes: &[u8]) -> Option<(Record, usize)> {
    let frame = frame::parse(bytes)?;
    Some((Record::decode(frame.kind, frame.payload)?, frame.len()))
}

/// Returns the record in this range if only its frame's length was changed.
fn with_length(range: &[u8]) -> Option<Record> {
    let covered = u32::try_from(range.len().checked_sub(frame::PREFIX)?).ok()?;
    let mut frame = range.to_vec();
    frame[..4].copy_from_slice(&covered.to_le_bytes());
    parse_record(&frame).map(|(record, _)| record)
}

/// Returns the lengths of a range's bad frames, if they fill it exactly.
fn lengths(mut range: &[u8]) -> Option<Vec<usize>> {
    let mut lengths = Vec::new();
    while !range.is_empty() {
        // A valid frame with an unknown record can mean anything.
        let len = frame::frame_len(range).filter(|_| frame::parse(range).is_none())?;
        range = range.get(len..)?;
        lengths.push(len);
    }
    Some(lengths)
}

fn lost_range(offset: usize, range: &[u8], lengths: Option<Vec<usize>>) -> Lost {
    let (intents, splits) = if let Some(lengths) = lengths {
        let count = |wanted| lengths.iter().filter(|len| **len == wanted).count();
        (Some(count(INTENT)), count(SPLIT) > 0)
    } else {
        let is_in_place = range.windows(ZEROS).any(|bytes| bytes == [0; ZEROS]);
        (is_in_place.then_some(range.len() / INTENT), true)
    };
    Lost { offset: offset as u64, bytes: range.len() as u64, intents: intents.map(|n| n as u64), splits }
}

/// Appends a record to a journal that becomes durable as a whole or not at all.
///
/// # Errors
/// [`BulkError::NotRunnable`] if the record exceeds the maximum frame size.
pub(crate) fn write(journal: &mut Vec<u8>, record: &Record) -> Result<()> {
    if journal.is_empty() {
        journal.extend(HEADER);
    }
    let mut group = Vec::new();
    frame::push(&mut group, record).map_err(|error| BulkError::NotRunnable(error.to_string()))?;
    journal.extend(group);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counts::Counts,
        journal::{Job, SentId, UnixMillis},
    };

    fn records() -> Vec<Record> {
        let intent =
            |batch| Record::Intent { batch, emails: 1, at: UnixMillis(1_700_000_000_000), hash: [7; 16] };
        vec![
            Record::Job(Job { id: "3f9a1c2b7d4e-1".into(), started: UnixMillis(1_700_000_000_000) }),
            intent(0),
            intent(1),
            Record::Result { batch: 0, ids: vec![SentId::Text("em_1".into())] },
            Record::Split { batch: 1 },
            Record::NotSent { batch: 2 },
            Record::Attempt { batch: 1, at: UnixMillis(1_700_000_000_000) },
            Record::Finished(Counts::default()),
        ]
    }

    /// Returns a journal of these records, and each record's offset.
    fn journal(records: &[Record]) -> (Vec<u8>, Vec<usize>) {
        let (mut journal, mut offsets) = (HEADER.to_vec(), Vec::new());
        for record in records {
            offsets.push(journal.len());
            write(&mut journal, record).unwrap();
        }
        (journal, offsets)
    }

    fn pieces(journal: &[u8]) -> (Vec<Record>, Vec<Lost>) {
        let (mut records, mut lost) = (Vec::new(), Vec::new());
        read(journal, |piece| {
            match piece {
                Piece::Record(record) => records.push(record),
                Piece::Lost(range) => lost.push(range),
            }
            Ok(())
        })
        .unwrap();
        (records, lost)
    }

    #[test]
    fn one_changed_bit_loses_at_most_its_record() {
        let records = records();
        let (journal, offsets) = journal(&records);
        assert_eq!(pieces(&journal), (records.clone(), Vec::new()));
        for bit in 0..8 * journal.len() {
            let mut damaged = journal.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if damaged.starts_with(b"BULKJ") && (b'2'..=b'9').contains(&damaged[5]) {
                continue;
            }
            let (left, lost) = pieces(&damaged);
            let hit = offsets.iter().rposition(|offset| *offset <= bit / 8);
            let Some(hit) = hit else {
                assert_eq!(left, records);
                assert_eq!(lost, [Lost { offset: 0, bytes: 7, intents: Some(0), splits: false }]);
                continue;
            };
            // A changed length is corrected.
            if bit / 8 < offsets[hit] + 4 {
                assert_eq!((left, lost), (records.clone(), Vec::new()), "{bit}");
                continue;
            }
            let mut expected = records.clone();
            let record = expected.remove(hit);
            assert_eq!(left, expected, "{bit}");
            let [lost] = lost[..] else { panic!("{bit}: {lost:?}") };
            assert_eq!(lost.offset, offsets[hit] as u64);
            assert_eq!(lost.intents, Some(u64::from(matches!(record, Record::Intent { .. }))), "{bit}");
            let is_short = matches!(record, Record::Split { .. } | Record::NotSent { .. });
            assert_eq!(lost.splits, is_short, "{bit}");
        }
    }

    #[test]
    fn a_block_of_zeros_has_held_what_fits_and_missing_bytes_anything() {
        let (journal, offsets) = journal(&records());
        let mut zeroed = journal.clone();
        zeroed[offsets[1] + 3..offsets[3] + 3].fill(0);
        let (left, lost) = pieces(&zeroed);
        assert_eq!(left.len(), 5);
        let bytes = (offsets[4] - offsets[1]) as u64;
        assert_eq!(
            lost,
            [Lost { offset: offsets[1] as u64, bytes, intents: Some(bytes / 43), splits: true }]
        );
        let cut = [&journal[..offsets[1] + 12], &journal[offsets[3] + 12..]].concat();
        let (left, lost) = pieces(&cut);
        assert_eq!((left.len(), lost.len()), (5, 1));
        assert_eq!((lost[0].intents, lost[0].splits), (None, true));
        let (left, lost) = pieces(&journal[..offsets[3] + 3]);
        assert_eq!((left.len(), lost[0].intents), (3, None));
    }

    #[test]
    fn a_journal_of_a_newer_version_is_rejected() {
        assert!(read(b"BULKJ2\n", |_| Ok(())).is_err());
    }
}
