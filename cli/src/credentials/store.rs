//! One profile's credential behind the session's interface: one file, whose record is encrypted unless the store is a file.
//!
//! The record is replaced by renaming `NAME.next` over `NAME.cred`. When a refresh is marked as pending, `.next` is created with disk space for
//! the next record already allocated, so that a disk that is full when the response arrives loses nothing. A holder of the lock
//! that finds a complete `.next` with the next generation of the same login adopts it: its writer died before the rename.

use std::sync::Arc;
use std::time::Duration;

use idempost::auth::files::FileLock;
use idempost::auth::{LockedStore, StoreError, TokenRecord, TokenStore};
use idempost::transport::BoxFuture;

use super::failpoint::point;
use super::file::{self, Contents};
use super::key::{Key, KeyEntry};
use super::keyring::SecretBackend;
use super::place::{CRED, NEXT, Place, TEMPORARY, host_id};
use super::private_file::{self, StagedFile};
use super::stored::{Record, StoredCredential};
use super::{StoreKind, TIMEOUT, lock};
use crate::signals::{self, CriticalSection};

#[derive(Debug, Clone)]
pub(crate) struct ProfileStore {
    pub(super) place: Place,
    /// The store for a new login, if not the last one's.
    pub(super) wanted: Option<StoreKind>,
    pub(super) backend: Arc<dyn SecretBackend>,
}

impl ProfileStore {
    fn entry(&self) -> KeyEntry<'_> {
        KeyEntry { place: &self.place, backend: &*self.backend }
    }

    /// Decrypts a file's contents; also returns the key.
    fn open(&self, contents: Contents) -> Result<(Record, Option<Key>), StoreError> {
        let key = match contents.store() {
            // A new login in a file replaces one whose keyring is gone.
            StoreKind::Keyring if self.wanted == Some(StoreKind::File) => {
                self.entry().get().unwrap_or_default()
            }
            StoreKind::Keyring => self.entry().get()?,
            StoreKind::File => None,
        };
        let record = contents.open(key.as_ref()).map_err(|error| with_path(&self.place, error))?;
        Ok((record, key))
    }

    /// Reads the credential without the lock.
    pub(super) fn peek(&self) -> Result<Option<StoredCredential>, StoreError> {
        private_file::disable_core_dumps();
        let Some(contents) = read_file(&self.place)? else { return Ok(None) };
        Ok(Some(self.open(contents)?.0.credential))
    }

    /// Copies the credential to a profile without one, in the same store. `None` if there is nothing to copy.
    pub(super) async fn copy_to(&self, mut to: Self) -> Result<Option<Copied>, StoreError> {
        let Some(contents) = read_file(&self.place)? else { return Ok(None) };
        let mut from = Locked(Some(self.lock_profile(TIMEOUT).await?));
        let Some(credential) = from.run_blocking(LockedProfile::read).await? else { return Ok(None) };
        if credential.is_pending() {
            return Err(StoreError::unavailable(
                "a token refresh of this login hasn't finished; first run a command that uses the login, such as idempost auth token",
            ));
        }
        to.wanted = Some(contents.store());
        Locked(Some(to.lock_profile(TIMEOUT).await?))
            .run_blocking(move |locked_profile| locked_profile.write(credential))
            .await?;
        Ok(Some(Copied(from)))
    }

    /// Takes the lock.
    pub(super) async fn lock_profile(&self, timeout: Duration) -> Result<LockedProfile, StoreError> {
        point("C1");
        let lock = lock::take(&self.place, timeout).await?;
        Ok(LockedProfile { store: self.clone(), seen: None, key: None, staged: None, held: None, lock })
    }
}

/// Credentials that exist twice. The original stays locked until it is removed or this is dropped, so that only one of them is refreshed.
#[derive(Debug)]
pub(crate) struct Copied(Locked);

impl Copied {
    /// Removes the original.
    pub(crate) async fn remove(mut self) -> Result<(), StoreError> {
        self.0.run_blocking(LockedProfile::remove).await
    }
}

/// Reads a profile's file without the lock or the keyring.
pub(super) fn read_file(place: &Place) -> Result<Option<Contents>, StoreError> {
    private_file::check_folder(&place.folder)?;
    let bytes = private_file::read(&place.file(CRED))?;
    bytes.map(|bytes| Contents::from_file(&bytes)).transpose().map_err(|error| with_path(place, error))
}

