//! A CSV file that can be read more than once, with limits on field and row sizes.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use csv::{ByteRecord, Reader, ReaderBuilder};
use csv_core::ReadFieldResult;
use futures_util::stream;
use idempost::contact_imports::NewContactImport;
use idempost_bulk::detect_delimiter;

use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::input::open_quote::{self, ends_in_quotes};
use crate::literal::check_local;
use crate::signals;

/// Maximum length of a field in bytes.
const MAX_FIELD: u64 = 1 << 20;
/// Maximum length of a row in bytes.
const MAX_ROW: u64 = 4 << 20;
/// The size of a piece of the file in bytes: for an upload, and to detect the delimiter.
const CHUNK_SIZE: usize = 64 << 10;

/// The file and its display name.
#[derive(Debug)]
pub(super) struct Csv {
    pub(super) name: String,
    file: File,
    max_size: u64,
    /// The character between columns.
    pub(super) delimiter: u8,
}

impl Csv {
    /// Opens the argument. Anything but a regular file is copied to a temporary file, which is removed on exit.
    pub(super) async fn open(
        argument: &str,
        max_size: u64,
        delimiter: Option<u8>,
        flags: &mut Flags,
    ) -> Result<Option<Self>, Fail> {
        let path = argument.to_owned();
        // A pipe may block for hours, and signals must still end the command.
        let opened = tokio::task::spawn_blocking(move || {
            check_local()?;
            match path.as_str() {
                "-" => {
                    let spooled = spool(io::stdin().lock(), max_size, delimiter);
                    signals::block_if_stopping();
                    spooled
                }
                path => open(path, max_size, delimiter),
            }
        });
        let opened = opened.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        let name = if argument == "-" { "standard input" } else { argument };
        let mut reject = |error: &dyn fmt::Display| {
            flags.reject("file", format!("couldn't read {name}: {error}"), "FILE", argument);
            None
        };
        match opened {
            Ok((file, delimiter)) => Ok(Some(Self { name: name.to_owned(), file, max_size, delimiter })),
            Err(error) => match error.downcast() {
                Ok(Flaw::Temporary(error)) => Err(Fail::local("couldn't use a temporary file", error)),
                Ok(flaw) => Ok(reject(&flaw)),
                Err(error) => Ok(reject(&error)),
            },
        }
    }

    /// Reads from the beginning. Rows may have too few or too many cells, so that all of them can be reported.
    pub(super) fn rows(&self) -> io::Result<Rows> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let mut limited = Limited::new(file, self.max_size, self.delimiter);
        limited.lines = Some(VecDeque::new());
        let mut reader = ReaderBuilder::new();
        Ok(Rows(reader.has_headers(false).flexible(true).delimiter(self.delimiter).from_reader(limited)))
    }

    /// The content for an upload: the file, or the copy of a non-seekable source.
    pub(super) async fn upload(&self, argument: &str) -> Result<NewContactImport, Fail> {
        if argument != "-" && Path::new(argument).is_file() {
            return Ok(NewContactImport::from_file(argument).await?);
        }
        let unreadable = |error| Fail::local(format!("couldn't read {}", self.name), error);
        let file = self.file.try_clone().map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let file = Arc::new(Mutex::new(file));
        let open = move || {
            let file = Arc::clone(&file);
            stream::try_unfold(0, move |offset| read_chunk(Arc::clone(&file), offset))
        };
        Ok(NewContactImport::from_stream(length, open))
    }

    /// The header row.
    pub(super) fn header(&self) -> csv::Result<Option<ByteRecord>> {
        let mut row = ByteRecord::new();
        Ok(self.rows()?.read(&mut row)?.then_some(row))
    }

    /// Converts a read error.
    pub(super) fn read_failure(&self, error: csv::Error) -> Fail {
        let message = format!("couldn't read {}", self.name);
        match error.kind() {
            csv::ErrorKind::Io(io) => match io.get_ref().and_then(|inner| inner.downcast_ref::<Flaw>()) {
                Some(flaw) => Fail::usage(flaw.code(), format!("{message}: {flaw}"), None),
                None => Fail::local(message, error),
            },
            _ => Fail::local(message, error),
        }
    }
}

