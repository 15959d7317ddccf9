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

#[derive(Clone, Debug)]
pub(crate) struct Faulty {
    inner: NatsJob,
    faults: Faults,
}

impl Queue for Faulty {
    async fn put(&self, batches: &[u32], round: u32) -> Result<()> {
        self.faults.check_space()?;
        self.inner.put(batches, round).await
    }

    async fn take(&self, wait: Duration) -> Result<Option<Lease>> {
        self.inner.take(wait).await
    }

    async fn extend(&self, lease: &Lease) -> Result<()> {
        self.inner.extend(lease).await
    }

    async fn complete(&self, lease: &Lease) -> Result<()> {
        self.inner.complete(lease).await
    }

    async fn reject(&self, lease: &Lease) -> Result<()> {
        self.faults.check_space()?;
        self.inner.reject(lease).await
    }

    async fn announce_worker(&self) -> Result<()> {
        self.inner.announce_worker().await
    }

    async fn is_attended(&self) -> Result<bool> {
        self.inner.is_attended().await
    }

    async fn stats(&self) -> Result<QueueStats> {
        self.inner.stats().await
    }
}

impl Ledger for Faulty {
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

    async fn intent(&self, batch: u32) -> Result<Option<StoredIntent>> {
        self.inner.intent(batch).await
    }

    async fn record_result(&self, batch: u32, result: Bytes) -> Result<bool> {
        self.inner.record_result(batch, result).await
    }

    async fn result(&self, batch: u32) -> Result<Option<Bytes>> {
        self.inner.result(batch).await
    }

    async fn intents(&self, behind: u64, limit: usize) -> Result<Vec<Entry>> {
        self.inner.intents(behind, limit).await
    }

    async fn results(&self, behind: u64, limit: usize) -> Result<Vec<Entry>> {
        self.inner.results(behind, limit).await
    }
}

impl Storage for Faulty {
    fn job(&self) -> &str {
        self.inner.job()
    }

    fn lease_time(&self) -> Duration {
        self.inner.lease_time()
    }

    async fn load(&self, key: CellKey<'_>) -> Result<Option<Cell>> {
        self.inner.load(key).await
    }

    async fn store(&self, key: CellKey<'_>, value: Bytes, expected: Option<u64>) -> Result<Option<u64>> {
        self.inner.store(key, value, expected).await
    }

    async fn upload(&self, file: &JobFile, from: &Path) -> Result<()> {
        self.inner.upload(file, from).await
    }

    async fn download(&self, file: &JobFile, to: &Path) -> Result<()> {
        self.inner.download(file, to).await
    }

    async fn restore(&self, generation: &str) -> Result<()> {
        self.inner.restore(generation).await
    }

    fn use_generation(&self, generation: &str) {
        self.inner.use_generation(generation);
    }

    async fn identity(&self) -> Result<Option<Identity>> {
        self.inner.identity().await
    }

    async fn drop_entries(&self) -> Result<()> {
        self.inner.drop_entries().await
    }

    async fn clear(&self) -> Result<()> {
        self.inner.clear().await
    }
}