/// The error with the path of the file that can't be used.
fn with_path(place: &Place, error: StoreError) -> StoreError {
    match error {
        StoreError::Unreadable { reason } => {
            let path = place.file(CRED);
            StoreError::invalid_data(format!("{}: {reason}; the file is unchanged", path.display()))
        }
        other => other,
    }
}

/// A profile whose lock is held. Its operations block, on a separate thread.
#[derive(Debug)]
pub(super) struct LockedProfile {
    store: ProfileStore,
    /// The record last read or written, and its store; `None` before the first read.
    seen: Option<(Option<StoreKind>, Option<Record>)>,
    /// The key of that record.
    key: Option<Key>,
    /// The reserved space for the record after a pending refresh.
    staged: Option<StagedFile>,
    /// Signals wait from the pending mark to the unlock.
    held: Option<CriticalSection>,
    // Dropped second to last: delayed signals are delivered once the lock is released.
    lock: FileLock,
}

impl LockedProfile {
    fn file(&self, extension: &str) -> std::path::PathBuf {
        self.store.place.file(extension)
    }

    pub(super) fn read(&mut self) -> Result<Option<StoredCredential>, StoreError> {
        private_file::disable_core_dumps();
        self.seen = None;
        let Some(contents) = read_file(&self.store.place)? else {
            // Not logged in; leftovers of an interrupted login are discarded.
            private_file::remove(&self.file(NEXT))?;
            self.seen = Some((None, None));
            return Ok(None);
        };
        let store = contents.store();
        let (mut record, key) = self.store.open(contents)?;
        self.key = key;
        // During a refresh, `.next` belongs to this holder.
        if self.staged.is_none() {
            record = self.adopt(record)?;
        }
        record.check_host(host_id().as_deref())?;
        let credential = record.credential.clone();
        self.seen = Some((Some(store), Some(record)));
        Ok(Some(credential))
    }

    /// Completes a refresh whose writer died, and removes its other leftovers.
    fn adopt(&self, record: Record) -> Result<Record, StoreError> {
        let (next, cred) = (self.file(NEXT), self.file(CRED));
        private_file::remove_quietly(&self.file(TEMPORARY));
        let Some(bytes) = private_file::read(&next)? else { return Ok(record) };
        match Contents::from_file(&bytes).and_then(|found| found.open(self.key.as_ref())) {
            Ok(found) if found.is_successor_of(&record) => {
                // It may never have been synced to disk.
                private_file::sync(&next)?;
                private_file::rename(&next, &cred)?;
                private_file::sync_folder_of(&cred)?;
                Ok(found)
            }
            _ => private_file::remove(&next).map(|()| record),
        }
    }

    pub(super) fn write(&mut self, credential: StoredCredential) -> Result<(), StoreError> {
        if self.seen.is_none() {
            // An unreadable credential can be replaced only by a login.
            let store = match self.read() {
                Ok(_) => None,
                Err(_) => read_file(&self.store.place).ok().flatten().map(|contents| contents.store()),
            };
            self.seen.get_or_insert((store, None));
        }
        let (last, before) = self.seen.take().unwrap_or_default();
        // An explicit store means a login, unless a refresh was pending before.
        let is_renewal = self.staged.is_some();
        let goes_on = |before: &&Record| {
            self.store.wanted.is_none()
                || is_renewal
                || before.credential.generation() == credential.generation()
        };
        let record = Record::successor(before.as_ref().filter(goes_on), credential);
        let goes_on = before.as_ref().is_some_and(|before| before.login == record.login);
        let store = if goes_on { last } else { self.store.wanted.or(last) }.unwrap_or_default();
        if record.credential.is_pending() {
            self.held.get_or_insert_with(signals::hold);
        }
        let written = self.write_record(store, before.as_ref(), &record);
        if written.is_ok() && (store, last) == (StoreKind::File, Some(StoreKind::Keyring)) {
            // The old keyring may be gone.
            let _ = self.store.entry().delete();
        }
        self.seen = Some(match written {
            Ok(()) => (Some(store), Some(record)),
            Err(_) => (last, before),
        });
        written
    }

