//! An in-memory store, which lasts as long as the process.

use std::{sync::Arc, time::Duration};

use tokio::sync::OwnedMutexGuard;

use super::contract::{LockedStore, TokenStore};
use crate::{auth::record::TokenRecord, clock, error::StoreError, transport::BoxFuture};

/// Stores a login in memory, for tests and for programs that log in at every start. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    guard: Arc<tokio::sync::Mutex<()>>,
    record: Arc<std::sync::Mutex<Option<TokenRecord>>>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn get(&self) -> Option<TokenRecord> {
        self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn set(&self, record: Option<TokenRecord>) {
        *self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = record;
    }
}

impl TokenStore for MemoryStore {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(async { Ok(self.get()) })
    }

    fn lock(&self, timeout: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>> {
        Box::pin(async move {
            let guard = clock::timeout(timeout, Arc::clone(&self.guard).lock_owned())
                .await
                .map_err(|_| StoreError::Busy { holder: Some("another task".to_owned()) })?;
            Ok(Box::new(Locked { store: self.clone(), _guard: guard }) as _)
        })
    }
}

struct Locked {
    store: MemoryStore,
    _guard: OwnedMutexGuard<()>,
}

impl LockedStore for Locked {
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(async { Ok(self.store.get()) })
    }

    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            self.store.set(Some(record.clone()));
            Ok(())
        })
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            self.store.set(None);
            Ok(())
        })
    }
}
