//! The state of a call across all its attempts. It alone determines the outcome and whether to retry.
//!
//! Each attempt ends in one [`AttemptResult`]. The outcome follows from all results so far, by three rules:
//!
//! 1. Once the service has accepted an attempt, the outcome is [`Outcome::Accepted`], whatever a later attempt returns: a rejection of the second
//!    request doesn't undo the first.
//! 2. Once a result has left the outcome open, it stays [`Outcome::Unknown`] until an attempt is accepted.
//! 3. Otherwise nothing was done, and the last result decides between [`Outcome::NotSent`] and [`Outcome::Rejected`].
//!
//! A retry is safe if nothing can have been done yet (rule 3), or if the operation is idempotent: reads, `PUT`, `PATCH`, `DELETE`, and sends, which
//! have an idempotency key that the service still remembers. It is worthwhile if the last result was transient. [`CallState::is_retryable`] combines
//! both; the retry loop, [`Error::is_retryable`](crate::Error::is_retryable) and the error's text are derived from it.

use std::sync::Arc;

use crate::error::{CallSummary, Outcome};
use crate::types::IdempotencyKey;

/// Receives the outcome that a call has if it is dropped.
pub(crate) type OutcomeListener = Arc<dyn Fn(Outcome) + Send + Sync>;

/// The result of an attempt that didn't return a value. `transient`: the same request may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    /// Nothing of the request reached the service; or the operation is a read, and no complete response arrived.
    NotSent { transient: bool },
    /// The service rejected the request before acting on it.
    Rejected { transient: bool },
    /// The request was sent, and it is unknown whether the service acted.
    Unknown { transient: bool },
    /// The service accepted the request, but its response can't be read.
    Accepted { transient: bool },
}

/// Whether a request may reach the service more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idempotency {
    /// The service executes only one of all requests with the same idempotency key.
    Keyed,
    /// Executing it twice has the same effect as executing it once.
    Idempotent,
    /// Executing it twice may act twice.
    NotIdempotent,
}

/// The attempts of one call so far.
#[derive(Debug)]
pub(crate) struct CallState {
    pub(crate) operation: &'static str,
    pub(crate) attempts: u32,
    /// The idempotency key, if the service honors one for this operation.
    pub(crate) key: Option<IdempotencyKey>,
    idempotency: Idempotency,
    outcome: Outcome,
    transient: bool,
}

impl CallState {
    pub(crate) fn new(
        operation: &'static str,
        idempotency: Idempotency,
        key: Option<IdempotencyKey>,
    ) -> Self {
        Self { operation, attempts: 0, key, idempotency, outcome: Outcome::NotSent, transient: false }
    }

    /// Records the result of an attempt. Returns whether a retry is safe and worthwhile.
    pub(crate) fn record(&mut self, result: AttemptResult) -> bool {
        let (outcome, transient) = match result {
            AttemptResult::NotSent { transient } => (Outcome::NotSent, transient),
            AttemptResult::Rejected { transient } => (Outcome::Rejected, transient),
            AttemptResult::Unknown { transient } => (Outcome::Unknown, transient),
            AttemptResult::Accepted { transient } => (Outcome::Accepted, transient),
        };
        self.transient = transient;
        self.outcome = match (self.outcome, outcome) {
            (Outcome::Accepted, _) => Outcome::Accepted,
            (Outcome::Unknown, Outcome::NotSent | Outcome::Rejected) => Outcome::Unknown,
            (_, outcome) => outcome,
        };
        self.is_retryable()
    }

    /// Returns whether the operation was executed, as far as the client knows.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Returns whether the service may have acted.
    pub(crate) fn may_have_acted(&self) -> bool {
        !matches!(self.outcome, Outcome::NotSent | Outcome::Rejected)
    }

    /// Returns whether the same request may succeed later and can't act twice.
    pub(crate) fn is_retryable(&self) -> bool {
        self.transient && (!self.may_have_acted() || self.idempotency != Idempotency::NotIdempotent)
    }

    /// Records that the service may have forgotten the idempotency key, so that another attempt could act twice.
    pub(crate) fn expire_key(&mut self) {
        (self.key, self.idempotency) = (None, Idempotency::NotIdempotent);
    }

    /// Returns the summary included in an error.
    pub(crate) fn summary(&self) -> CallSummary {
        CallSummary {
            operation: self.operation,
            attempts: self.attempts,
            idempotency_key: self.key.clone(),
            outcome: self.outcome,
            retryable: self.is_retryable(),
            budget_exhausted: false,
        }
    }
}
