//! The file of invalid rows: `invalid.csv`.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use csv::{Writer, WriterBuilder};

use crate::{
    error::{BulkError, Result},
    files,
    input::{Format, Layout, OWN_COLUMNS, Record, RowProblem},
};

pub(super) const NAME: &str = "invalid.csv";

/// Writes invalid rows with their problems: the columns of the input, then `_row` and `_problem`, so that the corrected file can be the input of
/// another job. Cells beyond the header follow at the end. For JSON Lines, the columns are `_row`, `_problem` and `_json`.
///
/// The file is created when the first row is written.
pub(super) struct InvalidRows<'a> {
    path: PathBuf,
    layout: &'a Layout,
    writer: Option<Writer<BufWriter<File>>>,
}

impl<'a> InvalidRows<'a> {
    pub(super) fn new(dir: &Path, layout: &'a Layout) -> Self {
        Self { path: dir.join(NAME), layout, writer: None }
    }

    pub(super) fn push(&mut self, row: u64, problems: &[RowProblem], record: Record<'_>) -> Result<()> {
        if self.writer.is_none() {
            self.writer = Some(self.create()?);
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let row = row.to_string();
        let problems: Vec<_> = problems.iter().map(RowProblem::without_location).collect();
        let own = [row.as_str(), &problems.join("; ")].map(str::to_owned);
        let names = &self.layout.columns.names;
        let written = match record {
            Record::Json(line) => writer.write_record(own.iter().map(String::as_str).chain([line])),
            Record::Cells(cells) => {
                let kept = (0..names.len()).filter(|index| !OWN_COLUMNS.contains(&names[*index].as_str()));
                let cells_of_header = kept.map(|index| cells.get(index));
                let beyond = (names.len()..cells.len()).map(|index| cells.get(index));
                writer.write_record(cells_of_header.chain(own.iter().map(String::as_str)).chain(beyond))
            }
        };
        written.map_err(|error| BulkError::io("write", &self.path)(error.into()))
    }

    fn create(&self) -> Result<Writer<BufWriter<File>>> {
        let writing = |error| BulkError::io("write", &self.path)(error);
        let mut file = BufWriter::new(files::create(&self.path)?);
        let json = self.layout.format == Format::JsonLines;
        // Spreadsheet programs need a byte order mark to read UTF-8; an input with one was probably saved by such a program.
        if self.layout.has_bom && !json {
            file.write_all("\u{feff}".as_bytes()).map_err(writing)?;
        }
        let delimiter = if json { b',' } else { self.layout.delimiter };
        let mut writer = WriterBuilder::new().delimiter(delimiter).flexible(true).from_writer(file);
        let names = self.layout.columns.names.iter().map(String::as_str);
        let names = names.filter(|name| !OWN_COLUMNS.contains(name));
        let header: Vec<&str> = names.chain(OWN_COLUMNS).chain(json.then_some("_json")).collect();
        writer.write_record(header).map_err(|error| writing(error.into()))?;
        Ok(writer)
    }

    /// Makes the file durable.
    pub(super) fn finish(self) -> Result<()> {
        self.writer.map_or(Ok(()), |writer| finished(writer, &self.path))
    }
}

/// Makes a file durable.
pub(super) fn finished(writer: Writer<BufWriter<File>>, path: &Path) -> Result<()> {
    let writing = |error| BulkError::io("write", path)(error);
    let file = writer.into_inner().map_err(|error| writing(error.into_error()))?;
    let file = file.into_inner().map_err(|error| writing(error.into_error()))?;
    file.sync_all().map_err(writing)
}
