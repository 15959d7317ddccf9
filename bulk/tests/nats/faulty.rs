//! A queue with faults: its clock is set, and it stores nothing.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use idempost_bulk::queue::{
    Cell, CellKey, Entry, Identity, Intent, IntentResult, JobFile, Lease, Ledger, NatsJob, Queue, QueueError,
    QueueStats, Result, Storage, StoredIntent,
};

/// The faults of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// The seconds by which its clock was set.
    clock: Arc<AtomicI64>,
    /// Whether it accepts no intents and no entries.
    full: Arc<AtomicBool>,
}

impl Faults {
    pub(crate) fn set_clock(&self, seconds: i64) {
        self.clock.store(seconds, Ordering::SeqCst);
    }

    pub(crate) fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// A queue with these faults.
    pub(crate) fn of(&self, inner: NatsJob) -> Faulty {
        Faulty { inner, faults: self.clone() }
    }

    fn check_space(&self) -> Result<()> {
        if self.full.load(Ordering::SeqCst) {
            return Err(QueueError::Unavailable { action: "store a record", source: "no space".into() });
        }
        Ok(())
    }
}

/// Passes these calls on to the queue.
macro_rules! forward {
    ($(async fn $name:ident($($argument:ident: $of:ty),*) -> $returned:ty;)+) => {
        $(async fn $name(&self, $($argument: $of),*) -> $returned {
            self.inner.$name($($argument),*).await
        })+
    };
}

#[derive(Clone, Debug)]
pub(crate) struct Faulty {
    inner: NatsJob,
    faults: Faults,
}

impl Queue for Faulty {
    forward! {
        async fn take(wait: Duration) -> Result<Option<Lease>>;
        async fn extend(lease: &Lease) -> Result<()>;
        async fn complete(lease: &Lease) -> Result<()>;
        async fn announce_worker() -> Result<()>;
        async fn is_attended() -> Result<bool>;
        async fn stats() -> Result<QueueStats>;
    }

    async fn put(&self, batches: &[u32], round: u32) -> Result<()> {
        self.faults.check_space()?;
        self.inner.put(batches, round).await
    }

    async fn reject(&self, lease: &Lease) -> Result<()> {
        self.faults.check_space()?;
        self.inner.reject(lease).await
    }
}

impl Ledger for Faulty {
    forward! {
        async fn intent(batch: u32) -> Result<Option<StoredIntent>>;
        async fn record_result(batch: u32, result: Bytes) -> Result<bool>;
        async fn result(batch: u32) -> Result<Option<Bytes>>;
        async fn intents(behind: u64, limit: usize) -> Result<Vec<Entry>>;
        async fn results(behind: u64, limit: usize) -> Result<Vec<Entry>>;
    }

    async fn now(&self) -> Result<Duration> {
        let seconds = self.faults.clock.load(Ordering::SeqCst);
        let by = Duration::from_secs(seconds.unsigned_abs());
        let now = self.inner.now().await?;
        Ok(if seconds < 0 { now.saturating_sub(by) } else { now + by })
    }

    async fn record_intent(
        &self,
        batch: u32,
        intent: &Intent,
        expected: Option<u64>,
    ) -> Result<IntentResult> {
        self.faults.check_space()?;
        self.inner.record_intent(batch, intent, expected).await
    }
}

impl Storage for Faulty {
    forward! {
        async fn load(key: CellKey<'_>) -> Result<Option<Cell>>;
        async fn store(key: CellKey<'_>, value: Bytes, expected: Option<u64>) -> Result<Option<u64>>;
        async fn upload(file: &JobFile, from: &Path) -> Result<()>;
        async fn download(file: &JobFile, to: &Path) -> Result<()>;
        async fn restore(generation: &str) -> Result<()>;
        async fn identity() -> Result<Option<Identity>>;
        async fn drop_entries() -> Result<()>;
        async fn clear() -> Result<()>;
    }

    fn job(&self) -> &str {
        self.inner.job()
    }

    fn lease_time(&self) -> Duration {
        self.inner.lease_time()
    }

    fn use_generation(&self, generation: &str) {
        self.inner.use_generation(generation);
    }
}
