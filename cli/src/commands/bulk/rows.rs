//! The rows of a job: a file, standard input, or the corrected rows of an earlier job.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, Write as _};
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord};
use idempost_bulk::{Format, Input};
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use crate::actions::shell::Shell;
use crate::diagnostics::{Fail, Origin};
use crate::input::delimiter::{find_delimiter, parse_delimiter};
use crate::input::flags::Flags;
use crate::input::source::Source;
use crate::literal::check_local;

/// The maximum size of a command's output, in bytes, as for an input.
const MAX_OUTPUT: u64 = 1 << 30;
/// The column of `invalid.csv` with the number of the row in the earlier input.
const ROW: &str = "_row";
/// The column of `invalid.csv` with a row of JSON Lines.
const JSON: &str = "_json";

/// How the rows are read, if it isn't derived from them: `--format` and `--delimiter`.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    format: Option<Format>,
    delimiter: Option<u8>,
}

impl Dialect {
    /// Parses the flags.
    pub(super) fn parse(format: Option<&str>, delimiter: Option<&str>, flags: &mut Flags) -> Self {
        Self { format: parse_format(format, flags), delimiter: parse_delimiter(delimiter, flags) }
    }

    fn apply(self, input: Input) -> Input {
        let input = self.format.into_iter().fold(input, Input::format);
        self.delimiter.into_iter().fold(input, Input::delimiter)
    }
}

/// The input that a name refers to.
pub(super) fn open_input(source: &Source, dialect: Dialect) -> Input {
    dialect.apply(match source {
        Source::Stdin => Input::stdin(),
        Source::File(path) => Input::file(path),
    })
}

/// Writes the output of a command to a temporary file.
pub(super) async fn run_command(command: &str, max_size: Option<u64>) -> Result<NamedTempFile, Fail> {
    let failed = |error| Fail::local("couldn't use a temporary file", error);
    let file = NamedTempFile::new().map_err(failed)?;
    let mut to = tokio::fs::File::from_std(file.reopen().map_err(failed)?);
    let copied = Shell::copy(command, max_size.unwrap_or(MAX_OUTPUT), &mut to).await;
    let origin = || Origin::flag("--from-command", command);
    copied.map_err(|rule| Fail::usage("command", rule, Some(origin())))?;
    to.flush().await.map_err(failed)?;
    Ok(file)
}

/// Converts the output of a command to an input.
pub(super) fn spooled_input(output: &NamedTempFile, dialect: Dialect) -> Result<Input, Fail> {
    let file = output.reopen().map_err(|error| Fail::local("couldn't use a temporary file", error))?;
    Ok(dialect.apply(Input::reader("the command's output", file)))
}

/// Parses `--format`.
fn parse_format(given: Option<&str>, flags: &mut Flags) -> Option<Format> {
    match given? {
        "csv" => Some(Format::Csv),
        "tsv" => Some(Format::Tsv),
        "jsonl" | "ndjson" => Some(Format::JsonLines),
        other => {
            flags.reject("type", "--format must be csv, tsv or jsonl", "--format", other);
            None
        }
    }
}

/// The corrected rows in a copy of `invalid.csv`. If the earlier job is known, `invalid` is its list of invalid rows.
pub(super) fn corrected_input(file: &Path, invalid: Option<&Path>) -> Result<Input, Fail> {
    let (mut reader, delimiter) = open(file)?;
    let header = reader.headers().map_err(|error| read_failure(file, &error))?.clone();
    let Some(row_at) = header.iter().position(|name| name == ROW) else {
        return Err(invalid_file(file, "isn't a list of invalid rows: it has no column `_row`".to_owned()));
    };
    let json_at = header.iter().position(|name| name == JSON);
    let known = match invalid {
        Some(list) if !is_same_file(list, file) => Some(read_row_numbers(list)?),
        _ => None,
    };
    // Rows of JSON Lines are in a separate column.
    let failed = |error| Fail::local("couldn't use a temporary file", error);
    let mut lines = match json_at {
        Some(at) => Some((at, tempfile::tempfile().map_err(failed)?)),
        None => None,
    };
    let (mut record, mut refused) = (StringRecord::new(), Vec::new());
    while reader.read_record(&mut record).map_err(|error| read_failure(file, &error))? {
        let number = record.get(row_at).unwrap_or_default();
        if known.as_ref().is_some_and(|known| !number.parse().is_ok_and(|number| known.contains(&number))) {
            refused.push(number.to_owned());
        }
        if let Some((at, lines)) = &mut lines {
            writeln!(lines, "{}", record.get(*at).unwrap_or_default()).map_err(failed)?;
        }
    }
    if !refused.is_empty() {
        let more = if refused.len() > 10 { ", …" } else { "" };
        refused.truncate(10);
        let rows = refused.join(", ");
        return Err(invalid_file(
            file,
            format!("has rows that weren't invalid in the earlier job: {rows}{more}"),
        ));
    }
    match lines {
        None => Ok(Input::csv(file).delimiter(delimiter)),
        Some((_, mut lines)) => {
            lines.rewind().map_err(failed)?;
            Ok(Input::reader(file.display().to_string(), lines).format(Format::JsonLines))
        }
    }
}

/// The row numbers in a list of invalid rows.
fn read_row_numbers(list: &Path) -> Result<HashSet<u64>, Fail> {
    let (mut reader, _) = open(list)?;
    let header = reader.headers().map_err(|error| read_failure(list, &error))?.clone();
    let at = header.iter().position(|name| name == ROW).unwrap_or_default();
    let rows = reader.into_records().map(|record| Ok(record?.get(at).and_then(|number| number.parse().ok())));
    let rows: Result<Vec<_>, csv::Error> = rows.collect();
    Ok(rows.map_err(|error| read_failure(list, &error))?.into_iter().flatten().collect())
}

/// Opens a list of invalid rows. It has the delimiter of the earlier input, or another one if a spreadsheet program saved it.
fn open(file: &Path) -> Result<(Reader<File>, u8), Fail> {
    let mut first = Vec::new();
    let read = check_local()
        .and_then(|()| File::open(file))
        .and_then(|file| BufReader::new(file).read_until(b'\n', &mut first));
    read.map_err(|error| invalid_file(file, format!("couldn't be read: {error}")))?;
    let delimiter = find_delimiter(&first, ROW, |byte| byte == b'\t' || byte.is_ascii_graphic());
    let reader = ReaderBuilder::new().flexible(true).delimiter(delimiter).from_path(file);
    Ok((reader.map_err(|error| read_failure(file, &error))?, delimiter))
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn read_failure(file: &Path, error: &csv::Error) -> Fail {
    invalid_file(file, format!("couldn't be read: {error}"))
}

pub(super) fn invalid_file(file: &Path, rule: String) -> Fail {
    let origin = Origin::flag("--only", file.display().to_string());
    Fail::usage("file", rule, Some(origin))
}
