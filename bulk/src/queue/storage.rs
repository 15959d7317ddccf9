//! The queue's other data besides entries and ledger: small shared cells, job files, and the queue's identity.

use std::{future::Future, path::Path, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{JobFile, Result};

/// Identifies a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellKey<'a> {
    /// The job's [`Control`](super::Control) record.
    Control,
    /// The rate limit shared by the workers of a scope.
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
    /// Changes when the intents are recreated.
    pub intents: String,
    /// The last position of the intents.
    pub last_intent: u64,
    /// Changes when the results are recreated.
    pub results: String,
    /// The last position of the results.
    pub last_result: u64,
    /// Changes when the queue is recreated.
    pub entries: String,
}

/// One job's storage.
pub trait Storage: Send + Sync + 'static {
    /// Returns the job's name.
    fn job(&self) -> &str;

    /// Returns the duration of a lease without an extension.
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

    /// Stores a job file, unless a file with the same hash is already stored.
    fn upload(&self, file: &JobFile, from: &Path) -> impl Future<Output = Result<()>> + Send;

    /// Copies a job file to this path and verifies its hash. An incomplete or different file never appears there.
    fn download(&self, file: &JobFile, to: &Path) -> impl Future<Output = Result<()>> + Send;

    /// Creates missing streams and this generation's consumer.
    fn restore(&self, generation: &str) -> impl Future<Output = Result<()>> + Send;

    /// Switches to this generation's consumer.
    fn use_generation(&self, generation: &str);

    /// Identifies the ledger and the queue; `None` if any part is missing.
    fn identity(&self) -> impl Future<Output = Result<Option<Identity>>> + Send;

    /// Removes the job's entries from the queue.
    fn drop_entries(&self) -> impl Future<Output = Result<()>> + Send;

    /// Removes a finished or canceled job's entries, records and files. Its control record remains.
    fn clear(&self) -> impl Future<Output = Result<()>> + Send;
}
