//! What a worker reports.

use std::time::Duration;

/// An event of a running worker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerEvent {
    /// The worker waits for the job.
    Waiting {
        /// Why.
        reason: String,
    },
    /// A batch has a result.
    Settled {
        /// The batch.
        batch: u32,
    },
    /// All workers pause: the service asked for it.
    Paused {
        /// The time until the next request.
        remaining: Duration,
        /// Why.
        reason: String,
    },
    /// The queue doesn't respond. The worker waits, and continues when it does.
    QueueUnavailable {
        /// The last failure.
        reason: String,
    },
    /// The queue responds again.
    QueueAvailable,
    /// The processing of a batch panicked. Another delivery follows when its lease expires.
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
    /// There was nothing to send, and the worker should [leave the job then](super::WorkerOptions::leave_when_idle).
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

/// What a worker did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// How it ended.
    pub ending: WorkerEnding,
    /// The batches that it gave a result.
    pub batches: u64,
    /// The requests that it sent.
    pub requests: u64,
    /// The responses with status 429.
    pub throttled: u64,
    /// The requests that repeated an attempt of another worker under the same key.
    pub replayed: u64,
}
