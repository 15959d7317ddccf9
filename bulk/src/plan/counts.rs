//! Counts of a plan.

use serde::{Deserialize, Serialize};

/// The counts of a plan. `rows` is the sum of `valid`, `invalid`, `blank`, `repeated`, `known`, `skipped` and `suppressed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// The rows that were read; with a limit, the rows up to it.
    pub rows: u64,
    /// The valid rows that the plan sends, each of which is an email.
    pub valid: u64,
    /// The invalid rows.
    pub invalid: u64,
    /// The rows of empty cells, which are skipped.
    pub blank: u64,
    /// The problems of invalid rows.
    pub problems: u64,
    /// The rows with the same key as an earlier row of the input, which are sent once.
    pub repeated: u64,
    /// The rows that an earlier part of the job has.
    pub known: u64,
    /// The changed rows that [`ChangedRows::Skip`](crate::ChangedRows::Skip) leaves out.
    pub skipped: u64,
    /// The rows with a suppressed recipient.
    #[serde(default)]
    pub suppressed: u64,
    /// The valid rows with the same `to` as an earlier one, which are sent nevertheless.
    pub duplicates: u64,
    /// The valid rows that an earlier part of the job has, where they were rejected.
    pub retried_rejected: u64,
    /// The valid rows that an earlier part of the job has, where their outcome is unknown.
    pub retried_unknown: u64,
    /// The recipients of all emails, in `to`, `cc` and `bcc`.
    pub recipients: u64,
    /// The requests with a batch of up to 100 emails.
    pub batches: u64,
    /// The requests with a single email, because it has an attachment or a schedule.
    pub singles: u64,
    /// The size of all requests, in bytes of JSON.
    pub bytes: u64,
}
