//! Frames: one record each, with its length and checksum.
//!
//! ```text
//! length u32 | CRC-32 u32 | type u8 | unsynced u32 | payload          (little-endian)
//! ```
//!
//! The length and the checksum cover the type, `unsynced` and the payload. The length is never 0, so a block of zeros, which some file systems leave
//! after a power failure, isn't a frame. `unsynced` is the number of bytes between the last sync and this frame: everything before `offset of the
//! frame - unsynced` was durable before the frame was written (see [`recovery`](super::recovery)).

use super::Record;

/// The length of a frame without its payload.
pub(super) const OVERHEAD: usize = 13;
/// The bytes that the length field doesn't count.
pub(super) const PREFIX: usize = 8;
/// The maximum length of a frame. A batch of 100 emails with one error message each takes a tenth of it.
pub(super) const MAX_FRAME: usize = 1 << 20;

/// A frame whose checksum matches.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) unsynced: u32,
    pub(super) payload: &'a [u8],
}

impl Frame<'_> {
    /// Returns the length of the frame.
    pub(super) fn len(&self) -> usize {
        OVERHEAD + self.payload.len()
    }
}

/// The record exceeds the maximum frame size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record is larger than {MAX_FRAME} bytes")]
pub(super) struct TooLarge;

/// Appends a frame with the record to `group`, the bytes to write after the last sync. On an error, `group` is unchanged.
pub(super) fn push(group: &mut Vec<u8>, record: &Record) -> Result<(), TooLarge> {
    let start = group.len();
    let unsynced = u32::try_from(start).map_err(|_| TooLarge)?;
    group.extend([0; PREFIX]);
    group.push(record.kind());
    group.extend(unsynced.to_le_bytes());
    record.encode(group);
    let len = group.len() - start;
    if len > MAX_FRAME {
        group.truncate(start);
        return Err(TooLarge);
    }
    let crc = crc32fast::hash(&group[start + PREFIX..]);
    let covered = u32::try_from(len - PREFIX).map_err(|_| TooLarge)?;
    group[start..start + 4].copy_from_slice(&covered.to_le_bytes());
    group[start + 4..start + PREFIX].copy_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// Returns the length of the frame that starts with `bytes`, or `None` if no frame can start like this.
pub(super) fn frame_len(bytes: &[u8]) -> Option<usize> {
    let covered = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    (OVERHEAD - PREFIX..=MAX_FRAME - PREFIX).contains(&covered).then_some(covered + PREFIX)
}

/// Returns the frame at the start of `bytes`, or `None` if there is no complete frame with a matching checksum.
pub(super) fn parse(bytes: &[u8]) -> Option<Frame<'_>> {
    let frame = bytes.get(..frame_len(bytes)?)?;
    let (prefix, covered) = frame.split_at_checked(PREFIX)?;
    if prefix[4..] != crc32fast::hash(covered).to_le_bytes() {
        return None;
    }
    let (&kind, rest) = covered.split_first()?;
    let (&unsynced, payload) = rest.split_first_chunk()?;
    Some(Frame { kind, unsynced: u32::from_le_bytes(unsynced), payload })
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::journal::{EmailOutcome, record::tests::any_record};

    proptest! {
        #[test]
        fn a_frame_parses_to_its_record(before in vec(any::<u8>(), 0..50), record in any_record(), after in vec(any::<u8>(), 0..50)) {
            let mut group = before.clone();
            push(&mut group, &record).unwrap();
            let len = group.len() - before.len();
            group.extend(after);
            let frame = parse(&group[before.len()..]).unwrap();
            prop_assert_eq!(frame.len(), len);
            prop_assert_eq!(frame.unsynced as usize, before.len());
            prop_assert_eq!(Record::decode(frame.kind, frame.payload), Some(record));
        }

        #[test]
        fn a_frame_with_one_changed_byte_is_not_valid(record in any_record(), at in any::<prop::sample::Index>(), change in 1_u8..) {
            let mut group = Vec::new();
            push(&mut group, &record).unwrap();
            let at = at.index(group.len());
            group[at] ^= change;
            prop_assert_eq!(parse(&group), None);
        }

        #[test]
        fn parsing_arbitrary_bytes_never_panics(bytes in vec(any::<u8>(), 0..100), len in 0_u32..100) {
            let _ = parse(&bytes);
            let _ = parse(&[&len.to_le_bytes(), bytes.as_slice()].concat());
        }
    }

    #[test]
    fn zeros_are_not_a_frame() {
        assert_eq!(parse(&[0; 4096]), None);
    }

    #[test]
    fn a_frame_has_at_most_1_mib_and_a_larger_record_leaves_the_group_unchanged() {
        // An outcome takes one byte, the batch's index four.
        let record =
            |len| Record::Partial { batch: 0, emails: vec![EmailOutcome::Unknown; len - OVERHEAD - 4] };
        let mut group = b"before".to_vec();
        assert_eq!(push(&mut group, &record(MAX_FRAME + 1)), Err(TooLarge));
        assert_eq!(group, b"before");
        push(&mut group, &record(MAX_FRAME)).unwrap();
        assert_eq!(parse(&group[6..]).map(|frame| frame.len()), Some(1 << 20));
    }

    #[test]
    fn a_length_that_no_frame_has_is_not_announced() {
        let lengths = [0, 4, 5, (1 << 20) - 8, (1 << 20) - 7, u32::MAX];
        let announced = lengths.map(|covered| frame_len(&covered.to_le_bytes()));
        assert_eq!(announced, [None, None, Some(OVERHEAD), Some(MAX_FRAME), None, None]);
    }
}
