//! The database file.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use redb::backends::FileBackend;
use redb::{
    Builder, CommitError, Database, DatabaseError, Durability, ReadableDatabase as _, ReadableTable as _,
    StorageError, Table, TableDefinition, TableError, TransactionError,
};

use crate::persistence::PersistenceError;
use crate::persistence::batch::Batch;
use crate::persistence::index::Index;
use crate::persistence::overlay::Overlay;
use crate::persistence::segment::{self, Place, Write};
use idempost_reference_server::lock::lock;

/// The file format that this version reads and writes. Since format 5, records are in segments; since 6, the fields that were
/// added during 5 are required; since 7, idempotency keys are a table.
const FORMAT: u64 = 7;
/// How long to retry opening a folder that is in use.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// The size of the database's cache, in bytes; the records themselves are in memory anyway.
const CACHE: usize = 4 << 20;
/// The usual size of a segment, in bytes: with its key and page header, just below a power of two, the size of a page.
const SEGMENT: usize = (256 << 10) - 64;
/// The bytes that compaction copies per write, in addition to the write's own size.
const SLICE: usize = 1 << 20;
/// The maximum number of threads that read records at startup.
const MAX_THREADS: usize = 4;
/// Metadata by name.
const METADATA: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");
/// Each tenant's name and the number of its last use, by its number in the segments.
const TENANTS: TableDefinition<'_, u32, (&str, u64)> = TableDefinition::new("tenants");
/// Segments by number.
const SEGMENTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("segments");

#[derive(Debug)]
pub(super) struct Store {
    database: Database,
    index: Index,
    _lock: File,
}

/// The records of a tenant in a segment, by table.
pub(super) type Records<'a> = BTreeMap<u8, Vec<(u64, &'a [u8])>>;

impl Store {
    /// Opens or creates the file in a folder. If the folder is in use, retries for [`LOCK_TIMEOUT`]: an exiting process releases its locks with a
    /// delay, and a forked child holds its parent's locks until it calls `exec`.
    pub(super) fn open(folder: &Path) -> Result<Self, PersistenceError> {
        let started = Instant::now();
        loop {
            match Self::try_open(folder) {
                Err(PersistenceError::InUse) if started.elapsed() < LOCK_TIMEOUT => {
                    thread::sleep(LOCK_PAUSE);
                }
                opened => return opened,
            }
        }
    }

    fn try_open(folder: &Path) -> Result<Self, PersistenceError> {
        // The database has its own lock; this one also covers the check of the file.
        let lock_file = open(&folder.join("lock"))?;
        match lock_file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(PersistenceError::InUse),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let path = folder.join("sandbox.redb");
        let fresh = !path.try_exists()? || std::fs::metadata(&path)?.len() == 0;
        let index = if fresh { Ok(Index::default()) } else { check(&path)? };
        let backend = FileBackend::new(open(&path)?)?;
        let database = Builder::new().set_cache_size(CACHE).create_with_backend(backend)?;
        let mut store = Self { database, index: Index::default(), _lock: lock_file };
        match store.metadata("format")? {
            Some(format) => {
                let found = format.try_into().map(u64::from_be_bytes);
                let found =
                    found.map_err(|_| PersistenceError::Damaged("it has no format version".to_owned()))?;
                if found > FORMAT {
                    return Err(PersistenceError::Newer { found, known: FORMAT });
                }
                if found < FORMAT {
                    return Err(PersistenceError::Older { found, known: FORMAT });
                }
            }
            // The process was stopped before the first write; another program's database isn't empty.
            None if fresh || store.is_empty()? => store.set_metadata("format", &FORMAT.to_be_bytes())?,
            None => return Err(PersistenceError::Damaged("it has no format version".to_owned())),
        }
        store.index = index?;
        Ok(store)
    }

    fn is_empty(&self) -> Result<bool, PersistenceError> {
        Ok(self.database.begin_read()?.list_tables()?.next().is_none())
    }

