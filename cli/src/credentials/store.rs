//! One profile's credential behind the session's interface: the same lock and steps for every store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idempost::auth::files::FileLock;
use idempost::auth::{LockedStore, StoreError, TokenRecord, TokenStore};
use idempost::transport::BoxFuture;

use super::StoreKind;
use super::failpoint::point;
use super::keyring::backend::SecretBackend;
use super::keyring::{KeyringStore, LockState};
use super::place::{FileKind, Place, host_id};
use super::private_file::StagedFile;
use super::state::State;
use super::stored::{Record, StoredCredential};
use super::{TIMEOUT, file, lock, private_file};
use crate::signals::{self, CriticalSection};

#[derive(Debug, Clone)]
pub(crate) struct ProfileStore {
    pub(super) place: Place,
    /// The store for a new login, if not the last one's.
    pub(super) wanted: Option<StoreKind>,
    pub(super) backend: Arc<dyn SecretBackend>,
    /// The credential just found, for the first read.
    pub(super) peeked: Arc<Mutex<Option<StoredCredential>>>,
}

impl ProfileStore {
    /// Reads the credential without the lock.
    pub(super) fn peek(&self) -> Result<Option<StoredCredential>, StoreError> {
        private_file::no_core();
        let Some((store, state)) = read_recorded(&self.place)? else { return Ok(None) };
        let record = match (store, &state) {
            (StoreKind::Keyring, Some(state)) => {
                KeyringStore { place: &self.place, backend: &*self.backend }.peek(state)?
            }
            _ => file::peek(&self.place)?,
        };
        Ok(record.map(|record| record.credential))
    }

    /// Copies the credential to a profile without one, in the same store. `None` if there is nothing to copy.
    pub(super) async fn copy_to(&self, mut to: Self) -> Result<Option<Copied>, StoreError> {
        let Some((store, _)) = read_recorded(&self.place)? else { return Ok(None) };
        let mut from = Locked(Some(self.lock_profile(TIMEOUT).await?));
        let Some(credential) = from.run_blocking(LockedProfile::read).await? else { return Ok(None) };
        if credential.is_pending() {
            return Err(StoreError::unavailable(
                "a token refresh of this login hasn't finished; first run a command that uses the login, such as idempost auth token",
            ));
        }
        to.wanted = Some(store);
        Locked(Some(to.lock_profile(TIMEOUT).await?))
            .run_blocking(move |locked_profile| locked_profile.write(credential))
            .await?;
        Ok(Some(Copied(from)))
    }

