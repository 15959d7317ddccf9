//! What an error says about the call that it ended.

use crate::types::IdempotencyKey;

/// Whether the thing that was asked for was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing was done: the request never reached the service, or it was a read.
    NotSent,
    /// Nothing was done: the service refused.
    Rejected,
    /// It may have been done.
    Unknown,
    /// It was done.
    Accepted,
}

/// A call when it ended.
#[derive(Clone, Debug)]
pub(crate) struct CallSummary {
    pub(crate) operation: &'static str,
    pub(crate) attempts: u32,
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    pub(crate) outcome: Outcome,
    pub(crate) retryable: bool,
}