    /// Returns the value of a key.
    pub(super) fn metadata(&self, name: &str) -> Result<Option<Vec<u8>>, PersistenceError> {
        let reading = self.database.begin_read()?;
        let table = match reading.open_table(METADATA) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        Ok(table.get(name)?.map(|value| value.value().to_vec()))
    }

    pub(super) fn set_metadata(&self, name: &str, value: &[u8]) -> Result<(), PersistenceError> {
        let writing = self.database.begin_write()?;
        writing.open_table(METADATA)?.insert(name, value)?;
        Ok(writing.commit()?)
    }

    /// Returns each tenant's name and the number of its last use, by its number.
    pub(super) fn tenants(&self) -> Result<BTreeMap<u32, (String, u64)>, PersistenceError> {
        read_tenants(&self.database)
    }

    /// Returns the highest number of a tenant with records when the file was opened, even if the tenant was deleted.
    pub(super) fn last_tenant(&self) -> u32 {
        self.index.last_tenant
    }

    /// Visits every record, grouped by segment and tenant, on several threads. A table's records aren't ordered by position.
    pub(super) fn records(
        &self,
        show: impl Fn(u32, Records<'_>) -> Result<(), PersistenceError> + Sync,
    ) -> Result<(), PersistenceError> {
        let remaining = Mutex::new(self.index.segments_in_use());
        let next = || lock(&remaining).pop();
        let read = || -> Result<(), PersistenceError> {
            let Some(mut number) = next() else { return Ok(()) };
            let table = self.database.begin_read()?.open_table(SEGMENTS)?;
            loop {
                if let Some(bytes) = table.get(number)? {
                    self.visit_records(number, bytes.value(), &show)?;
                }
                let Some(following) = next() else { return Ok(()) };
                number = following;
            }
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(read)).collect();
            let own = read();
            others.into_iter().fold(own, |all, other| {
                all.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })
        })
    }

    fn visit_records(
        &self,
        number: u32,
        bytes: &[u8],
        show: &impl Fn(u32, Records<'_>) -> Result<(), PersistenceError>,
    ) -> Result<(), PersistenceError> {
        let mut groups: BTreeMap<u32, Records<'_>> = BTreeMap::new();
        for entry in segment::read_entries(bytes) {
            let (place, record) = entry?;
            if let Some(record) = record
                && self.index.segment(place) == Some(number)
            {
                let tables = groups.entry(place.tenant).or_default();
                tables.entry(place.table).or_default().push((place.position, record));
            }
        }
        groups.into_iter().try_for_each(|(tenant, records)| show(tenant, records))
    }

    /// Writes changes atomically, and compacts a slice of older segments.
    pub(super) fn write(&mut self, batch: &Batch) -> Result<(), PersistenceError> {
        let mut writing = self.database.begin_write()?;
        writing
            .set_durability(Durability::Immediate)
            .map_err(|error| PersistenceError::Unwritten(error.to_string()))?;
        let (added, changed, removed);
        {
            let mut tenants = writing.open_table(TENANTS)?;
            for tenant in &batch.gone {
                tenants.remove(tenant)?;
            }
            for (number, (name, last_used)) in &batch.tenants {
                tenants.insert(number, (name.as_str(), *last_used))?;
            }
            let mut table = writing.open_table(SEGMENTS)?;
            let mut appender = Appender::new(&mut table, self.index.last_segment());
            for (tenant, number) in &batch.emptied {
                for position in self.index.positions(*tenant, *number) {
                    let place = Place { tenant: *tenant, table: *number, position };
                    if !batch.records.contains_key(&place) {
                        appender.append(place, None)?;
                    }
                }
            }
            for (place, record) in &batch.records {
                match record {
                    Some(record) => appender.append(*place, Some(record))?,
                    // Most deleted records were never written, such as jobs that ran immediately.
                    None if self.index.segment(*place).is_some() => appender.append(*place, None)?,
                    None => {}
                }
            }
            removed = self.index.to_compact(SLICE.max(appender.bytes_written()));
            for (number, segment) in &removed {
                let bytes = appender.table.remove(number)?.filter(|_| segment.used > 0);
                // A copy, since the table is written to.
                let bytes = bytes.map(|bytes| bytes.value().to_vec()).unwrap_or_default();
                for entry in segment::read_entries(&bytes) {
                    let (place, record) = entry?;
                    if let Some(record) = record
                        && self.index.segment(place) == Some(*number)
                        && !batch.replaces(place)
                    {
                        appender.append(
                            place,
                            Some(&|segment| {
                                segment.extend_from_slice(record);
                                Ok(())
                            }),
                        )?;
                    }
                }
            }
            (added, changed) = appender.finish()?;
            let mut metadata = writing.open_table(METADATA)?;
            if let Some(logins) = &batch.logins {
                let mut encoded = Vec::new();
                logins(&mut encoded)?;
                metadata.insert("logins", encoded.as_slice())?;
            }
            if let Some(clock) = &batch.clock {
                metadata.insert("clock", clock.as_slice())?;
            }
        }
        writing.commit()?;
        for tenant in &batch.gone {
            self.index.remove_tenant(*tenant);
        }
        for (number, bytes) in added {
            self.index.add_segment(number, bytes);
        }
        for (place, found) in changed {
            self.index.set(place, found);
        }
        for (number, _) in removed {
            self.index.remove_segment(number);
        }
        Ok(())
    }
}

