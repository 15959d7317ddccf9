//! Counts of a plan.

use serde::{Deserialize, Serialize};

/// The counts of a plan. `rows` is the sum of `valid`, `invalid`, `blank`, `repeated`, `known`, `skipped` and `suppressed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// The rows that were read; with a limit, the rows up to that limit.
    pub rows: u64,
    /// The valid rows that the plan sends, one email each.
    pub valid: u64,
    /// The invalid rows.
    pub invalid: u64,
    /// The rows with only empty cells, which are skipped.
    pub blank: u64,
    /// The problems of invalid rows.
    pub problems: u64,
    /// The rows with the same key as an earlier row in the input; each key is sent once.
    pub repeated: u64,
    /// The rows that an earlier part of the job already holds.
    pub known: u64,
    /// The changed rows skipped because of [`ChangedRows::Skip`](crate::ChangedRows::Skip).
    pub skipped: u64,
    /// The rows with a suppressed recipient.
    #[serde(default)]
    pub suppressed: u64,
    /// The valid rows with the same `to` as an earlier one; they are sent anyway.
    pub duplicates: u64,
    /// The valid rows that an earlier part of the job sent and the service rejected.
    pub retried_rejected: u64,
    /// The valid rows that an earlier part of the job sent with an unknown outcome.
    pub retried_unknown: u64,
    /// The valid rows of an earlier part of the job that was canceled before it sent them.
    #[serde(default)]
    pub retried_unsent: u64,
    /// The recipients of all emails in `to`, `cc` and `bcc`.
    pub recipients: u64,
    /// The requests that send a batch of up to 100 emails.
    pub batches: u64,
    /// The requests that send a single email, because it has an attachment or a schedule.
    pub singles: u64,
    /// The total size of all requests, in bytes of JSON.
    pub bytes: u64,
}

impl Counts {
    /// Returns the number of rows that an earlier part of the job sent without success.
    pub(crate) fn retried(&self) -> u64 {
        self.retried_rejected + self.retried_unknown
    }
}
