//! A file store, for all processes of one user on one machine.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use secrecy::zeroize::Zeroizing;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::{
    contract::{LockedStore, TokenStore},
    files::{self, FileLock, RESERVED_BYTES, StagedFile},
};
use crate::{auth::record::TokenRecord, error::StoreError, transport::BoxFuture};

/// The initial and the maximum polling interval for the lock.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(250));

/// Stores a login in a file that only its owner can read, for all processes of one user on one machine. Clones share it.
///
/// The record is replaced atomically and durably. Next to the file are `FILE.lock`, which is never removed, `FILE.tmp` during a write, and
/// `FILE.next` during a refresh: its disk space is reserved before the request is sent, so that a full disk loses no token. If a process
/// ends between writing `FILE.next` and renaming it, the next holder of the lock completes the refresh.
///
/// A damaged file is rejected, and so is a file that others can read, that belongs to another user or that is a link: none of these counts as "no
/// login". On Unix, files have mode 0600, and a missing folder is created with mode 0700; on other systems, the folder must be private. The folder
/// must be on a local disk: on a network file system, other machines may not see the lock.
///
/// ```no_run
/// # async fn example() -> idempost::Result<()> {
/// use idempost::{Client, auth::{FileStore, Session}};
///
/// let session = Session::open(FileStore::new("/var/lib/shop/login"));
/// let client = Client::builder().base_url("https://api.example.com").session(session).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FileStore {
    path: PathBuf,
}

impl FileStore {
    /// Creates a store in this file. Nothing is read or written yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn sibling_path(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    /// An empty path would name no file, but the lock `.lock` in the current folder.
    fn check_path(&self) -> Result<(), StoreError> {
        if self.path.as_os_str().is_empty() {
            return Err(StoreError::unavailable("the path of the login file is empty"));
        }
        Ok(())
    }

    fn read_file(&self) -> Result<Option<TokenRecord>, StoreError> {
        self.check_path()?;
        let bytes = files::read(&self.path)?;
        bytes.map(|bytes| decode(&self.path, &bytes)).transpose()
    }

