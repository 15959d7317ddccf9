//! Counts of a plan.

use serde::{Deserialize, Serialize};

/// The counts of a plan. `rows` is the sum of `valid`, `invalid` and `blank`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// The rows that were read; with a limit, the rows up to it.
    pub rows: u64,
    /// The valid rows, each of which is an email.
    pub valid: u64,
    /// The invalid rows.
    pub invalid: u64,
    /// The rows of empty cells, which are skipped.
    pub blank: u64,
    /// The problems of invalid rows.
    pub problems: u64,
    /// The valid rows with the same `to` as an earlier one, which are sent nevertheless; `None` beyond 2,000,000 valid rows.
    pub duplicates: Option<u64>,
    /// The recipients of all emails, in `to`, `cc` and `bcc`.
    pub recipients: u64,
    /// The requests with a batch of up to 100 emails.
    pub batches: u64,
    /// The requests with a single email, because it has an attachment or a schedule.
    pub singles: u64,
    /// The size of all requests, in bytes of JSON.
    pub bytes: u64,
}
