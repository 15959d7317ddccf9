//! The index of a plan: `plan.idx`.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::{BatchKind, BodyHash, job::JobIndex};
use crate::{
    error::{BulkError, Result},
    files,
    input::Fingerprint,
};

pub(super) const NAME: &str = "plan.idx";
/// The size of an entry, in bytes.
const ENTRY: usize = 32;
/// The bit that marks a single email, next to the count.
const SINGLE: u16 = 1 << 15;

/// A request: 32 bytes, little-endian. The offset of its first row in the input (64 bits), that row's number (48), the number of emails (15), whether
/// it is a single email (1), and the hash of its body (128).
///
/// A batch consists of the plan's next `count` rows that are sent in batches, starting at the offset. Single emails between them are skipped. The
/// hash pins the exact content: a changed attachment, template or program can't send anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) row: u64,
    pub(super) count: u16,
    pub(super) kind: BatchKind,
    pub(super) hash: BodyHash,
}

impl Entry {
    fn to_bytes(self) -> [u8; ENTRY] {
        let kind = if self.kind == BatchKind::Single { SINGLE } else { 0 };
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..14].copy_from_slice(&self.row.to_le_bytes()[..6]);
        bytes[14..16].copy_from_slice(&(self.count | kind).to_le_bytes());
        bytes[16..].copy_from_slice(&self.hash);
        bytes
    }

    fn from_bytes(bytes: [u8; ENTRY]) -> Self {
        let [o0, o1, o2, o3, o4, o5, o6, o7, r0, r1, r2, r3, r4, r5, c0, c1, hash @ ..] = bytes;
        let count = u16::from_le_bytes([c0, c1]);
        Self {
            offset: u64::from_le_bytes([o0, o1, o2, o3, o4, o5, o6, o7]),
            row: u64::from_le_bytes([r0, r1, r2, r3, r4, r5, 0, 0]),
            count: count & !SINGLE,
            kind: if count & SINGLE == 0 { BatchKind::Batch } else { BatchKind::Single },
            hash,
        }
    }
}

/// Writes an index.
pub(super) struct IndexWriter {
    path: PathBuf,
    file: BufWriter<File>,
    hasher: blake3::Hasher,
    entries: u32,
}

impl IndexWriter {
    pub(super) fn create(dir: &Path) -> Result<Self> {
        let path = dir.join(NAME);
        let file = BufWriter::new(files::create(&path)?);
        Ok(Self { path, file, hasher: blake3::Hasher::new(), entries: 0 })
    }

    pub(super) fn push(&mut self, entry: Entry) -> Result<()> {
        let bytes = entry.to_bytes();
        self.hasher.update(&bytes);
        let too_many = || BulkError::NotRunnable("a job must have at most 4,294,967,295 requests".to_owned());
        self.entries = self.entries.checked_add(1).ok_or_else(too_many)?;
        self.file.write_all(&bytes).map_err(BulkError::io("write", &self.path))
    }

    /// Makes the index durable; returns the number of entries and their hash.
    pub(super) fn finish(self) -> Result<(u32, blake3::Hash)> {
        let Self { path, file, hasher, entries } = self;
        let written = file.into_inner().map_err(std::io::IntoInnerError::into_error);
        written.and_then(|file| file.sync_all()).map_err(BulkError::io("write", path))?;
        Ok((entries, hasher.finalize()))
    }
}

/// Checks the length and the hash of an index.
pub(super) fn verify(dir: &Path, expected: &JobIndex) -> Result<()> {
    let path = dir.join(NAME);
    let Fingerprint { size, blake3 } =
        Fingerprint::from_file(files::open(&path)?).map_err(BulkError::io("read", &path))?;
    if size != u64::from(expected.entries) * ENTRY as u64 || blake3 != expected.blake3 {
        return Err(BulkError::PlanChanged(format!("the plan {} is damaged", path.display())));
    }
    Ok(())
}

/// Calls `visit` with all entries in order.
pub(super) fn visit(dir: &Path, entries: u32, mut visit: impl FnMut(u32, Entry)) -> Result<()> {
    let path = dir.join(NAME);
    let reading = |error| BulkError::io("read", &path)(error);
    let mut file = BufReader::new(files::open(&path)?);
    let mut bytes = [0; ENTRY];
    for batch in 0..entries {
        file.read_exact(&mut bytes).map_err(reading)?;
        visit(batch, Entry::from_bytes(bytes));
    }
    Ok(())
}

/// Reads entries. They stay in the file, since a plan of single emails would take 32 bytes of memory per row.
pub(super) struct Index {
    path: PathBuf,
    file: File,
    entries: u32,
}

impl Index {
    pub(super) fn open(dir: &Path, entries: u32) -> Result<Self> {
        let path = dir.join(NAME);
        let file = files::open(&path)?;
        Ok(Self { path, file, entries })
    }

    pub(super) fn get(&mut self, batch: u32) -> Result<Entry> {
        if batch >= self.entries {
            let message = format!("the plan has {} batches; there is no batch {batch}", self.entries);
            return Err(BulkError::PlanChanged(message));
        }
        let mut bytes = [0; ENTRY];
        let read = self.file.seek(SeekFrom::Start(u64::from(batch) * ENTRY as u64));
        let read = read.and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(BulkError::io("read", &self.path))?;
        Ok(Entry::from_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_entry_of_32_bytes_is_read_back_unchanged(offset: u64, row in 0_u64..1 << 48, count in 0_u16..1 << 15, single: bool, hash: [u8; 16]) {
            let kind = if single { BatchKind::Single } else { BatchKind::Batch };
            let entry = Entry { offset, row, count, kind, hash };
            prop_assert_eq!(Entry::from_bytes(entry.to_bytes()), entry);
        }
    }
}
