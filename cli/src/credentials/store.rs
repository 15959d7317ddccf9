//! One profile's login as the session uses it: the same lock and the same steps, wherever the secrets are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posthaste::auth::{LockedStore, StoreError, TokenRecord, TokenStore};
use posthaste::transport::BoxFuture;

use super::StoreKind;
use super::failpoint::point;
use super::kept::{Kept, Record};
use super::keyring::vault::Vault;
use super::keyring::{Ring, Turn};
use super::lock::Lock;
use super::place::{Part, Place};
use super::secure::Coming;
use super::state::State;
use super::{PATIENCE, file, secure};
use crate::signals::{self, Held};

/// The store of a profile.
#[derive(Debug, Clone)]
pub(crate) struct ProfileStore {
    pub(super) place: Place,
    /// Where a new login goes, if not where the last one was.
    pub(super) wanted: Option<StoreKind>,
    pub(super) vault: Arc<dyn Vault>,
    /// What was found just now, for the first read.
    pub(super) looked: Arc<Mutex<Option<Kept>>>,
}

impl ProfileStore {
    /// Reads what is kept, without excluding anybody.
    pub(super) fn look(&self) -> Result<Option<Kept>, StoreError> {
        secure::no_core();
        let Some((store, state)) = recorded(&self.place)? else { return Ok(None) };
        let record = match (store, &state) {
            (StoreKind::Keyring, Some(state)) => {
                Ring { place: &self.place, vault: &*self.vault }.look(state)?
            }
            _ => file::look(&self.place)?,
        };
        Ok(record.map(|record| record.kept))
    }

    /// Copies what is kept to a profile that has nothing, in the same store. `None` if there is nothing to copy.
    pub(super) async fn copy_to(&self, mut to: Self) -> Result<Option<Copied>, StoreError> {
        let Some((store, _)) = recorded(&self.place)? else { return Ok(None) };
        let mut from = Locked(Some(self.turn(PATIENCE).await?));
        let Some(kept) = from.with(Inside::read).await? else { return Ok(None) };
        if kept.is_pending() {
            return Err(StoreError::unavailable(
                "a refresh of this login has not ended; run a command with it first, such as posthaste auth token",
            ));
        }
        to.wanted = Some(store);
        Locked(Some(to.turn(PATIENCE).await?)).with(move |inside| inside.write(kept)).await?;
        Ok(Some(Copied(from)))
    }

    /// Takes the lock.
    pub(super) async fn turn(&self, patience: Duration) -> Result<Inside, StoreError> {
        point("C1");
        let lock = Lock::take(&self.place, patience).await?;
        Ok(Inside { store: self.clone(), seen: None, ring: Turn::default(), coming: None, held: None, lock })
    }
}

/// Credentials that exist twice. The original is locked until it is removed or this is dropped, so that nobody refreshes both.
#[derive(Debug)]
pub(crate) struct Copied(Locked);

impl Copied {
    /// Removes the original.
    pub(crate) async fn remove(mut self) -> Result<(), StoreError> {
        self.0.with(Inside::remove).await
    }
}

/// Which store has a profile's secrets, and what is known of them. A record in a file counts also without its state.
pub(super) fn recorded(place: &Place) -> Result<Option<(StoreKind, Option<State>)>, StoreError> {
    if let Some(state) = State::read(place)? {
        return Ok(Some((state.store, Some(state))));
    }
    let has_file = std::fs::symlink_metadata(place.file(Part::Cred)).is_ok();
    Ok(has_file.then_some((StoreKind::File, None)))
}

/// A profile whose lock is held. What is done is blocking, and done on a thread of its own.
#[derive(Debug)]
pub(super) struct Inside {
    store: ProfileStore,
    /// What was read or written last, and where; `None` before the first look.
    seen: Option<(Option<StoreKind>, Option<Record>)>,
    ring: Turn,
    coming: Option<Coming>,
    /// Signals wait from the mark to the unlock.
    held: Option<Held>,
    // Dropped last but one: signals that waited are delivered when the lock is free.
    lock: Lock,
}

impl Inside {
    pub(super) fn read(&mut self) -> Result<Option<Kept>, StoreError> {
        secure::no_core();
        self.seen = None;
        let place = &self.store.place;
        let Some((store, state)) = recorded(place)? else {
            secure::remove(&place.file(Part::Next))?;
            self.seen = Some((None, None));
            return Ok(None);
        };
        let record = match (store, &state) {
            (StoreKind::Keyring, Some(state)) => {
                let ring = Ring { place, vault: &*self.store.vault };
                // In the middle of a renewal `.next` is this holder's own.
                if self.ring.is_prepared() { ring.look(state)? } else { ring.read(state, &mut self.ring)? }
            }
            _ if self.coming.is_some() => file::look(place)?,
            _ => file::read(place)?,
        };
        record.as_ref().map_or(Ok(()), Record::check_host)?;
        let kept = record.as_ref().map(|record| record.kept.clone());
        self.seen = Some((Some(store), record));
        Ok(kept)
    }

