//! The contract that every token store keeps.

use std::time::Duration;

use crate::{auth::record::TokenRecord, error::StoreError, transport::BoxFuture};

/// Stores one login, for one or for many processes.
///
/// A store is more than get and set: a refresh reads the record, sends a request and writes the record, and no other process may do the same
/// in between. A writer therefore takes the store's lock first and holds it over all three steps.
///
/// An implementation guarantees:
///
/// - [`lock`](Self::lock) excludes every other holder, also in other processes and, where several share the store, on other machines. The
///   lock ends with the process that holds it, however that ends, and never by age.
/// - [`LockedStore::write`] completes when the record would survive the death of the process (and, on a disk, of the machine); if it fails,
///   the previous record is intact.
/// - Every read after a write returns the written record.
/// - When the storage fails, the record isn't written to another one, unless every reader looks there too.
pub trait TokenStore: Send + Sync + 'static {
    /// Reads the record without taking the lock. `None`: the store holds no login.
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>>;

    /// Takes the lock, waiting for another holder for at most `timeout`; then fails with [`StoreError::Busy`].
    fn lock(&self, timeout: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>>;
}

/// A store whose lock is held. Dropping it releases the lock.
pub trait LockedStore: Send {
    /// Reads the current record.
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>>;

    /// Replaces the record, durably and as a whole.
    ///
    /// A record with a [`pending`](TokenRecord::pending) mark announces that the next write holds the only copy of new tokens: a store prepares
    /// for it (disk space, an encryption key) and fails now rather than then.
    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes the record. Succeeds if there is none.
    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;
}
