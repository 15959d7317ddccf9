//! Whether a request may be repeated.

/// Whether a request that may already have been carried out can be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Idempotency {
    /// Twice does no more than once: reads, changes to absolute values, deletions, sends with an `Idempotency-Key`.
    Idempotent,
    /// Twice may do the thing twice.
    NotIdempotent,
}
