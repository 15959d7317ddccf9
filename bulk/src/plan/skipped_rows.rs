//! The file of rows that are skipped on purpose: `skipped.csv`.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use csv::Writer;

use super::invalid_rows::finished;
use crate::{
    error::{BulkError, Result},
    files,
};

pub(super) const NAME: &str = "skipped.csv";

/// Writes skipped rows with number, recipient and reason. The file is created when the first row is written.
pub(super) struct SkippedRows {
    path: PathBuf,
    writer: Option<Writer<BufWriter<File>>>,
}

impl SkippedRows {
    pub(super) fn new(dir: &Path) -> Self {
        Self { path: dir.join(NAME), writer: None }
    }

    pub(super) fn push(&mut self, row: u64, to: &[String], reason: &str) -> Result<()> {
        let writing = |error: csv::Error| BulkError::io("write", &self.path)(error.into());
        let mut writer = if let Some(writer) = self.writer.take() {
            writer
        } else {
            let mut writer = Writer::from_writer(BufWriter::new(files::create(&self.path)?));
            writer.write_record(["row", "recipient", "reason"]).map_err(writing)?;
            writer
        };
        writer.write_record([row.to_string().as_str(), &to.join("; "), reason]).map_err(writing)?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Makes the file durable.
    pub(super) fn finish(self) -> Result<()> {
        self.writer.map_or(Ok(()), |writer| finished(writer, &self.path))
    }
}
