//! Lists of rows as CSV, readable only by the owner.

use std::{
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use csv::{Writer, WriterBuilder};
use tempfile::NamedTempFile;

use crate::{
    error::{BulkError, Result},
    files,
};

/// A list that appears under its path when it is complete, unless it is empty.
pub(crate) struct List {
    path: PathBuf,
    writer: Writer<BufWriter<NamedTempFile>>,
    rows: u64,
}

impl List {
    pub(crate) fn create(path: &Path, header: &[&str]) -> Result<Self> {
        Self::create_with(path, header, &WriterBuilder::new(), "")
    }

    /// Creates a list in this form, behind these characters.
    pub(crate) fn create_with(
        path: &Path,
        header: &[&str],
        form: &WriterBuilder,
        start: &str,
    ) -> Result<Self> {
        let created = NamedTempFile::new_in(files::parent(path)).map(BufWriter::new);
        let started = created.and_then(|mut file| {
            file.write_all(start.as_bytes())?;
            let mut writer = form.from_writer(file);
            writer.write_record(header)?;
            Ok(writer)
        });
        let writer = started.map_err(BulkError::io("write", path))?;
        Ok(Self { path: path.to_owned(), writer, rows: 0 })
    }

    pub(crate) fn row<'a>(&mut self, fields: impl IntoIterator<Item = &'a str>) -> Result<()> {
        self.rows += 1;
        self.writer.write_record(fields).map_err(|error| BulkError::io("write", &self.path)(error.into()))
    }

    /// Makes the list durable and moves it to its path. Without rows, removes an earlier list from there.
    pub(crate) fn finish(self) -> Result<Option<PathBuf>> {
        let Self { path, writer, rows } = self;
        if rows == 0 {
            return files::remove(&path).map(|()| None);
        }
        let saved = writer.into_inner().map_err(csv::IntoInnerError::into_error).and_then(|buffer| {
            let file = buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        });
        saved.map_err(BulkError::io("write", &path))?;
        Ok(Some(path))
    }
}
