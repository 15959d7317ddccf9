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
    pub(crate) budget_exhausted: bool,
}

impl CallSummary {
    /// The summary of one request that isn't part of a call.
    pub(super) fn of_request(outcome: Outcome) -> Self {
        Self {
            operation: "",
            attempts: 1,
            idempotency_key: None,
            outcome,
            retryable: false,
            budget_exhausted: false,
        }
    }
}

/// Implements the accessors of an error that contains the summary of its call.
macro_rules! call_accessors {
    ($error:ident) => {
        impl $error {
            /// Returns the number of attempts.
            pub fn attempts(&self) -> u32 {
                self.call.attempts
            }

            /// Returns the idempotency key of all attempts, if the service honors one for this operation.
            pub fn idempotency_key(&self) -> Option<&crate::types::IdempotencyKey> {
                self.call.idempotency_key.as_ref()
            }
        }
    };
}

pub(super) use call_accessors;
