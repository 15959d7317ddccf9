//! An in-memory storage for tests. It can fail or crash at a given operation, and shows every state that a crash may leave.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

use super::super::Storage;

/// A disk that outlives the journals on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    durable: Vec<u8>,
    /// The bytes written since the last sync.
    unsynced: Vec<Write>,
    /// The number of operations so far.
    pub(super) operations: usize,
    pub(super) syncs: usize,
    fault: Option<(usize, Fault)>,
    longest_read: Option<usize>,
}

#[derive(Clone, Debug)]
enum Write {
    Append(Vec<u8>),
    Truncate(u64),
}

/// What happens during an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The machine crashes: this operation and all later ones fail.
    Crash,
    /// The disk is full: this operation fails after this number of bytes, and so do all later ones.
    Full(usize),
}

impl Disk {
    /// Creates a disk that contains these bytes.
    pub(super) fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let state = State { durable: bytes.into(), ..State::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Makes the operation with this index fail, and all later operations.
    pub(super) fn fail_at(self, operation: usize, fault: Fault) -> Self {
        self.lock().fault = Some((operation, fault));
        self
    }

    /// Makes each read return at most this many bytes.
    pub(super) fn with_reads_of(self, bytes: usize) -> Self {
        self.lock().longest_read = Some(bytes);
        self
    }

    /// Lets operations succeed again.
    pub(super) fn repair(&self) {
        self.lock().fault = None;
    }

    /// Locks the disk; operations wait until the guard is dropped.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Returns the bytes as a process reads them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let state = self.lock();
        apply_writes(&state.durable, &state.unsynced)
    }

    /// Returns the states that a crash can leave if writes reach the disk in order: the last one is torn at any byte.
    pub(super) fn torn_states(&self) -> Vec<Vec<u8>> {
        let state = self.lock();
        let mut images = vec![state.durable.clone()];
        for (at, write) in state.unsynced.iter().enumerate() {
            let before = apply_writes(&state.durable, &state.unsynced[..at]);
            match write {
                Write::Append(bytes) => {
                    images.extend((1..=bytes.len()).map(|len| [&before, &bytes[..len]].concat()));
                }
                Write::Truncate(_) => images.push(apply_writes(&state.durable, &state.unsynced[..=at])),
            }
        }
        images
    }

    /// Returns the bytes after a crash in which only some pages of the last writes reached the disk. The others are zeros.
    pub(super) fn with_gaps(&self, page: usize, mut reaches: impl FnMut() -> bool) -> Vec<u8> {
        let state = self.lock();
        let mut bytes = apply_writes(&state.durable, &state.unsynced);
        let mut start = state.durable.len();
        while start < bytes.len() {
            let end = bytes.len().min((start / page + 1) * page);
            if !reaches() {
                bytes[start..end].fill(0);
            }
            start = end;
        }
        bytes
    }
}

fn apply_writes(durable: &[u8], writes: &[Write]) -> Vec<u8> {
    let mut bytes = durable.to_vec();
    for write in writes {
        match write {
            Write::Append(more) => bytes.extend(more),
            Write::Truncate(len) => bytes.truncate(usize::try_from(*len).unwrap()),
        }
    }
    bytes
}

impl State {
    /// Counts an operation and returns its fault.
    fn operation(&mut self) -> Option<Fault> {
        let now = self.operations;
        self.operations += 1;
        self.fault.filter(|(at, _)| *at <= now).map(|(_, fault)| fault)
    }
}

fn injected_error(fault: Fault) -> io::Error {
    match fault {
        Fault::Crash => io::Error::other("crashed"),
        Fault::Full(_) => io::ErrorKind::StorageFull.into(),
    }
}

impl Storage for Disk {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes();
        let rest = &bytes[bytes.len().min(usize::try_from(offset).unwrap())..];
        // Reads are short, so that frames are read in parts.
        let len = rest.len().min(buffer.len()).min(self.lock().longest_read.unwrap_or(1_000));
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let fault = state.operation();
        let written = match fault {
            Some(Fault::Full(left)) => {
                // Later writes don't fit either.
                state.fault = state.fault.map(|(at, _)| (at, Fault::Full(0)));
                &bytes[..left.min(bytes.len())]
            }
            _ => bytes,
        };
        state.unsynced.push(Write::Append(written.to_vec()));
        fault.map_or(Ok(()), |fault| Err(injected_error(fault)))
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(fault) = state.operation() {
            return Err(injected_error(fault));
        }
        state.syncs += 1;
        state.durable = apply_writes(&state.durable, &state.unsynced);
        state.unsynced.clear();
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.lock();
        let fault = state.operation();
        state.unsynced.push(Write::Truncate(len));
        fault.map_or(Ok(()), |fault| Err(injected_error(fault)))
    }
}
