//! A read-only file whose writes stay in memory.
//!
//! Opening a database repairs it if possible. This makes it possible to check a file's integrity before anything in it changes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::Mutex;

use redb::StorageBackend;

use idempost_reference_server::lock::lock;

/// The block size of writes.
const BLOCK: usize = 4096;

#[derive(Debug)]
pub(super) struct Overlay(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    /// The length of the file's part that is still visible, and the current length.
    on_disk: u64,
    length: u64,
    written: HashMap<u64, Box<[u8]>>,
}

impl Overlay {
    pub(super) fn from_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self(Mutex::new(Inner { file, on_disk: length, length, written: HashMap::new() })))
    }
}

impl Inner {
    /// Returns the current content of a block.
    fn block(&mut self, number: u64) -> io::Result<Box<[u8]>> {
        if let Some(block) = self.written.get(&number) {
            return Ok(block.clone());
        }
        let mut block = vec![0; BLOCK].into_boxed_slice();
        let start = number * BLOCK as u64;
        let there = usize::try_from(self.on_disk.saturating_sub(start)).unwrap_or(BLOCK).min(BLOCK);
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(&mut block[..there])?;
        Ok(block)
    }

    /// Returns the blocks of a range: each block's number, the range's offset in it, and the length of that part.
    fn blocks(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
        let mut at = offset;
        let end = offset + length as u64;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let number = at / BLOCK as u64;
            let from = usize::try_from(at % BLOCK as u64).unwrap_or_default();
            let many = usize::try_from(end - at).unwrap_or(BLOCK).min(BLOCK - from);
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
        let mut inner = lock(&self.0);
        if offset.saturating_add(out.len() as u64) > inner.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let is_written =
            Inner::blocks(offset, out.len()).any(|(number, ..)| inner.written.contains_key(&number));
        if !is_written && offset + out.len() as u64 <= inner.on_disk {
            inner.file.seek(SeekFrom::Start(offset))?;
            return inner.file.read_exact(out);
        }
        let mut done = 0;
        for (number, from, many) in Inner::blocks(offset, out.len()) {
            let block = inner.block(number)?;
            out[done..done + many].copy_from_slice(&block[from..from + many]);
            done += many;
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut inner = lock(&self.0);
        // Truncated content must not reappear.
        inner.on_disk = inner.on_disk.min(length);
        inner.written.retain(|number, _| number * (BLOCK as u64) < length);
        inner.length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut inner = lock(&self.0);
        let mut done = 0;
        for (number, from, many) in Inner::blocks(offset, data.len()) {
            let mut block = inner.block(number)?;
            block[from..from + many].copy_from_slice(&data[done..done + many]);
            inner.written.insert(number, block);
            done += many;
        }
        inner.length = inner.length.max(offset + data.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn writes_are_read_back_and_never_reach_the_disk() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let before: Vec<u8> = (0..10_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        file.write_all(&before).unwrap();
        let overlay = Overlay::from_file(file.reopen().unwrap()).unwrap();
        let mut expected = before.clone();
        for (offset, data) in [(0, vec![1; 3]), (4_090, vec![2; 20]), (9_990, vec![3; 5_000])] {
            overlay.write(offset as u64, &data).unwrap();
            expected.resize(expected.len().max(offset + data.len()), 0);
            expected[offset..offset + data.len()].copy_from_slice(&data);
        }
        let mut read = vec![0; expected.len()];
        overlay.read(0, &mut read).unwrap();
        assert!(read == expected);
        assert_eq!(overlay.len().unwrap(), expected.len() as u64);
        overlay.set_len(5_000).unwrap();
        overlay.set_len(6_000).unwrap();
        let mut read = vec![9; 1_000];
        overlay.read(5_000, &mut read).unwrap();
        assert!(overlay.read(5_500, &mut [0; 501]).is_err());
        assert_eq!(std::fs::read(file.path()).unwrap(), before);
    }
}
