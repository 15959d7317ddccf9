//! The queue that the workers of a job share, and the records in it that decide what may be sent.
//!
//! # Why a lost queue loses no row and sends none twice
//!
//! A [`Queue`] only distributes work. It may deliver a batch twice, in any order, or lose it: none of this is an error. What decides is the
//! [`Ledger`]:
//!
//! 1. **No request leaves without a durable intent**, and at most one record per batch is the intent: it is created only if there is
//!    none, and each further attempt replaces exactly the version that it has read. So all workers agree on the time of the first attempt and
//!    on the hash of the body, and with them on the idempotency key.
//! 2. **The intent is withdrawn only by the worker that wrote its latest version**, and only after an attempt that provably wasn't
//!    executed. A worker that joined in between has replaced that version, so the withdrawal fails and the earlier time stays.
//! 3. **A batch is done only with a result**, of which the first is kept. A worker that is delivered a batch with an intent looks for its
//!    result before it sends.
//! 4. **The coordinator has the plan and copies every intent and result into its journal.** When the queue is empty and batches have no
//!    result, it adds them again. When the ledger itself is lost, it restores the records it has; for the others, the time of its last look
//!    at the lost ledger counts as the time of a first attempt, since nothing that it hasn't seen can be older.
//!
//! So a batch that is sent twice carries the same key and the same bytes, within the lifetime of the key; where that isn't certain, it
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
pub use ledger::{Entry, Intended, Intent, IntentState, Ledger, StoredIntent};
pub use nats::{NatsJob, NatsQueue};
pub use options::{QueueAuth, QueueOptions};
pub use storage::{Cell, CellKey, Identity, Storage};

use std::{future::Future, time::Duration};

/// A result whose error is [`QueueError`].
pub type Result<T, E = QueueError> = std::result::Result<T, E>;

/// Everything that a distributed job needs of a back end.
pub trait Backend: Queue + Ledger + Storage {}

impl<B: Queue + Ledger + Storage> Backend for B {}

/// A batch that a worker has leased from the queue. Unless the worker extends the lease, the queue delivers the batch again after a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The batch.
    pub batch: u32,
    /// How often the queue has delivered this entry, this time included. It starts again at 1 when the batch is added again.
    pub deliveries: u32,
    /// The back end's reference to this delivery.
    pub token: String,
}

/// The entries of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Entries that wait for a worker.
    pub waiting: u64,
    /// Entries that are leased.
    pub leased: u64,
}

impl QueueStats {
    /// Returns whether the queue has no entries.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0 && self.leased == 0
    }
}

/// Distributes the batches of one job over workers. It may deliver a batch more than once and may lose it; see the [module's
/// documentation](self).
pub trait Queue: Send + Sync + 'static {
    /// Adds batches. Within minutes, adding a batch again in the same round has no effect, so an interrupted call can be repeated; a batch that
    /// the queue has lost needs another round.
    fn put(&self, batches: &[u32], round: u32) -> impl Future<Output = Result<()>> + Send;

    /// Leases the next batch, or returns `None` if there is none within the time.
    fn take(&self, wait: Duration) -> impl Future<Output = Result<Option<Lease>>> + Send;

    /// Extends a lease to its whole time again.
    fn extend(&self, lease: &Lease) -> impl Future<Output = Result<()>> + Send;

    /// Removes a batch that has a result.
    fn done(&self, lease: &Lease) -> impl Future<Output = Result<()>> + Send;

    /// Returns a batch unfinished, for another worker. It doesn't count as a failed delivery: [`Lease::deliveries`] starts again.
    fn reject(&self, lease: &Lease) -> impl Future<Output = Result<()>> + Send;

    /// Shows the coordinator that the job has a worker, until the call is dropped.
    fn attend(&self) -> impl Future<Output = Result<()>> + Send;

    /// Returns whether the job has a worker.
    fn is_attended(&self) -> impl Future<Output = Result<bool>> + Send;

    /// Counts the entries.
    fn stats(&self) -> impl Future<Output = Result<QueueStats>> + Send;
}
