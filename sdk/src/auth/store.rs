//! Where a login is kept: the contract of every store.

mod memory;

pub use memory::MemoryStore;

use std::time::Duration;

use super::record::TokenRecord;
use crate::{error::StoreError, transport::BoxFuture};

/// Keeps one login, for one or for many processes.
///
/// A store is more than get and set: a refresh reads, asks the service and writes, and nobody else may do the same in between. So whoever
/// wants to change the record takes the store's lock first and holds it over all three steps.
///
/// What an implementation promises:
///
/// - [`lock`](Self::lock) excludes every other holder, also in other processes and, where several share the store, on other machines. The
///   lock ends with the process that holds it, however it ends, and never by age.
/// - [`LockedStore::write`] is done when the record would survive the death of the process (and, on a disk, of the machine); if it fails, what
///   was there before is still there.
/// - What was written is what is read, by everybody, from then on.
/// - When the place fails, no other one is written instead, unless every reader looks there, too.
pub trait TokenStore: Send + Sync + 'static {
    /// Reads the record without excluding anybody. `None`: nobody is logged in.
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>>;

    /// Takes the lock, waiting for another holder at most so long; [`StoreError::Busy`] when it is over.
    fn lock(&self, patience: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>>;
}

/// A store whose lock is held. Dropped, it is given back.
pub trait LockedStore: Send {
    /// Reads the record as it is now.
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>>;

    /// Replaces the record, durably and as a whole.
    ///
    /// A record with a [`pending`](TokenRecord::pending) mark announces that the next write brings tokens which nobody else has: a store prepares for it
    /// (room on the disk, a key at hand) and fails now rather than then.
    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes the record; nothing is wrong if there is none.
    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;
}