/// Reads a piece of a file, and returns it with the next offset. Reads don't share a position, so an abandoned attempt can't disturb another.
async fn read_chunk(file: Arc<Mutex<File>>, offset: u64) -> io::Result<Option<(Bytes, u64)>> {
    let read = move || {
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut piece = Vec::with_capacity(CHUNK_SIZE);
        file.seek(SeekFrom::Start(offset))?;
        let read = (&mut *file).take(CHUNK_SIZE as u64).read_to_end(&mut piece)?;
        Ok((read > 0).then(|| (piece.into(), offset + read as u64)))
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Opens a file, and detects its delimiter unless it is given.
fn open(path: &str, max_size: u64, delimiter: Option<u8>) -> io::Result<(File, u8)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::other("is a directory"));
    }
    if !metadata.is_file() {
        return spool(file, max_size, delimiter);
    }
    if metadata.len() > max_size {
        return Err(Flaw::File { max: max_size, found: metadata.len() }.into());
    }
    let start = read_start(&file)?;
    Ok((file, delimiter.unwrap_or_else(|| detect_delimiter(&start))))
}

fn spool(mut from: impl Read, max_size: u64, delimiter: Option<u8>) -> io::Result<(File, u8)> {
    let temporary = |error| io::Error::from(Flaw::Temporary(error));
    let mut file = tempfile::tempfile().map_err(temporary)?;
    let start = read_start(&mut from)?;
    let delimiter = delimiter.unwrap_or_else(|| detect_delimiter(&start));
    let copied = io::copy(&mut Limited::new(start.as_slice().chain(from), max_size, delimiter), &mut file);
    let is_full = |error: &io::Error| matches!(error.kind(), StorageFull | FileTooLarge | QuotaExceeded);
    copied.map_err(|error| if is_full(&error) { temporary(error) } else { error })?;
    Ok((file, delimiter))
}

fn read_start(from: impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    from.take(CHUNK_SIZE as u64).read_to_end(&mut start)?;
    match start[..] {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Err(io::Error::other("it is in UTF-16; save it as \"CSV UTF-8\""))
        }
        _ => Ok(start),
    }
}

/// Why the file is rejected: a limit that it exceeds, or a quote; or why it can't be copied.
#[derive(Debug)]
enum Flaw {
    Temporary(io::Error),
    File { max: u64, found: u64 },
    Row { row: u64, line: u64 },
    Field { row: u64, line: u64, column: u64 },
    OpenQuote { row: u64, line: u64 },
}

impl Flaw {
    fn code(&self) -> &'static str {
        if matches!(self, Self::OpenQuote { .. }) { "quote" } else { "size" }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Temporary(error) => error.fmt(f),
            Self::File { max, found } => {
                write!(
                    f,
                    "a file must have at most {max} bytes (found {found} or more); raise the limit with --max-size"
                )
            }
            Self::Row { row, line } => {
                write!(f, "row {row} (line {line}): a row must have at most {MAX_ROW} bytes (found more)")
            }
            Self::Field { row, line, column } => write!(
                f,
                "row {row} (line {line}), column {column}: a field must have at most {MAX_FIELD} bytes (found more); is a quote missing?"
            ),
            Self::OpenQuote { row, line } => write!(f, "row {row} (line {line}): {}", open_quote::RULE),
        }
    }
}

impl std::error::Error for Flaw {}

