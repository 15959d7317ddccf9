//! Recovery: reads a journal to its end and distinguishes an interrupted write from damage.
//!
//! A crash can leave any subset of the bytes written since the last sync: a torn frame or, with several pages, even a gap followed by complete
//! frames. None of these records was confirmed, so everything from the first bad frame on is cut off. A bad frame in bytes that were synced, however,
//! is damage: records that requests rely on are lost, and cutting them off would return sent batches to `fresh`.
//!
//! The frames tell the two apart. The writer syncs each group of frames before it writes the next one, and each frame records the distance to the
//! start of its group (`unsynced`). Let the first bad frame be at B. If some later valid frame at F has F - `unsynced` > B, the bytes at B were
//! durable before F was written: damage. Otherwise no valid frame shows that a sync followed B, and the tail is cut off. Every confirmed record is
//! then in front of B: its sync covered the whole group, so either B is after that group, or B is inside it and was durable, in which case damage to
//! the last group looks like an interrupted write. That case can't be detected without another sync per group. It causes no duplicates during the
//! lifetime of the keys, since a batch's key depends only on its content.
//!
//! After a process was killed, bytes that were never synced may be readable. Recovery syncs before it returns, so that the records it has passed on
//! stay.

use std::io;

use super::{Record, Storage, frame};
use crate::error::{BulkError, Result};

/// The first bytes of a journal.
pub(super) const HEADER: &[u8] = b"BULKJ1\n";
/// The number of bytes to read at a time.
const CHUNK: usize = 256 * 1024;

/// A record that contradicts the records before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Contradiction(pub(crate) &'static str);

/// A journal with such a record doesn't match the plan.
impl From<Contradiction> for BulkError {
    fn from(contradiction: Contradiction) -> Self {
        Self::PlanChanged(contradiction.to_string())
    }
}

/// The end of the readable records.
pub(super) struct End {
    /// Its offset; 0 if even the header is incomplete.
    offset: u64,
    /// Whether an interrupted write left bytes behind it.
    has_tail: bool,
}

/// Passes the journal's records to `visit` in order, and prepares the storage for appending.
///
/// # Errors
/// The errors of [`scan`].
pub(super) fn recover(
    storage: &mut impl Storage,
    visit: impl FnMut(Record) -> Result<(), Contradiction>,
) -> Result<()> {
    let path = storage.path().to_owned();
    let End { offset, has_tail } = scan(storage, visit)?;
    if offset == 0 {
        return reset(storage).map_err(BulkError::io("write", path));
    }
    if has_tail {
        storage.truncate(offset).map_err(BulkError::io("truncate", &path))?;
    }
    storage.sync().map_err(BulkError::io("sync", path))
}

/// Passes the journal's records to `visit` in order.
///
/// # Errors
///
/// - [`BulkError::JournalDamaged`] if a durable frame is bad, or `visit` reports a contradiction.
/// - [`BulkError::NotRunnable`] if the journal has another version.
/// - [`BulkError::Io`] if the storage fails.
pub(super) fn scan(
    storage: &mut impl Storage,
    mut visit: impl FnMut(Record) -> Result<(), Contradiction>,
) -> Result<End> {
    let path = storage.path().to_owned();
    let reading = |error| BulkError::io("read", &path)(error);
    let damaged = |offset| BulkError::JournalDamaged { path: path.clone(), offset };
    let mut window = Window::new(storage);

    let start = window.peek(HEADER.len() + 1).map_err(reading)?;
    if !start.starts_with(HEADER) {
        if start.len() > HEADER.len() || !could_be_interrupted(start) {
            return Err(match start.strip_prefix(b"BULKJ") {
                Some([b'2'..=b'9', ..]) => BulkError::NotRunnable(format!(
                    "the journal {} was written by a newer version; update this program to resume the job",
                    path.display()
                )),
                _ => damaged(0),
            });
        }
        return Ok(End { offset: 0, has_tail: true });
    }
    window.advance(HEADER.len());

    let end = loop {
        let offset = window.offset();
        let Some(frame) = window.frame().map_err(reading)? else { break offset };
        let len = frame.len();
        let record = Record::decode(frame.kind, frame.payload).ok_or_else(|| damaged(offset))?;
        visit(record).map_err(|Contradiction(_)| damaged(offset))?;
        window.advance(len);
    };

    let mut has_tail = false;
    while !window.peek(1).map_err(reading)?.is_empty() {
        has_tail = true;
        window.advance(1);
        let offset = window.offset();
        if let Some(frame) = window.frame().map_err(reading)?
            && offset.saturating_sub(frame.unsynced.into()) > end
        {
            return Err(damaged(end));
        }
    }
    Ok(End { offset: end, has_tail })
}

/// Returns whether these bytes may result from an interrupted write of the header.
fn could_be_interrupted(start: &[u8]) -> bool {
    start.iter().zip(HEADER).all(|(byte, expected)| *byte == 0 || byte == expected)
}

fn reset(storage: &mut impl Storage) -> io::Result<()> {
    storage.truncate(0)?;
    storage.append(HEADER)?;
    storage.sync()
}

/// A part of the storage, read sequentially. Its memory is limited by the largest frame.
struct Window<'a, S> {
    storage: &'a mut S,
    buffer: Vec<u8>,
    chunk: Box<[u8]>,
    /// The position in the buffer, and the number of bytes read from the storage.
    position: usize,
    read: u64,
    at_end: bool,
}

impl<'a, S: Storage> Window<'a, S> {
    fn new(storage: &'a mut S) -> Self {
        let chunk = vec![0; CHUNK].into();
        Self { storage, buffer: Vec::new(), chunk, position: 0, read: 0, at_end: false }
    }

    /// Returns the position in the storage.
    fn offset(&self) -> u64 {
        self.read - (self.buffer.len() - self.position) as u64
    }

    /// Returns the bytes at the position: at least `len`, fewer only at the end.
    fn peek(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.position < len && !self.at_end {
            self.buffer.drain(..self.position);
            self.position = 0;
            while self.buffer.len() < len && !self.at_end {
                let read = self.storage.read_at(self.read, &mut self.chunk)?;
                self.buffer.extend_from_slice(&self.chunk[..read]);
                self.read += read as u64;
                self.at_end = read == 0;
            }
        }
        Ok(&self.buffer[self.position..])
    }

    /// Returns the valid frame at the position, if there is one.
    fn frame(&mut self) -> io::Result<Option<frame::Frame<'_>>> {
        let Some(len) = frame::frame_len(self.peek(frame::OVERHEAD)?) else { return Ok(None) };
        Ok(frame::parse(self.peek(len)?))
    }

    fn advance(&mut self, len: usize) {
        self.position += len;
    }
}