fn read_tenants(database: &Database) -> Result<BTreeMap<u32, (String, u64)>, PersistenceError> {
    let reading = database.begin_read()?;
    let table = match reading.open_table(TENANTS) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(BTreeMap::new()),
        table => table?,
    };
    let mut tenants = BTreeMap::new();
    for tenant in table.iter()? {
        let (number, value) = tenant?;
        let (name, last_used) = value.value();
        tenants.insert(number.value(), (name.to_owned(), last_used));
    }
    Ok(tenants)
}

fn read_index(database: &Database) -> Result<Index, PersistenceError> {
    let (tenants, mut index) = (read_tenants(database)?, Index::default());
    let reading = database.begin_read()?;
    let table = match reading.open_table(SEGMENTS) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(index),
        table => table?,
    };
    for segment in table.iter()? {
        let (number, bytes) = segment?;
        let (number, bytes) = (number.value(), bytes.value());
        index.add_segment(number, bytes.len());
        for entry in segment::read_entries(bytes) {
            let (place, record) = entry?;
            index.last_tenant = index.last_tenant.max(place.tenant);
            if index.segment(place) == Some(number) {
                return Err(PersistenceError::Damaged("a write contains a record twice".to_owned()));
            }
            if place.tenant == Place::ALL || tenants.contains_key(&place.tenant) {
                index.set(place, record.map(|record| (number, length(record))));
            }
        }
    }
    Ok(index)
}

fn length(record: &[u8]) -> u32 {
    u32::try_from(record.len()).unwrap_or(u32::MAX)
}

/// The segment and the length of each changed record; `None` if it was deleted.
type Changed = Vec<(Place, Option<(u32, u32)>)>;

/// Appends entries to new segments.
struct Appender<'a, 't> {
    table: &'a mut Table<'t, u32, &'static [u8]>,
    /// The number of the last segment, and the size of each added one.
    last: u32,
    added: Vec<(u32, usize)>,
    changed: Changed,
    /// The entries of the next segment.
    buffer: Vec<u8>,
}

impl<'a, 't> Appender<'a, 't> {
    fn new(table: &'a mut Table<'t, u32, &'static [u8]>, last: u32) -> Self {
        Self { table, last, added: Vec::new(), changed: Vec::new(), buffer: Vec::new() }
    }

