//! What the queue stores besides its entries and the ledger: small shared cells, the files of a job, and its own existence.

use std::{future::Future, path::Path, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{JobFile, Result};

/// Names a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellKey<'a> {
    /// The [`Control`](super::Control) of this job.
    Control,
    /// The rate limit that the workers of a scope share.
    Rate(&'a str),
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The value.
    pub value: Bytes,
    /// The version.
    pub revision: u64,
}

/// Identifies a ledger, so that a replaced one is detected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Changes when the intents are created anew.
    pub intents: String,
    /// The last position of the intents.
    pub last_intent: u64,
    /// Changes when the results are created anew.
    pub results: String,
    /// The last position of the results.
    pub last_result: u64,
    /// Changes when the queue is created anew.
    pub entries: String,
}

/// The storage of one job.
pub trait Storage: Send + Sync + 'static {
    /// Returns the name of the job.
    fn job(&self) -> &str;

    /// Returns how long a lease lasts without an extension.
    fn lease_time(&self) -> Duration;

    /// Reads a cell.
    fn load(&self, key: CellKey<'_>) -> impl Future<Output = Result<Option<Cell>>> + Send;

    /// Writes a cell if it still has the expected revision, or doesn't exist if `expected` is `None`. Returns the new revision, or `None` if
    /// the cell has changed.
    fn store(
        &self,
        key: CellKey<'_>,
        value: Bytes,
        expected: Option<u64>,
    ) -> impl Future<Output = Result<Option<u64>>> + Send;

    /// Stores a file of the job. A file with the same hash isn't stored again.
    fn upload(&self, file: &JobFile, from: &Path) -> impl Future<Output = Result<()>> + Send;

    /// Copies a file of the job to this path, and verifies its hash. An incomplete or different file never appears there.
    fn download(&self, file: &JobFile, to: &Path) -> impl Future<Output = Result<()>> + Send;

    /// Creates what is missing: the streams, and the entry point of this generation of the job.
    fn restore(&self, generation: &str) -> impl Future<Output = Result<()>> + Send;

    /// Uses the entry point of this generation of the job.
    fn follow(&self, generation: &str);

    /// Identifies the ledger and the queue; `None` if a part of them doesn't exist.
    fn identity(&self) -> impl Future<Output = Result<Option<Identity>>> + Send;

    /// Removes the entries of the job from the queue.
    fn drop_entries(&self) -> impl Future<Output = Result<()>> + Send;

    /// Removes the entries, the records and the files of a job that is finished or canceled. Its control record stays.
    fn clear(&self) -> impl Future<Output = Result<()>> + Send;
}
