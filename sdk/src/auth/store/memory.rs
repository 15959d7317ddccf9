//! A store that lasts as long as the process.

use std::{sync::Arc, time::Duration};

use tokio::{sync::OwnedMutexGuard, time::timeout};

use super::{LockedStore, StoreError, TokenStore};
use crate::{auth::record::TokenRecord, transport::BoxFuture};

/// Keeps a login in memory: for tests, and for programs that log in each time they start. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    turn: Arc<tokio::sync::Mutex<()>>,
    record: Arc<std::sync::Mutex<Option<TokenRecord>>>,
}

impl MemoryStore {
    /// A store with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    fn look(&self) -> Option<TokenRecord> {
        self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn keep(&self, record: Option<TokenRecord>) {
        *self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = record;
    }
}

impl TokenStore for MemoryStore {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(async { Ok(self.look()) })
    }

    fn lock(&self, patience: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>> {
        Box::pin(async move {
            let turn = timeout(patience, Arc::clone(&self.turn).lock_owned())
                .await
                .map_err(|_| StoreError::Busy { holder: Some("another task".to_owned()) })?;
            Ok(Box::new(Locked { store: self.clone(), _turn: turn }) as _)
        })
    }
}

struct Locked {
    store: MemoryStore,
    _turn: OwnedMutexGuard<()>,
}

impl LockedStore for Locked {
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(async { Ok(self.store.look()) })
    }

    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            self.store.keep(Some(record.clone()));
            Ok(())
        })
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            self.store.keep(None);
            Ok(())
        })
    }
}