impl From<Flaw> for io::Error {
    fn from(error: Flaw) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// The rows of a file.
pub(super) struct Rows(Reader<Limited<File>>);

impl Rows {
    /// Reads the next row. Its position has the line on which it begins; the reader's would be that of the line break or the empty lines before it.
    pub(super) fn read(&mut self, row: &mut ByteRecord) -> csv::Result<bool> {
        let found = self.0.read_byte_record(row)?;
        let line = self.0.get_mut().lines.as_mut().and_then(VecDeque::pop_front);
        if let (Some(mut position), Some(line)) = (row.position().cloned(), line) {
            position.set_line(line);
            row.set_position(Some(position));
        }
        Ok(found)
    }
}

/// Passes CSV through, and fails at the first byte beyond a limit or at an open quote: the parser would buffer an entire row before it could report its
/// length.
struct Limited<R> {
    from: R,
    max_size: u64,
    size: u64,
    parser: csv_core::Reader,
    /// The current row, its first line, the current column, and their lengths so far.
    row: u64,
    line: u64,
    column: u64,
    row_len: u64,
    field_len: u64,
    scratch: Box<[u8]>,
    /// Whether only line breaks were read since the last row.
    is_between: bool,
    /// The first lines of the rows that were passed through, if they are wanted.
    lines: Option<VecDeque<u64>>,
}

impl<R: Read> Limited<R> {
    fn new(from: R, max_size: u64, delimiter: u8) -> Self {
        let scratch = vec![0; 64 * 1024].into_boxed_slice();
        let parser = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        Self {
            from,
            max_size,
            size: 0,
            parser,
            row: 1,
            line: 1,
            column: 1,
            row_len: 0,
            field_len: 0,
            scratch,
            is_between: true,
            lines: None,
        }
    }

    fn check(&mut self, mut bytes: &[u8]) -> Result<(), Flaw> {
        self.size += bytes.len() as u64;
        if self.size > self.max_size {
            return Err(Flaw::File { max: self.max_size, found: self.size });
        }
        while !bytes.is_empty() {
            if self.is_between {
                let breaks = bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count();
                let lines = bytes[..breaks].split(|byte| *byte == b'\n').skip(1).count() as u64;
                (self.line, self.is_between) = (self.parser.line() + lines, breaks == bytes.len());
                if let Some(lines) = self.lines.as_mut().filter(|_| !self.is_between) {
                    lines.push_back(self.line);
                }
            }
            let (result, read, written) = self.parser.read_field(bytes, &mut self.scratch);
            bytes = &bytes[read..];
            self.field_len += written as u64;
            self.row_len += read as u64;
            let (row, line) = (self.row, self.line);
            if self.field_len > MAX_FIELD {
                return Err(Flaw::Field { row, line, column: self.column });
            }
            if self.row_len > MAX_ROW {
                return Err(Flaw::Row { row, line });
            }
            if let ReadFieldResult::Field { record_end } = result {
                (self.column, self.field_len) = (self.column + 1, 0);
                if record_end {
                    (self.row, self.column, self.row_len, self.is_between) = (row + 1, 1, 0, true);
                }
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.check(&buffer[..read])?;
        if read == 0 && !buffer.is_empty() && ends_in_quotes(&mut self.parser) {
            return Err(Flaw::OpenQuote { row: self.row, line: self.line }.into());
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, max_size: u64) -> Result<u64, String> {
        let mut limited = Limited::new(text.as_bytes(), max_size, b',');
        io::copy(&mut limited, &mut io::sink()).map_err(|error| error.to_string())
    }

    #[test]
    fn limits_are_exact_and_name_the_place() {
        let field = |more: u64| {
            format!("email,x\n\"a\nb\",{}\n", "x".repeat(usize::try_from(MAX_FIELD + more).unwrap()))
        };
        assert!(check(&field(0), u64::MAX).is_ok());
        let error = check(&field(1), u64::MAX).unwrap_err();
        assert!(
            error.contains("row 2 (line 2), column 2: a field must have at most 1048576 bytes"),
            "{error}"
        );
        let row = |fields: usize| format!("a\n{}", "xxxxxxx,".repeat(fields));
        assert!(check(&row(512 * 1024), u64::MAX).is_ok());
        assert!(
            check(&row(512 * 1024 + 1), u64::MAX).unwrap_err().contains("row 2 (line 2): a row must have")
        );
        assert_eq!(check("a\nb\n", 4), Ok(4));
        assert_eq!(check("a\n\"b\nc\"", u64::MAX), Ok(7));
        let open = check("a,b\n\"x\ny\",z\n1,\"2\n3,4\n", u64::MAX).unwrap_err();
        assert_eq!(open, "row 3 (line 4): a quote in this row is never closed");
        assert!(check("a\nb\nc", 4).unwrap_err().contains("at most 4 bytes (found 5 or more)"));
    }
}
