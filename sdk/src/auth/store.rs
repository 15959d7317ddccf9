//! Where a login is kept: the contract of every store.

mod memory;

pub use memory::MemoryStore;

use std::{error::Error as StdError, time::Duration};

use super::record::TokenRecord;
use crate::transport::BoxFuture;

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

/// What a store can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else holds the lock.
    #[error("the login is in use{}", .holder.as_ref().map(|holder| format!(" by {holder}")).unwrap_or_default())]
    Busy {
        /// Who, if the store knows: `process 4711 (posthaste emails list), for 12 s`.
        holder: Option<String>,
    },
    /// What is kept can't be read as a record. It was left as it is.
    #[error("the stored login can't be read: {reason}")]
    Unreadable {
        /// Where, and what is wrong with it; never a token.
        reason: String,
    },
    /// The store can't be reached, or can't be written.
    #[error("the store of the login is not available: {reason}")]
    Unavailable {
        /// What was tried, and where.
        reason: String,
        /// The error underneath.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
}

impl StoreError {
    /// What is kept is no record, and why.
    pub fn unreadable(reason: impl Into<String>) -> Self {
        Self::Unreadable { reason: reason.into() }
    }

    /// The store fails, and why.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), source: None }
    }

    /// Adds the error underneath.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        match self {
            Self::Unavailable { reason, .. } => Self::Unavailable { reason, source: Some(cause.into()) },
            other => other,
        }
    }
}
