//! Row hashes. Those of a large input don't fit into memory, so they are stored in unnamed temporary files.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufWriter, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use crate::error::{BulkError, Result};

/// The number of entries kept in memory: 1.5 MiB.
pub(super) const MAX_IN_MEMORY: usize = 1 << 16;
/// The size of an entry in a file.
const ENTRY: usize = 24;
/// The number of entries per read.
const BLOCK: usize = 170;

/// A hash, and the number associated with it.
pub(super) type Entry = ([u8; 16], u64);

fn write((hash, number): Entry, to: &mut impl io::Write) -> io::Result<()> {
    to.write_all(&hash)?;
    to.write_all(&number.to_le_bytes())
}

/// Reads up to a block of entries from a file, from `first` to the one before `end`.
fn read(mut file: &File, first: usize, end: usize) -> io::Result<Vec<Entry>> {
    let mut bytes = vec![0; (end - first).min(BLOCK) * ENTRY];
    file.seek(SeekFrom::Start((first * ENTRY) as u64))?;
    file.read_exact(&mut bytes)?;
    let entries = bytes.as_chunks::<ENTRY>().0.iter().map(|bytes| {
        let (mut hash, mut number) = ([0; 16], [0; 8]);
        hash.copy_from_slice(&bytes[..16]);
        number.copy_from_slice(&bytes[16..]);
        (hash, u64::from_le_bytes(number))
    });
    Ok(entries.collect())
}

/// Sorts entries. Those that exceed the memory limit are stored in a file, in sorted runs.
#[derive(Debug)]
pub(super) struct Sorter {
    dir: PathBuf,
    recent: Vec<Entry>,
    file: Option<File>,
    /// The number of runs in the file, each of [`MAX_IN_MEMORY`] entries.
    runs: usize,
}

impl Sorter {
    /// Creates a sorter with its file in this folder.
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), recent: Vec::new(), file: None, runs: 0 }
    }

    pub(super) fn push(&mut self, entry: Entry) -> Result<()> {
        self.recent.push(entry);
        if self.recent.len() < MAX_IN_MEMORY {
            return Ok(());
        }
        self.spill().map_err(BulkError::io("write", &self.dir))
    }

    fn spill(&mut self) -> io::Result<()> {
        self.recent.sort_unstable();
        let file = self.file.take().map_or_else(|| tempfile::tempfile_in(&self.dir), Ok)?;
        let mut writer = BufWriter::new(file);
        self.recent.drain(..).try_for_each(|entry| write(entry, &mut writer))?;
        self.file = Some(writer.into_inner()?);
        self.runs += 1;
        Ok(())
    }

    /// Visits all entries in ascending order.
    pub(super) fn finish(mut self, mut visit: impl FnMut(Entry) -> Result<()>) -> Result<()> {
        self.recent.sort_unstable();
        let Some(file) = &self.file else { return self.recent.into_iter().try_for_each(visit) };
        let reading = |error| BulkError::io("read", &self.dir)(error);
        // For each run, the entries read so far, and the unread range in the file. The last run is in memory.
        let in_file =
            (0..self.runs).map(|run| (vec![].into_iter(), run * MAX_IN_MEMORY, (run + 1) * MAX_IN_MEMORY));
        let mut runs: Vec<_> = in_file.chain([(self.recent.into_iter(), 0, 0)]).collect();
        let mut next = |run: usize| {
            let (entries, from, end) = &mut runs[run];
            if entries.len() == 0 && from < end {
                *entries = read(file, *from, *end).map_err(reading)?.into_iter();
                *from += entries.len();
            }
            Ok::<_, BulkError>(entries.next().map(|entry| Reverse((entry, run))))
        };
        let mut heap = BinaryHeap::new();
        for run in 0..=self.runs {
            heap.extend(next(run)?);
        }
        while let Some(Reverse((entry, run))) = heap.pop() {
            visit(entry)?;
            heap.extend(next(run)?);
        }
        Ok(())
    }
}

/// Sorted entries in a file, one per hash.
#[derive(Debug)]
pub(super) struct Lookup {
    dir: PathBuf,
    file: File,
    len: usize,
    /// The first hash of each block.
    blocks: Vec<[u8; 16]>,
}

impl Lookup {
    /// Keeps each hash's entry with the lowest number, and visits it.
    pub(super) fn new(sorter: Sorter, mut visit: impl FnMut(Entry)) -> Result<Self> {
        let dir = sorter.dir.clone();
        let writing = |error| BulkError::io("write", &dir)(error);
        let mut writer = BufWriter::new(tempfile::tempfile_in(&dir).map_err(writing)?);
        let (mut last, mut len, mut blocks) = (None, 0, Vec::new());
        sorter.finish(|entry| {
            if last.replace(entry.0) == Some(entry.0) {
                return Ok(());
            }
            if len % BLOCK == 0 {
                blocks.push(entry.0);
            }
            len += 1;
            visit(entry);
            write(entry, &mut writer).map_err(writing)
        })?;
        let file = writer.into_inner().map_err(|error| writing(error.into_error()))?;
        Ok(Self { dir, file, len, blocks })
    }

    /// Returns a hash's position and number.
    pub(super) fn find(&self, hash: &[u8; 16]) -> Result<Option<(usize, u64)>> {
        let after = self.blocks.partition_point(|first| first <= hash);
        let Some(first) = after.checked_sub(1).map(|block| block * BLOCK) else { return Ok(None) };
        let entries = read(&self.file, first, self.len).map_err(BulkError::io("read", &self.dir))?;
        let found = entries.binary_search_by_key(hash, |(hash, _)| *hash).ok();
        Ok(found.map(|at| (first + at, entries[at].1)))
    }
}

/// A set of small numbers, as one bit for each up to the highest.
#[derive(Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number, and returns whether it is new.
    pub(super) fn insert(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plan::address_hash;

    #[test]
    fn entries_beyond_the_memory_are_sorted_and_found_by_hash() {
        let dir = tempfile::tempdir().unwrap();
        let of = |number: u64| address_hash(&number.to_string());
        for count in [0, 1, 1_000, 2 * MAX_IN_MEMORY as u64, 2 * MAX_IN_MEMORY as u64 + 500] {
            let mut sorter = Sorter::new(dir.path());
            // Every hash twice, the higher number first.
            for number in (0..count).rev() {
                sorter.push((of(number / 2), number)).unwrap();
                assert!(sorter.recent.len() < MAX_IN_MEMORY);
            }
            let mut kept = Vec::new();
            let lookup = Lookup::new(sorter, |entry| kept.push(entry)).unwrap();
            assert!(kept.is_sorted() && kept.len() as u64 == count.div_ceil(2));
            for (place, (hash, number)) in kept.iter().enumerate().step_by(97) {
                assert_eq!(lookup.find(hash).unwrap(), Some((place, *number)));
                assert_eq!(*hash, of(number / 2));
            }
            assert_eq!(lookup.find(&of(count)).unwrap(), None);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "the files have no names");
        }
    }

    #[test]
    fn a_set_of_numbers_has_those_that_were_added() {
        let mut bits = Bits::default();
        assert!(bits.insert(67) && bits.insert(0) && !bits.insert(67));
        let found: Vec<usize> = (0..200).filter(|number| bits.contains(*number)).collect();
        assert_eq!(found, [0, 67]);
    }
}