    /// Takes the lock, unless `canceled` becomes true first.
    fn take(&self, timeout: Duration, canceled: impl Fn() -> bool) -> Result<Locked, StoreError> {
        self.check_path()?;
        files::create_folder_of(&self.path)?;
        let path = self.sibling_path(".lock");
        let started = Instant::now();
        let mut pause = BACKOFF.0;
        loop {
            if let Some(mut lock) = FileLock::try_take(&path)? {
                lock.sign(&format!("process {}", std::process::id()));
                return Ok(Locked { store: self.clone(), staged: None, lock });
            }
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() || canceled() {
                // On Windows, a locked file can't be read.
                let holder = fs::read_to_string(&path).ok().filter(|holder| !holder.is_empty());
                return Err(StoreError::Busy {
                    holder: holder.or_else(|| Some("another process".to_owned())),
                });
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(BACKOFF.1);
        }
    }
}

/// Serializes a record, preceded by its hash to detect damage.
fn encode(record: &TokenRecord) -> Zeroizing<Vec<u8>> {
    let json = Zeroizing::new(record.to_json());
    let mut bytes = Zeroizing::new(Vec::with_capacity(json.len() + 66));
    bytes.extend_from_slice(hash_hex(&json).as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(&json);
    bytes
}

fn decode(path: &Path, bytes: &[u8]) -> Result<TokenRecord, StoreError> {
    let damaged =
        |why: &str| StoreError::invalid_data(format!("{}: {why}; the file is unchanged", path.display()));
    let text = bytes.trim_ascii_end();
    let (hashed, json) = text.split_at_checked(64).ok_or_else(|| damaged("it is damaged"))?;
    match json.split_first() {
        Some((b'\n', json)) if hash_hex(json).as_bytes() == hashed => {
            TokenRecord::from_json(json).map_err(|error| match error {
                StoreError::Unreadable { reason } => damaged(&reason),
                other => other,
            })
        }
        _ => Err(damaged("it is damaged")),
    }
}

fn hash_hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// A locked store. Its operations block.
#[derive(Debug)]
struct Locked {
    store: FileStore,
    /// Reserved space for the record that follows the pending refresh.
    staged: Option<StagedFile>,
    lock: FileLock,
}

/// Returns whether `next` can result from the refresh that `record` announces.
fn is_successor(record: &TokenRecord, next: &TokenRecord) -> bool {
    record.generation.checked_add(1) == Some(next.generation)
        && (&record.origin, &record.client_id) == (&next.origin, &next.client_id)
}

impl Locked {
    /// Reads the record, after completing a refresh that an ended process left unfinished.
    fn read(&mut self) -> Result<Option<TokenRecord>, StoreError> {
        let current = self.store.read_file()?;
        if self.staged.is_some() {
            return Ok(current);
        }
        let next = self.store.sibling_path(".next");
        files::remove_quietly(&self.store.sibling_path(".tmp"));
        let Some(bytes) = files::read(&next)? else { return Ok(current) };
        let found = decode(&next, &bytes).ok();
        let adopted = current.as_ref().zip(found).and_then(|(current, found)| {
            (current.pending.is_some() && is_successor(current, &found)).then_some(found)
        });
        let Some(adopted) = adopted else {
            files::remove(&next)?;
            return Ok(current);
        };
        // It may never have been synced to disk.
        files::sync(&next)?;
        self.rename(&next)?;
        Ok(Some(adopted))
    }

    fn write(&mut self, record: &TokenRecord) -> Result<(), StoreError> {
        let bytes = encode(record);
        let (next, temporary) = (self.store.sibling_path(".next"), self.store.sibling_path(".tmp"));
        // A new login can replace an unreadable record.
        let before = self.store.read_file().ok().flatten();
        let staged = self.staged.take();
        if before.is_some_and(|before| is_successor(&before, record)) {
            // The old token has been used up, so the record is saved even if the lock was lost.
            let is_written = |found: Zeroizing<Vec<u8>>| found.trim_ascii_end() == bytes.as_slice();
            if staged.is_none() && files::read(&next).ok().flatten().is_some_and(is_written) {
                // An earlier attempt couldn't rename it. Until it is renamed, it is the only copy on the disk.
                files::sync(&next)?;
                return self.rename(&next);
            }
            let mut staged = match staged {
                Some(staged) => staged,
                None => StagedFile::reserve(&next, RESERVED_BYTES)?,
            };
            staged.fill(&next, &bytes)?;
            staged.sync(&next)?;
            return self.rename(&next);
        }
        self.lock.verify_held()?;
        // Remove it before the record to which it might seem to be the successor.
        files::remove(&next)?;
        let reserved = if record.pending.is_some() && record.ended.is_none() {
            Some(StagedFile::reserve(&next, RESERVED_BYTES.max(bytes.len() * 2))?)
        } else {
            None
        };
        files::replace(&self.store.path, &temporary, &bytes, RESERVED_BYTES)?;
        self.staged = reserved;
        Ok(())
    }

    fn rename(&self, from: &Path) -> Result<(), StoreError> {
        files::rename(from, &self.store.path)?;
        files::sync_folder_of(&self.store.path)
    }

    fn remove(&mut self) -> Result<(), StoreError> {
        self.staged = None;
        // Start with the file from which the record could be completed.
        files::remove(&self.store.sibling_path(".next"))?;
        files::remove(&self.store.path)
    }
}

impl TokenStore for FileStore {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        let store = self.clone();
        Box::pin(run_blocking(move |_| store.read_file()))
    }

    fn lock(&self, timeout: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>> {
        let store = self.clone();
        Box::pin(async move {
            let locked = run_blocking(move |canceled| store.take(timeout, canceled)).await?;
            Ok(Box::new(Guard(Some(locked))) as _)
        })
    }
}

/// The locked store, unless an operation is running on its thread. If the operation's future is dropped, the operation still finishes and then
/// releases the lock.
struct Guard(Option<Locked>);

impl Guard {
    async fn with_locked<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Locked) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let interrupted = || StoreError::unavailable("a previous operation on the store was interrupted");
        let mut locked = self.0.take().ok_or_else(interrupted)?;
        let (locked, result) = run_blocking(move |_| {
            let result = work(&mut locked);
            Ok((locked, result))
        })
        .await?;
        self.0 = Some(locked);
        result
    }
}

impl LockedStore for Guard {
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(self.with_locked(Locked::read))
    }

    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        let record = record.clone();
        Box::pin(self.with_locked(move |locked| locked.write(&record)))
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.with_locked(Locked::remove))
    }
}

/// Runs a blocking operation on a separate thread, which continues even if a runtime shuts down. The operation can check whether its caller is gone.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (done, result) = oneshot::channel();
    let run = move || {
        let worked = work(&|| done.is_closed());
        let _ = done.send(worked);
    };
    std::thread::Builder::new().name("idempost-store".to_owned()).spawn(run).map_err(|error| {
        StoreError::unavailable("couldn't start a thread for the store").with_source(error)
    })?;
    result.await.map_err(|_| StoreError::unavailable("the store's thread ended without a result"))?
}

#[cfg(test)]
mod tests;
