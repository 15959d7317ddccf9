//! What a coordinator remembers about the queue besides the journal: `queue.json` in the job's folder.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    error::{BulkError, Result},
    files,
    folder::QUEUE,
    queue::Identity,
};

/// What a coordinator remembers about the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The generation of the job's data in the queue.
    pub(super) generation: Option<String>,
    /// The ledger and the queue of this generation.
    pub(super) identity: Option<Identity>,
    /// The position of the last intent read.
    pub(super) last_intent: u64,
    /// The position of the last result read.
    pub(super) last_result: u64,
    /// All intents up to this time were read, in milliseconds since the Unix epoch by the queue's clock.
    pub(super) seen_until: Option<u64>,
}

impl Memory {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(QUEUE);
        let Some(text) = files::read_if_exists(&path)? else { return Ok(Self::default()) };
        serde_json::from_slice(&text).map_err(|error| BulkError::io("read", path)(error.into()))
    }

    pub(super) fn save(&self, dir: &Path) -> Result<()> {
        files::replace_json(&dir.join(QUEUE), self)
    }
}
