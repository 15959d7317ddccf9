//! Exports: rows that are written to standard output, or to a file that appears only when complete.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use csv::Writer;
use serde_json::json;

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files::Output;

/// The destination of the rows.
pub(crate) enum Sink {
    Stdout,
    File(Output, PathBuf),
}

impl Sink {
    /// Opens the file, or standard output without one.
    pub(crate) async fn open(path: Option<&Path>) -> Result<Self, Fail> {
        let Some(path) = path else { return Ok(Self::Stdout) };
        Ok(Self::File(Output::open(path).await.map_err(|error| write_failure(path, error))?, path.to_owned()))
    }

    /// Writes encoded rows.
    pub(crate) fn write(&mut self, bytes: &[u8], context: &Context) -> Result<(), Fail> {
        match self {
            Self::Stdout => context.out.print_untrusted(bytes),
            Self::File(file, path) => file.write_all(bytes).map_err(|error| write_failure(path, error)),
        }
    }

    /// Publishes the file, if any, and reports the number of its rows: `12 contacts written to people.csv`.
    pub(crate) fn finish(self, rows: u64, plural: &str, context: &Context) -> Result<(), Fail> {
        let Self::File(file, path) = self else { return Ok(()) };
        file.commit(true).map_err(|error| write_failure(&path, error))?;
        let path = path.display().to_string();
        let document = json!({"object": "export", "rows": rows, "file": path});
        context.out.result(&[format!("{rows} {plural} written to {path}")], &document)
    }
}

/// Encodes rows as CSV.
pub(crate) fn csv_lines<T: AsRef<[u8]>>(rows: &[Vec<T>]) -> Result<Vec<u8>, Fail> {
    let failed = |error: csv::Error| Fail::local("couldn't write a row as CSV", error);
    let mut writer = Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| failed(error.into_error().into()))
}

fn write_failure(path: &Path, error: std::io::Error) -> Fail {
    Fail::local(format!("couldn't write {}", path.display()), error)
}
