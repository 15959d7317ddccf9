//! The file of invalid rows: `invalid.csv`.

use std::path::{Path, PathBuf};

use csv::WriterBuilder;

use crate::{
    error::Result,
    input::{Format, Layout, OWN_COLUMNS, Record, RowProblem},
    list::List,
};

pub(super) const NAME: &str = "invalid.csv";

/// Writes invalid rows with their problems: the columns of the input, then `_row` and `_problem`, so that the corrected file can be the input of
/// another job. Cells beyond the header follow at the end. For JSON Lines, the columns are `_row`, `_problem` and `_json`.
pub(super) struct InvalidRows<'a> {
    layout: &'a Layout,
    list: List,
}

impl<'a> InvalidRows<'a> {
    pub(super) fn create(dir: &Path, layout: &'a Layout) -> Result<Self> {
        let json = layout.format == Format::JsonLines;
        // Spreadsheet programs need a byte order mark to read UTF-8; an input with one was probably saved by such a program.
        let start = if layout.has_bom && !json { "\u{feff}" } else { "" };
        let delimiter = if json { b',' } else { layout.delimiter };
        let names = layout.columns.names.iter().map(String::as_str);
        let names = names.filter(|name| !OWN_COLUMNS.contains(name));
        let header: Vec<&str> = names.chain(OWN_COLUMNS).chain(json.then_some("_json")).collect();
        let mut form = WriterBuilder::new();
        form.delimiter(delimiter).flexible(true);
        Ok(Self { layout, list: List::create_with(&dir.join(NAME), &header, &form, start)? })
    }

    pub(super) fn push(&mut self, row: u64, problems: &[RowProblem], record: Record<'_>) -> Result<()> {
        let row = row.to_string();
        let problems: Vec<_> = problems.iter().map(RowProblem::without_location).collect();
        let problems = problems.join("; ");
        let own = [row.as_str(), &problems];
        match record {
            Record::Json(line) => self.list.row(own.into_iter().chain([line])),
            Record::Cells(cells) => {
                let names = &self.layout.columns.names;
                let kept = (0..names.len()).filter(|index| !OWN_COLUMNS.contains(&names[*index].as_str()));
                let beyond = names.len()..cells.len();
                let (kept, beyond) =
                    (kept.map(|index| cells.get(index)), beyond.map(|index| cells.get(index)));
                self.list.row(kept.chain(own).chain(beyond))
            }
        }
    }

    /// Makes the file durable.
    pub(super) fn finish(self) -> Result<Option<PathBuf>> {
        self.list.finish()
    }
}
