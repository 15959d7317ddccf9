//! The database file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use redb::backends::FileBackend;
use redb::{
    Builder, CommitError, Database, DatabaseError, Durability, ReadableDatabase as _, ReadableTable as _,
    StorageError, TableDefinition, TableError, TransactionError,
};

use crate::persistence::PersistenceError;
use crate::persistence::batch::Batch;
use crate::persistence::overlay::Overlay;

/// The format that this version writes: since 4 each OAuth grant is a record.
const FORMAT: u64 = 4;
/// The oldest format that this version reads.
const OLDEST_FORMAT: u64 = 3;
/// The timeout for opening a folder that is in use, and the delay between two attempts.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// The size of the database's cache, in bytes; the records themselves are in memory anyway.
const CACHE: usize = 16 << 20;
/// By name.
const METADATA: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("about");
/// By tenant, table and position.
const RECORDS: TableDefinition<'_, (&str, u8, u64), &[u8]> = TableDefinition::new("records");

#[derive(Debug)]
pub(super) struct Store {
    database: Database,
    _lock: File,
}

impl Store {
    /// Opens or creates the file of a folder. A folder in use is retried for [`LOCK_TIMEOUT`]: an exiting process releases its locks with a
    /// delay, and a forked child holds those of its parent until it calls `exec`.
    pub(super) fn open(folder: &Path) -> Result<Self, PersistenceError> {
        let started = Instant::now();
        loop {
            match Self::try_open(folder) {
                Err(PersistenceError::InUse) if started.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                opened => return opened,
            }
        }
    }

    fn try_open(folder: &Path) -> Result<Self, PersistenceError> {
        // The database has a lock of its own. This one is held already while the file is checked.
        let lock = open(&folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(PersistenceError::InUse),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let path = folder.join("sandbox.redb");
        let fresh = !path.try_exists()? || std::fs::metadata(&path)?.len() == 0;
        if !fresh {
            check(&path)?;
        }
        let backend = FileBackend::new(open(&path)?)?;
        let database = Builder::new().set_cache_size(CACHE).create_with_backend(backend)?;
        let store = Self { database, _lock: lock };
        match store.metadata("format")? {
            Some(format) => {
                let found = format.try_into().map(u64::from_be_bytes);
                let found =
                    found.map_err(|_| PersistenceError::Damaged("it has no format version".to_owned()))?;
                if found > FORMAT {
                    return Err(PersistenceError::Newer { found, known: FORMAT });
                }
                if found < OLDEST_FORMAT {
                    return Err(PersistenceError::Older { found, known: FORMAT });
                }
            }
            None if fresh => store.set_metadata("format", &FORMAT.to_be_bytes())?,
            None => {
                // Stopped before the first write, or a foreign database.
                if !store.is_empty()? {
                    return Err(PersistenceError::Damaged("it has no format version".to_owned()));
                }
                store.set_metadata("format", &FORMAT.to_be_bytes())?;
            }
        }
        Ok(store)
    }

    fn is_empty(&self) -> Result<bool, PersistenceError> {
        Ok(self.database.begin_read()?.list_tables()?.next().is_none())
    }

    /// The value of a key.
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

    /// Visits every record, by tenant, table and position.
    pub(super) fn records(
        &self,
        mut show: impl FnMut(&str, u8, u64, &[u8]) -> Result<(), PersistenceError>,
    ) -> Result<(), PersistenceError> {
        let reading = self.database.begin_read()?;
        let table = match reading.open_table(RECORDS) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(()),
            table => table?,
        };
        for record in table.iter()? {
            let (key, value) = record?;
            let (tenant, table, position) = key.value();
            show(tenant, table, position, value.value())?;
        }
        Ok(())
    }

    /// Writes changes atomically.
    pub(super) fn write(&self, batch: &Batch) -> Result<(), PersistenceError> {
        let mut writing = self.database.begin_write()?;
        writing
            .set_durability(Durability::Immediate)
            .map_err(|error| PersistenceError::Unwritten(error.to_string()))?;
        {
            let mut records = writing.open_table(RECORDS)?;
            for tenant in &batch.gone {
                let tenant = tenant.as_str();
                records.retain_in((tenant, 0, 0)..=(tenant, u8::MAX, u64::MAX), |_, _| false)?;
            }
            for (tenant, table) in &batch.emptied {
                let tenant = tenant.as_str();
                records.retain_in((tenant, *table, 0)..=(tenant, *table, u64::MAX), |_, _| false)?;
            }
            for ((tenant, table, position), record) in &batch.records {
                let key = (tenant.as_str(), *table, *position);
                match record {
                    Some(record) => drop(records.insert(key, record.encode()?.as_slice())?),
                    None => drop(records.remove(key)?),
                }
            }
            let mut metadata = writing.open_table(METADATA)?;
            // The first write of a run includes the logins, and converts the file to this format.
            metadata.insert("format", FORMAT.to_be_bytes().as_slice())?;
            if let Some(logins) = &batch.logins {
                metadata.insert("logins", logins.encode()?.as_slice())?;
            }
            if let Some(clock) = &batch.clock {
                metadata.insert("clock", clock.as_slice())?;
            }
        }
        Ok(writing.commit()?)
    }
}

/// Checks the integrity of a file without changing it. After a crash it is intact: its last transaction is complete.
fn check(path: &Path) -> Result<(), PersistenceError> {
    let overlay = Overlay::over(File::open(path)?)?;
    // Damage may also cause a panic in the crate.
    let looked = catch_unwind(AssertUnwindSafe(|| -> Result<bool, PersistenceError> {
        let mut database = Builder::new().set_cache_size(CACHE).create_with_backend(overlay)?;
        Ok(database.check_integrity()?)
    }));
    match looked {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(PersistenceError::Damaged("a checksum doesn't match".to_owned())),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(PersistenceError::Damaged("the database can't be read".to_owned())),
    }
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
            // The crate's error for files of another type.
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

impl From<TableError> for PersistenceError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<TransactionError> for PersistenceError {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Storage(error) => error.into(),
            other => Self::Unwritten(other.to_string()),
        }
    }
}

impl From<CommitError> for PersistenceError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Storage(error) => error.into(),
            other => Self::Unwritten(other.to_string()),
        }
    }
}
