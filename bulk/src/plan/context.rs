//! What planning and preparing have in common, so that both read the rows in the same way.

use std::{
    fs::File,
    io::{Seek as _, SeekFrom},
};

use super::{Selection, composer::Composer, job::JobOptions};
use crate::{
    error::{BulkError, Result},
    input::{Fingerprint, Layout, Rows, Source},
    message::Message,
};

/// An input with its layout, and the composer of its emails.
pub(super) struct Context {
    pub(super) source: Source,
    pub(super) layout: Layout,
    pub(super) composer: Composer,
    /// The rows of the job; `None` for all.
    selection: Option<Selection>,
}

impl Context {
    pub(super) fn new(source: Source, message: &Message, options: &JobOptions) -> Result<Self> {
        let compiled = message.compile().map_err(BulkError::Input)?;
        let layout = Layout::read(&source, &compiled, &options.ignore_columns)?;
        let composer = Composer::new(compiled, options, &source.folder)?;
        Ok(Self { source, layout, composer, selection: options.rows.clone() })
    }

    /// Returns whether a row belongs to the job.
    pub(super) fn selects(&self, row: u64) -> bool {
        self.selection.as_ref().is_none_or(|selection| selection.contains(row))
    }

    /// Reads from the first row on, also returning a handle for the file's metadata.
    pub(super) fn rows(&self) -> Result<(Rows, File)> {
        let reading = |error| BulkError::io("read", &self.source.path)(error);
        let mut file = self.source.open()?;
        file.seek(SeekFrom::Start(self.layout.first.offset)).map_err(reading)?;
        let handle = file.try_clone().map_err(reading)?;
        Ok((Rows::new(file, &self.layout), handle))
    }
}

/// Checks that an input is the planned one: by size and time, or else by its content. Returns the fingerprint with the current time.
pub(super) fn verify_input(source: &Source, file: &File, planned: &Fingerprint) -> Result<Fingerprint> {
    let reading = |error| BulkError::io("read", &source.path)(error);
    let metadata = file.metadata().map_err(reading)?;
    if planned.matches(&metadata) {
        return Ok(planned.clone());
    }
    let changed =
        || BulkError::PlanChanged(format!("{} changed since it was planned", source.path.display()));
    if metadata.len() != planned.size {
        return Err(changed());
    }
    // A handle of its own, because a clone has the same position.
    let current = Fingerprint::of(&source.open()?).map_err(reading)?;
    if current.blake3 == planned.blake3 { Ok(current) } else { Err(changed()) }
}