    fn append(&mut self, place: Place, write: Option<Write<'_>>) -> Result<(), PersistenceError> {
        let start = self.buffer.len();
        let length = segment::append(&mut self.buffer, place, write)?;
        if start > 0 && self.buffer.len() > SEGMENT {
            self.add_segment(start)?;
        }
        let segment = self.next()?;
        self.changed.push((place, length.map(|length| (segment, length))));
        Ok(())
    }

    fn next(&self) -> Result<u32, PersistenceError> {
        let full = || PersistenceError::Unwritten("the file has no free segment number".to_owned());
        self.last.checked_add(1).ok_or_else(full)
    }

    /// Adds a segment with the first `length` bytes of the buffer.
    fn add_segment(&mut self, length: usize) -> Result<(), PersistenceError> {
        self.last = self.next()?;
        self.table.insert(self.last, &self.buffer[..length])?;
        self.added.push((self.last, length));
        self.buffer.drain(..length);
        Ok(())
    }

    fn bytes_written(&self) -> usize {
        self.added.iter().map(|(_, bytes)| bytes).sum::<usize>() + self.buffer.len()
    }

    /// Adds the last segment. Returns the added segments and the positions of their records.
    fn finish(mut self) -> Result<(Vec<(u32, usize)>, Changed), PersistenceError> {
        if !self.buffer.is_empty() {
            self.add_segment(self.buffer.len())?;
        }
        Ok((self.added, self.changed))
    }
}

/// Checks a file's integrity without changing it. After a crash, the file is intact: its last transaction is complete. Another thread reads the index
/// in the meantime, which can fail if the file has another format.
fn check(path: &Path) -> Result<Result<Index, PersistenceError>, PersistenceError> {
    let open = || -> Result<Database, PersistenceError> {
        let overlay = Overlay::from_file(File::open(path)?)?;
        Ok(Builder::new().set_cache_size(CACHE).create_with_backend(overlay)?)
    };
    thread::scope(|scope| {
        let index = scope.spawn(|| catch_panic(|| read_index(&open()?)));
        if !catch_panic(|| Ok(open()?.check_integrity()?))? {
            return Err(PersistenceError::Damaged("a checksum doesn't match".to_owned()));
        }
        Ok(index.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

thread_local! {
    static CATCHES_PANIC: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is treated as damage of a file. A panic hook should not report it.
pub fn catches_panic() -> bool {
    CATCHES_PANIC.get()
}

/// Runs `read`, treating a panic as damage: the database crate may panic on a damaged file.
fn catch_panic<T>(read: impl FnOnce() -> Result<T, PersistenceError>) -> Result<T, PersistenceError> {
    let unreadable = |_| Err(PersistenceError::Damaged("the database can't be read".to_owned()));
    CATCHES_PANIC.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    CATCHES_PANIC.set(false);
    read.unwrap_or_else(unreadable)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl From<DatabaseError> for PersistenceError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => Self::InUse,
            DatabaseError::Storage(error) => error.into(),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<StorageError> for PersistenceError {
    fn from(error: StorageError) -> Self {
        match error {
            // The error that the crate returns for files of another type.
            StorageError::Io(error)
                if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
            {
                Self::Damaged(error.to_string())
            }
            StorageError::Io(error) => Self::System(error),
            StorageError::Corrupted(what) => Self::Damaged(what),
            other => Self::Unwritten(other.to_string()),
        }
    }
}

/// Converts errors that either are storage errors or have another meaning.
macro_rules! from_errors {
    ($($error:ident => $otherwise:ident;)*) => {
        $(impl From<$error> for PersistenceError {
            fn from(error: $error) -> Self {
                match error {
                    $error::Storage(error) => error.into(),
                    other => Self::$otherwise(other.to_string()),
                }
            }
        })*
    };
}

from_errors! {
    TableError => Damaged;
    TransactionError => Unwritten;
    CommitError => Unwritten;
}
