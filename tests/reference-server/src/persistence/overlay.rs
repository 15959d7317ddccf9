//! A read-only file with writes in memory.
//!
//! Opening a database repairs it if possible. The integrity of a file must be known before anything in it changes, so it is first opened
//! this way.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::Mutex;

use redb::StorageBackend;

use crate::lock::lock;

/// The block size of writes.
const PIECE: usize = 4096;

#[derive(Debug)]
pub(super) struct Overlay(Mutex<Behind>);

#[derive(Debug)]
struct Behind {
    file: File,
    /// The length of the part of the file that is still visible, and the current length.
    on_disk: u64,
    length: u64,
    written: HashMap<u64, Box<[u8]>>,
}

impl Overlay {
    pub(super) fn over(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self(Mutex::new(Behind { file, on_disk: length, length, written: HashMap::new() })))
    }
}

impl Behind {
    /// The current content of a block.
    fn piece(&mut self, number: u64) -> io::Result<Box<[u8]>> {
        if let Some(piece) = self.written.get(&number) {
            return Ok(piece.clone());
        }
        let mut piece = vec![0; PIECE].into_boxed_slice();
        let start = number * PIECE as u64;
        let there = usize::try_from(self.on_disk.saturating_sub(start)).unwrap_or(PIECE).min(PIECE);
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(&mut piece[..there])?;
        Ok(piece)
    }

    /// The blocks of a range: the number of each, the offset of the range in it, and the length of the part.
    fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
        let mut at = offset;
        let end = offset + length as u64;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let number = at / PIECE as u64;
            let from = usize::try_from(at % PIECE as u64).unwrap_or_default();
            let many = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE - from);
            at += many as u64;
            Some((number, from, many))
        })
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0).length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut behind = lock(&self.0);
        if offset.saturating_add(out.len() as u64) > behind.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        for (number, from, many) in Behind::pieces(offset, out.len()) {
            let piece = behind.piece(number)?;
            out[done..done + many].copy_from_slice(&piece[from..from + many]);
            done += many;
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut behind = lock(&self.0);
        // Truncated content must not reappear.
        behind.on_disk = behind.on_disk.min(length);
        behind.written.retain(|number, _| number * (PIECE as u64) < length);
        behind.length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut behind = lock(&self.0);
        let mut done = 0;
        for (number, from, many) in Behind::pieces(offset, data.len()) {
            let mut piece = behind.piece(number)?;
            piece[from..from + many].copy_from_slice(&data[done..done + many]);
            behind.written.insert(number, piece);
            done += many;
        }
        behind.length = behind.length.max(offset + data.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_never_on_disk() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let before: Vec<u8> = (0..10_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        file.write_all(&before).unwrap();
        let glass = Overlay::over(file.reopen().unwrap()).unwrap();
        let mut expected = before.clone();
        for (offset, data) in [(0, vec![1; 3]), (4_090, vec![2; 20]), (9_990, vec![3; 5_000])] {
            glass.write(offset as u64, &data).unwrap();
            expected.resize(expected.len().max(offset + data.len()), 0);
            expected[offset..offset + data.len()].copy_from_slice(&data);
        }
        let mut read = vec![0; expected.len()];
        glass.read(0, &mut read).unwrap();
        assert!(read == expected);
        assert_eq!(glass.len().unwrap(), expected.len() as u64);
        glass.set_len(5_000).unwrap();
        glass.set_len(6_000).unwrap();
        let mut read = vec![9; 1_000];
        glass.read(5_000, &mut read).unwrap();
        assert!(glass.read(5_500, &mut [0; 501]).is_err());
        assert_eq!(std::fs::read(file.path()).unwrap(), before);
    }
}