    /// Writes the record, and reserves space for the next one if a refresh is pending.
    fn write_record(
        &mut self,
        store: StoreKind,
        before: Option<&Record>,
        record: &Record,
    ) -> Result<(), StoreError> {
        self.key = match (store, self.key.take()) {
            (StoreKind::File, _) => None,
            (StoreKind::Keyring, Some(key)) => Some(key),
            (StoreKind::Keyring, None) => Some(self.store.entry().get_or_create()?),
        };
        let bytes = file::to_file(record, self.key.as_ref())?;
        let (next, cred) = (self.file(NEXT), self.file(CRED));
        if before.is_some_and(|before| record.is_successor_of(before)) {
            return self.save(&bytes);
        }
        self.lock.verify_held()?;
        let announces = record.credential.is_pending();
        if announces {
            point("C2");
            // Reserves space first: once the refresh is marked as pending, a request may have been sent.
            self.staged = None;
            self.staged =
                Some(StagedFile::reserve(&next, private_file::RESERVED_BYTES.max(bytes.len() * 2))?);
        }
        let mark = self.file(TEMPORARY);
        let mut file = StagedFile::reserve(&mark, private_file::RESERVED_BYTES)?;
        let written = file.fill(&mark, &bytes).and_then(|()| {
            point(if announces { "C3" } else { "C13" });
            file.sync(&mark)?;
            self.lock.verify_held()?;
            private_file::rename(&mark, &cred)?;
            private_file::sync_folder_of(&cred)
        });
        if let Err(error) = written {
            private_file::remove_quietly(&mark);
            return Err(error);
        }
        if announces {
            point("C4");
        } else {
            self.staged = None;
            private_file::remove_quietly(&next);
        }
        Ok(())
    }

    /// Saves a refreshed record; the old one is then useless.
    fn save(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let (next, cred) = (self.file(NEXT), self.file(CRED));
        let mut file = match self.staged.take() {
            Some(file) => file,
            None => StagedFile::reserve(&next, private_file::RESERVED_BYTES)?,
        };
        file.fill(&next, bytes)?;
        point("C8");
        file.sync(&next)?;
        point("C10");
        private_file::rename(&next, &cred)?;
        point("C11");
        private_file::sync_folder_of(&cred)?;
        point("C12");
        Ok(())
    }

    /// Removes the record, and all files except the lock.
    pub(super) fn remove(&mut self) -> Result<(), StoreError> {
        let found = read_file(&self.store.place);
        // First the file from which the record could be restored.
        private_file::remove(&self.file(NEXT))?;
        point("C13");
        private_file::remove(&self.file(CRED))?;
        self.seen = Some((None, None));
        if found.map_or(true, |found| found.is_some_and(|found| found.store() == StoreKind::Keyring)) {
            // The keyring may be gone, and the key alone reveals nothing.
            let _ = self.store.entry().delete();
        }
        Ok(())
    }
}

impl TokenStore for ProfileStore {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        let store = self.clone();
        Box::pin(async move { Ok(run_blocking(move || store.peek()).await?.and_then(tokens)) })
    }

    fn lock(&self, timeout: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>> {
        Box::pin(async move {
            let locked_profile = self.lock_profile(timeout).await?;
            Ok(Box::new(Locked(Some(locked_profile))) as _)
        })
    }
}

/// The locked store, for the session.
#[derive(Debug)]
pub(super) struct Locked(pub(super) Option<LockedProfile>);

impl Locked {
    /// Runs a blocking operation. If the future is dropped, the operation still finishes, and then the lock is released.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut LockedProfile) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(mut locked_profile) = self.0.take() else {
            return Err(StoreError::unavailable("a previous operation on the store was interrupted"));
        };
        let (locked_profile, done) = run_blocking(move || {
            let done = work(&mut locked_profile);
            Ok((locked_profile, done))
        })
        .await?;
        self.0 = Some(locked_profile);
        done
    }
}

impl LockedStore for Locked {
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(async { Ok(self.run_blocking(LockedProfile::read).await?.and_then(tokens)) })
    }

    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        let credential = StoredCredential::Login(Box::new(record.clone()));
        Box::pin(self.run_blocking(move |locked_profile| locked_profile.write(credential)))
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.run_blocking(LockedProfile::remove))
    }
}

fn tokens(credential: StoredCredential) -> Option<TokenRecord> {
    match credential {
        StoredCredential::Login(record) => Some(*record),
        StoredCredential::ApiKey(_) => None,
    }
}

/// Runs a blocking operation on its own thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("credentials".to_owned())
        .spawn(move || drop(done.send(work())))
        .map_err(|error| {
            StoreError::unavailable("couldn't start a thread for the store").with_source(error)
        })?;
    result.await.map_err(|_| StoreError::unavailable("the store's thread ended without a result"))?
}