    /// Takes the lock.
    pub(super) async fn lock_profile(&self, timeout: Duration) -> Result<LockedProfile, StoreError> {
        point("C1");
        let lock = lock::take(&self.place, timeout).await?;
        Ok(LockedProfile {
            store: self.clone(),
            seen: None,
            ring: LockState::default(),
            staged: None,
            held: None,
            lock,
        })
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

/// The store of a profile's secrets, and its state. A record in a file is valid even without its state.
pub(super) fn read_recorded(place: &Place) -> Result<Option<(StoreKind, Option<State>)>, StoreError> {
    if let Some(state) = State::read(place)? {
        return Ok(Some((state.store, Some(state))));
    }
    let has_file = std::fs::symlink_metadata(place.file(FileKind::Cred)).is_ok();
    Ok(has_file.then_some((StoreKind::File, None)))
}

/// A profile whose lock is held. Its operations block, on a separate thread.
#[derive(Debug)]
pub(super) struct LockedProfile {
    store: ProfileStore,
    /// The record last read or written, and its store; `None` before the first read.
    seen: Option<(Option<StoreKind>, Option<Record>)>,
    ring: LockState,
    staged: Option<StagedFile>,
    /// Signals wait from the pending mark to the unlock.
    held: Option<CriticalSection>,
    // Dropped last but one: delayed signals are delivered once the lock is released.
    lock: FileLock,
}

impl LockedProfile {
    pub(super) fn read(&mut self) -> Result<Option<StoredCredential>, StoreError> {
        private_file::no_core();
        self.seen = None;
        let place = &self.store.place;
        let Some((store, state)) = read_recorded(place)? else {
            private_file::remove(&place.file(FileKind::Next))?;
            self.seen = Some((None, None));
            return Ok(None);
        };
        let record = match (store, &state) {
            (StoreKind::Keyring, Some(state)) => {
                let ring = KeyringStore { place, backend: &*self.store.backend };
                // During a refresh, `.next` belongs to this holder.
                if self.ring.is_prepared() { ring.peek(state)? } else { ring.read(state, &mut self.ring)? }
            }
            _ if self.staged.is_some() => file::peek(place)?,
            _ => file::read(place)?,
        };
        record.as_ref().map_or(Ok(()), |record| record.check_host(host_id().as_deref()))?;
        let credential = record.as_ref().map(|record| record.credential.clone());
        self.seen = Some((Some(store), record));
        Ok(credential)
    }

    pub(super) fn write(&mut self, credential: StoredCredential) -> Result<(), StoreError> {
        if self.seen.is_none() {
            // An unreadable credential can be replaced only by a login.
            let store = match self.read() {
                Ok(_) => None,
                Err(_) => read_recorded(&self.store.place).ok().flatten().map(|(store, _)| store),
            };
            self.seen.get_or_insert((store, None));
        }
        let (last, before) = self.seen.take().unwrap_or_default();
        // An explicit store means a login, unless a refresh was pending before.
        let is_renewal = self.staged.is_some() || self.ring.is_prepared();
        let goes_on = |before: &&Record| {
            self.store.wanted.is_none()
                || is_renewal
                || before.credential.generation() == credential.generation()
        };
        let record = Record::after(before.as_ref().filter(goes_on), credential);
        let goes_on = before.as_ref().is_some_and(|before| before.login == record.login);
        let store = if goes_on { last } else { self.store.wanted.or(last) }.unwrap_or_default();
        if record.credential.is_pending() {
            self.held.get_or_insert_with(signals::hold);
        }
        let written = self.put(store, last, before.as_ref(), &record);
        self.seen = Some(match written {
            Ok(()) => (Some(store), Some(record)),
            Err(_) => (last, before),
        });
        written
    }

    fn put(
        &mut self,
        store: StoreKind,
        last: Option<StoreKind>,
        before: Option<&Record>,
        record: &Record,
    ) -> Result<(), StoreError> {
        let place = &self.store.place;
        let ring = KeyringStore { place, backend: &*self.store.backend };
        match store {
            StoreKind::Keyring => {
                ring.write(&self.lock, before, record, &mut self.ring)?;
                if last == Some(StoreKind::File) {
                    file::remove(place)?;
                }
            }
            StoreKind::File => {
                file::write(place, &self.lock, before, record, &mut self.staged)?;
                if before.is_none_or(|before| before.login != record.login) {
                    State::new(StoreKind::File, record).write(place)?;
                }
                if last == Some(StoreKind::Keyring) {
                    // The new store is already written; the old keyring may be gone.
                    let _ = ring.remove();
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self) -> Result<(), StoreError> {
        let place = &self.store.place;
        let last = read_recorded(place)
            .map_or_else(|_| Some(StoreKind::File), |known| known.map(|(store, _)| store));
        if last == Some(StoreKind::Keyring) {
            KeyringStore { place, backend: &*self.store.backend }.remove()?;
        }
        file::remove(place)?;
        private_file::remove(&place.file(FileKind::State))?;
        self.seen = Some((None, None));
        Ok(())
    }
}

impl TokenStore for ProfileStore {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        let peeked = self.peeked.lock().unwrap_or_else(PoisonError::into_inner).take();
        if peeked.is_some() {
            return Box::pin(async { Ok(peeked.and_then(tokens)) });
        }
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
        .map_err(|error| StoreError::unavailable("couldn't start a thread for the store").caused_by(error))?;
    result.await.map_err(|_| StoreError::unavailable("the store's thread ended without a result"))?
}
