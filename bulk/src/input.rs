//! Job inputs: the sources of rows.

use std::{
    convert::Infallible,
    error::Error,
    fmt,
    io::Read,
    path::{Path, PathBuf},
};

use futures_core::Stream;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tempfile::TempPath;

use crate::error::Result;

mod cells;
mod columns;
mod csv_rows;
mod json;
mod json_rows;
mod layout;
mod position;
mod read_error;
mod row;
mod row_problem;
mod rows;
mod source;
mod spool;
mod stream;
mod utf16;

pub(crate) use columns::{Columns, OWN_COLUMNS};
pub(crate) use layout::Layout;
pub use layout::detect_delimiter;
pub(crate) use position::Position;
pub(crate) use read_error::ReadError;
pub(crate) use row::{Reading, Row, Values};
pub use row_problem::RowProblem;
pub(crate) use rows::{Record, Rows};
pub(crate) use source::{Fingerprint, Source};
use stream::spool_rows;

/// The maximum length of a row in the input, in bytes: 4 MiB.
pub(crate) const MAX_ROW: u64 = 4 << 20;
/// The maximum length of a field of a CSV row, in bytes: 1 MiB.
pub(crate) const MAX_FIELD: usize = 1 << 20;
/// The maximum number of columns.
pub(crate) const MAX_COLUMNS: usize = 4_096;

/// The format of an input.
///
/// # CSV and TSV
///
/// The first line names the columns: `to`, `cc`, `bcc`, `reply_to`, `from`, `subject`, `text`, `html`, `template`, `topic_id`, `scheduled_at`,
/// `attachment`, `var:NAME`, `tag:NAME` and `header:NAME`. For a variable that the message's templates use, the `var:` prefix is optional. Multiple
/// addresses or attachments in a cell are separated by `;`; an attachment is the path of a file in the input's folder or below. An empty cell leaves
/// the message's default. A row whose cells are all empty is skipped.
///
/// The encoding is UTF-8 with or without a byte order mark, or UTF-16 with one. A row is limited to 4 MiB, a cell to 1 MiB.
///
/// # JSON Lines
///
/// Each line is a JSON object: an email as in the service's API; fields that the message provides as defaults can be omitted. Two fields exist only
/// here: `variables`, an object of strings and numbers for the templates of the message or for a stored template, and `attachment`, a file path or an
/// array of paths. A line is limited to 4 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values. The delimiter (`,`, `;` or tab) is detected from the first line.
    Csv,
    /// Tab-separated values, with the quoting of CSV.
    Tsv,
    /// One JSON object per line.
    JsonLines,
}

/// A job's input: a file, standard input, a reader, or rows from the application.
///
/// Planning copies the rows to the job's folder, decompressing gzip and converting UTF-16 to UTF-8, so later changes to the input don't affect the
/// job.
pub struct Input {
    from: From,
    format: Option<Format>,
    delimiter: Option<u8>,
}

enum From {
    File(PathBuf),
    Reader { name: String, reader: Box<dyn Read + Send> },
    Spooled(TempPath),
}

impl Input {
    fn new(from: From, format: Option<Format>) -> Self {
        Self { from, format, delimiter: None }
    }

    /// Reads a file. The format is derived from its name (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, each optionally with `.gz`), or else from its first
    /// character.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let format = format_of(&path);
        Self::new(From::File(path), format)
    }

    /// Reads a CSV file.
    pub fn csv(path: impl Into<PathBuf>) -> Self {
        Self::new(From::File(path.into()), Some(Format::Csv))
    }

    /// Reads a TSV file.
    pub fn tsv(path: impl Into<PathBuf>) -> Self {
        Self::new(From::File(path.into()), Some(Format::Tsv))
    }

    /// Reads a JSON Lines file.
    pub fn json_lines(path: impl Into<PathBuf>) -> Self {
        Self::new(From::File(path.into()), Some(Format::JsonLines))
    }

    /// Takes rows from the application, each an object in the form of a [`Format::JsonLines`] line. They are written to a temporary file in `dir`,
    /// the folder of the jobs, so that the job can be resumed without the application's rows.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::stream;
    /// use idempost_bulk::Input;
    /// use serde_json::json;
    ///
    /// let customers = vec![("ada@example.com", "Ada"), ("bob@example.com", "Bob")];
    /// let rows = customers.into_iter().map(|(to, name)| json!({"to": to, "variables": {"NAME": name}}));
    /// let input = Input::rows(stream::iter(rows), "jobs").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If the rows may change between calls, name the job ([`Bulk::job`](crate::Bulk::job), [`Bulk::add_rows`](crate::Bulk::add_rows)). Without a
    /// name, changed rows are a different job, which sends to all of them.
    ///
    /// # Errors
    /// [`BulkError::Io`](crate::error::BulkError::Io), and [`BulkError::Input`](crate::error::BulkError::Input) if a row can't be serialized to JSON.
    pub async fn rows<S>(rows: S, dir: impl AsRef<Path>) -> Result<Self>
    where
        S: Stream<Item: Serialize>,
    {
        Self::try_rows(rows.map(Ok::<_, Infallible>), dir).await
    }

    /// Takes rows that may fail to be read, such as a segment's contacts (`client.segments().contacts(id).stream()`) or the results of a query. The
    /// first error ends it, so that no job is planned from only part of the rows. Otherwise, it works like [`rows`](Self::rows).
    ///
    /// # Errors
    /// The errors of [`rows`](Self::rows), and [`BulkError::Rows`](crate::error::BulkError::Rows) if a row can't be read.
    pub async fn try_rows<S, T, E>(rows: S, dir: impl AsRef<Path>) -> Result<Self>
    where
        S: Stream<Item = Result<T, E>>,
        T: Serialize,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        spool_rows(rows, dir.as_ref()).await
    }

    /// Reads standard input. The format is detected from the first character.
    pub fn stdin() -> Self {
        Self::reader("standard input", std::io::stdin())
    }

    /// Reads from a reader; `name` appears in messages. The format is detected from the first character.
    pub fn reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self::new(From::Reader { name: name.into(), reader: Box::new(reader) }, None)
    }

    fn from_spool(path: TempPath) -> Self {
        Self::new(From::Spooled(path), Some(Format::JsonLines))
    }

    /// Sets the format instead of deriving it.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the delimiter of a CSV or TSV file instead of detecting it; an ASCII character such as `b'|'`.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = Some(delimiter);
        self
    }
}

impl Input {
    /// Returns the default name of a job with this input: the name of its file or reader.
    pub(crate) fn job_name(&self) -> Option<String> {
        match &self.from {
            // The number that a shell gives `<(command)` differs between shells.
            From::File(path) if ["/dev/fd", "/proc/self/fd"].iter().any(|fds| path.starts_with(fds)) => {
                Some("pipe".to_owned())
            }
            From::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            From::Reader { name, .. } => Some(name.clone()),
            From::Spooled(_) => None,
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.from {
            From::File(path) => path.display().to_string(),
            From::Reader { name, .. } => name.clone(),
            From::Spooled(_) => "rows".to_owned(),
        };
        f.debug_struct("Input").field("from", &name).field("format", &self.format).finish_non_exhaustive()
    }
}

fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "jsonl" | "ndjson" => Some(Format::JsonLines),
        _ => None,
    }
}