    pub(super) fn write(&mut self, kept: Kept) -> Result<(), StoreError> {
        if self.seen.is_none() {
            // What can't be read can be replaced by a login, and by nothing else.
            let store = match self.read() {
                Ok(_) => None,
                Err(_) => recorded(&self.store.place).ok().flatten().map(|(store, _)| store),
            };
            self.seen.get_or_insert((store, None));
        }
        let (last, before) = self.seen.take().unwrap_or_default();
        // Who says where it goes logs in, unless a renewal was announced before.
        let is_renewal = self.coming.is_some() || self.ring.is_prepared();
        let goes_on = |before: &&Record| {
            self.store.wanted.is_none() || is_renewal || before.kept.generation() == kept.generation()
        };
        let record = Record::after(before.as_ref().filter(goes_on), kept);
        let goes_on = before.as_ref().is_some_and(|before| before.login == record.login);
        let store = if goes_on { last } else { self.store.wanted.or(last) }.unwrap_or_default();
        if record.kept.is_pending() && self.held.is_none() {
            self.held = Some(signals::hold());
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
        let ring = Ring { place, vault: &*self.store.vault };
        match store {
            StoreKind::Keyring => {
                ring.write(&self.lock, before, record, &mut self.ring)?;
                if last == Some(StoreKind::File) {
                    file::remove(place)?;
                }
            }
            StoreKind::File => {
                file::write(place, &self.lock, before, record, &mut self.coming)?;
                if before.is_none_or(|before| before.login != record.login) {
                    State::of(StoreKind::File, record).write(place)?;
                }
                if last == Some(StoreKind::Keyring) {
                    // The choice is made and written; a keyring that is gone is one of its reasons.
                    let _ = ring.remove();
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self) -> Result<(), StoreError> {
        let place = &self.store.place;
        let last =
            recorded(place).map_or_else(|_| Some(StoreKind::File), |known| known.map(|(store, _)| store));
        if last == Some(StoreKind::Keyring) {
            Ring { place, vault: &*self.store.vault }.remove()?;
        }
        file::remove(place)?;
        secure::remove(&place.file(Part::State))?;
        self.seen = Some((None, None));
        Ok(())
    }
}

impl TokenStore for ProfileStore {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner).take();
        if looked.is_some() {
            return Box::pin(async { Ok(looked.and_then(tokens)) });
        }
        let store = self.clone();
        Box::pin(async move { Ok(elsewhere(move || store.look()).await?.and_then(tokens)) })
    }

    fn lock(&self, patience: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>> {
        Box::pin(async move {
            let inside = self.turn(patience).await?;
            Ok(Box::new(Locked(Some(inside))) as _)
        })
    }
}

/// The store whose lock is held, for the session.
#[derive(Debug)]
pub(super) struct Locked(pub(super) Option<Inside>);

impl Locked {
    /// Does something blocking with it. If nobody waits for the end any more, it is done all the same, and then the lock is given back.
    pub(super) async fn with<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Inside) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(mut inside) = self.0.take() else {
            return Err(StoreError::unavailable("the store was left in the middle of a step"));
        };
        let (inside, done) = elsewhere(move || {
            let done = work(&mut inside);
            Ok((inside, done))
        })
        .await?;
        self.0 = Some(inside);
        done
    }
}

impl LockedStore for Locked {
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(async { Ok(self.with(Inside::read).await?.and_then(tokens)) })
    }

    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        let kept = Kept::Login(Box::new(record.clone()));
        Box::pin(self.with(move |inside| inside.write(kept)))
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.with(Inside::remove))
    }
}

fn tokens(kept: Kept) -> Option<TokenRecord> {
    match kept {
        Kept::Login(record) => Some(*record),
        Kept::ApiKey(_) => None,
    }
}

/// Does something blocking on a thread of its own.
pub(super) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (done, answer) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("credentials".to_owned())
        .spawn(move || drop(done.send(work())))
        .map_err(|error| StoreError::unavailable("no thread for the store").caused_by(error))?;
    answer.await.map_err(|_| StoreError::unavailable("the store's thread ended without an answer"))?
}
