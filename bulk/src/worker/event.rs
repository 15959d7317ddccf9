//! Events of a worker.

use std::time::Duration;

/// An event of a running worker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerEvent {
    /// The worker waits for the job.
    Waiting {
        /// The reason.
        reason: String,
    },
    /// A batch has a result.
    Settled {
        /// The batch.
        batch: u32,
    },
    /// All workers pause because the service requested it.
    Paused {
        /// The time until the next request.
        remaining: Duration,
        /// The reason.
        reason: String,
    },
    /// The queue doesn't respond. The worker continues once it does.
    QueueUnavailable {
        /// The last failure.
        reason: String,
    },
    /// The queue responds again.
    QueueAvailable,
    /// Processing a batch panicked. The queue delivers it again when its lease expires.
    Panicked,
}

/// How a worker ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerEnding {
    /// Every batch of the job has a result.
    Finished,
    /// The job was canceled.
    Canceled,
    /// There was nothing to send, and the worker was configured to [leave when idle](super::WorkerOptions::leave_when_idle).
    Idle,
    /// The worker was stopped.
    #[default]
    Stopped,
    /// The service rejected this worker's credential, or its connection isn't trusted. Other workers continue.
    Unauthorized {
        /// The service's message.
        reason: String,
    },
}

/// The results of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// How the worker ended.
    pub ending: WorkerEnding,
    /// The batches for which it recorded a result.
    pub batches: u64,
    /// The requests that the worker sent.
    pub requests: u64,
    /// The responses with status 429.
    pub throttled: u64,
    /// The requests that repeated another worker's attempt under the same key.
    pub replayed: u64,
}
