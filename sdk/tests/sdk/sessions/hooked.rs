//! A store whose operations a test observes, delays and changes.

use idempost::{
    auth::{LockedStore, StoreError},
    transport::BoxFuture,
};

use super::*;

/// What happens at the operations of a store. By default, nothing.
pub(super) trait Hooks: Clone + Send + Sync + 'static {
    fn on_lock(&self) {}

    fn on_read(&self) {}

    /// Runs before a read under the lock.
    fn on_locked_read(&self) {}

    /// Runs after a read without a lock, before its caller gets the record.
    fn after_read(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Returns the record that is written.
    fn on_write(&self, record: &TokenRecord) -> Result<TokenRecord, StoreError> {
        Ok(record.clone())
    }

    fn after_remove(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// A store with these hooks.
    fn over(self, store: &MemoryStore) -> Hooked<MemoryStore, Self> {
        Hooked { inner: store.clone(), hooks: self }
    }
}

/// A store, or its lock, with hooks.
#[derive(Clone)]
pub(super) struct Hooked<S, H> {
    inner: S,
    pub(super) hooks: H,
}

impl<H: Hooks> TokenStore for Hooked<MemoryStore, H> {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        self.hooks.on_read();
        Box::pin(async {
            let record = self.inner.read().await;
            self.hooks.after_read().await;
            record
        })
    }

    fn lock(&self, timeout: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>> {
        self.hooks.on_lock();
        Box::pin(async move {
            let inner = self.inner.lock(timeout).await?;
            Ok(Box::new(Hooked { inner, hooks: self.hooks.clone() }) as _)
        })
    }
}

impl<H: Hooks> LockedStore for Hooked<Box<dyn LockedStore>, H> {
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        self.hooks.on_read();
        self.hooks.on_locked_read();
        self.inner.read()
    }

    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let record = self.hooks.on_write(record)?;
            self.inner.write(&record).await
        })
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            let removed = self.inner.remove().await;
            self.hooks.after_remove().await;
            removed
        })
    }
}
