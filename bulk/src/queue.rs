//! The queue shared by a job's workers, and the records in it that decide what may be sent.
//!
//! # Why a lost queue loses no row and sends none twice
//!
//! A [`Queue`] only distributes work. It may deliver a batch twice, deliver batches in any order, or lose them: none of this is an error. The
//! [`Ledger`] decides what is sent:
//!
//! 1. **Every request requires a durable intent**, and each batch has at most one: an intent is created only if there is none, and each further
//!    attempt replaces exactly the version that it has read. All workers therefore agree on the time of the first attempt and the hash of the body,
//!    and so on the idempotency key. If the batch is split, the intent contains the same for each of its emails, and their outcomes.
//! 2. **The intent is withdrawn only by the worker that wrote its latest version**, and only after an attempt that provably wasn't
//!    executed. A worker that joined in between has replaced that version, so the withdrawal fails and the earlier time stays.
//! 3. **A batch is done only with a result**, and the first result is kept. A worker that receives a batch with an intent checks for a result before
//!    it sends.
//! 4. **The coordinator has the plan and copies every intent and result into its journal.** If the queue is empty and batches have no result, it adds
//!    them again. If the ledger itself is lost, it restores the records that it has. For all others, it counts the time of its last look at the lost
//!    ledger as the first attempt, since an intent that it hasn't seen can't be older.
//!
//! A batch that is sent twice therefore has the same key and the same bytes, within the lifetime of the key; where that isn't certain, the batch
//! becomes unknown and isn't sent.

mod control;
mod durability;
mod error;
mod ledger;
mod nats;
mod options;
mod storage;
mod wire;

pub use control::{Control, ControlState, JobFile, Priority, RunningJob, set_state};
pub(crate) use control::{load_control, pause, store_control};
pub use durability::Durability;
pub use error::QueueError;
pub use ledger::{EmailIntent, Entry, Intent, IntentResult, IntentState, Ledger, StoredIntent};
pub use nats::{NatsJob, NatsQueue};
pub use options::{QueueAuth, QueueOptions};
pub use storage::{Cell, CellKey, Identity, Storage};

use std::{future::Future, time::Duration};

/// The pause after a failed call to the queue.
pub(crate) const RETRY: Duration = Duration::from_millis(250);

/// A result whose error is [`QueueError`].
pub type Result<T, E = QueueError> = std::result::Result<T, E>;

/// Everything that a distributed job needs from a back end.
pub trait Backend: Queue + Ledger + Storage {}

impl<B: Queue + Ledger + Storage> Backend for B {}

/// A batch that a worker has leased from the queue. Unless the worker extends the lease, the queue eventually delivers the batch again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The batch.
    pub batch: u32,
    /// How many times the queue has delivered this entry, including this delivery. Restarts at 1 when the batch is added again.
    pub deliveries: u32,
    /// The back end's identifier for this delivery.
    pub token: String,
}

/// The number of entries in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Entries waiting for a worker.
    pub waiting: u64,
    /// Leased entries.
    pub leased: u64,
}

impl QueueStats {
    /// Returns whether the queue has no entries.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0 && self.leased == 0
    }
}

/// Distributes a job's batches to workers. It may deliver a batch more than once and may lose it; see the [module documentation](self).
pub trait Queue: Send + Sync + 'static {
    /// Adds batches. Adding a batch again in the same round within minutes has no effect, so an interrupted call can be repeated; a batch that the
    /// queue has lost needs a new round.
    fn put(&self, batches: &[u32], round: u32) -> impl Future<Output = Result<()>> + Send;

    /// Leases the next batch, or returns `None` if there is none within `wait`.
    fn take(&self, wait: Duration) -> impl Future<Output = Result<Option<Lease>>> + Send;

    /// Renews a lease for its full duration.
    fn extend(&self, lease: &Lease) -> impl Future<Output = Result<()>> + Send;

    /// Removes a batch that has a result.
    fn complete(&self, lease: &Lease) -> impl Future<Output = Result<()>> + Send;

    /// Returns a batch unfinished, for another worker. This doesn't count as a failed delivery: [`Lease::deliveries`] restarts.
    fn reject(&self, lease: &Lease) -> impl Future<Output = Result<()>> + Send;

    /// Signals to the coordinator that the job has a worker, until the call is dropped.
    fn announce_worker(&self) -> impl Future<Output = Result<()>> + Send;

    /// Returns whether the job has a worker.
    fn is_attended(&self) -> impl Future<Output = Result<bool>> + Send;

    /// Counts the entries.
    fn stats(&self) -> impl Future<Output = Result<QueueStats>> + Send;
}
