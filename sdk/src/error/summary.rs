//! The summary of a call, included in its error.

use crate::types::IdempotencyKey;

/// Whether an operation was executed. Treat values added in later versions like [`Unknown`](Self::Unknown).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Not executed: the request never reached the service, or it was a read.
    NotSent,
    /// Not executed: the service rejected it.
    Rejected,
    /// Possibly executed.
    Unknown,
    /// Executed. In an error, this means that the result is missing: for an unreadable response, see
    /// [`DecodeError::id`](crate::error::DecodeError::id).
    Accepted,
}

/// The state of a call when it ends.
#[derive(Clone, Debug)]
pub(crate) struct CallSummary {
    pub(crate) operation: &'static str,
    pub(crate) attempts: u32,
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    pub(crate) outcome: Outcome,
    pub(crate) retryable: bool,
}
