//! The contract of token stores.

use std::time::Duration;

use crate::{auth::record::TokenRecord, error::StoreError, transport::BoxFuture};

/// Stores a login for one or several processes.
///
/// A store does more than get and set: a refresh reads the record, sends a request and writes the record, and no other process may do the same in
/// between. A writer therefore takes the store's lock first and holds it for all three steps.
///
/// An implementation guarantees:
///
/// - [`lock`](Self::lock) excludes every other holder, including other processes and, if several machines share the store, other machines. The lock
///   is released when the process that holds it ends, for any reason, and never expires.
/// - [`LockedStore::write`] completes once the record would survive the end of the process (and, on a disk, of the machine); if it fails,
///   the previous record is intact. In a database, the lock and the record therefore need separate transactions: the end of the process would
///   roll back the record with the lock, and with it the [`pending`](TokenRecord::pending) mark that the next process needs.
/// - Every read after a write returns the written record.
/// - If the storage fails, the record isn't written to a different location, unless every reader checks that location too.
///
/// [`FileStore`](super::FileStore) is a store for processes on one machine.
pub trait TokenStore: Send + Sync + 'static {
    /// Reads the record without taking the lock; `None` if the store holds no login.
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>>;

    /// Takes the lock, waiting up to `timeout` for another holder. Fails with [`StoreError::Busy`] after that.
    fn lock(&self, timeout: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>>;
}

/// A store whose lock is held. Dropping it releases the lock.
pub trait LockedStore: Send {
    /// Reads the current record.
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>>;

    /// Replaces the record, durably and as a whole.
    ///
    /// A record with a [`pending`](TokenRecord::pending) mark announces that the next write will hold the only copy of new tokens. The store prepares
    /// for that write (disk space, an encryption key), so that problems appear now rather than then.
    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes the record. Succeeds if there is none.
    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>>;
}
