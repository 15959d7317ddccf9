//! Inputs as files that can be read again.

use std::{
    env,
    fs::{self, File, Metadata},
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use idempost::problem::Problem;
use serde::{Deserialize, Serialize};

use super::{
    Format, From, Input,
    spool::{Encoding, head, spool, unsupported},
};
use crate::error::{BulkError, Result};

/// An input as a regular file in UTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The file: the input itself, or its copy in the job's folder.
    pub(crate) path: PathBuf,
    /// The name for messages.
    pub(crate) name: String,
    pub(crate) format: Format,
    /// The delimiter that was set.
    pub(crate) delimiter: Option<u8>,
    /// The folder of the attachments.
    pub(crate) folder: PathBuf,
    /// Whether `path` is a copy in the job's folder.
    pub(crate) spooled: bool,
}

impl Source {
    /// The name of a copy in the job's folder.
    pub(crate) const SPOOLED: &str = "input";

    /// Copies the input into `dir` unless it can be read in place.
    pub(crate) fn locate(input: Input, dir: &Path) -> Result<Self> {
        let Input { from, format, delimiter } = input;
        let copy = dir.join(Self::SPOOLED);
        let here = || env::current_dir().map_err(BulkError::io("read", "."));
        let (name, path, folder) = match from {
            From::File(path) => {
                let name = path.display().to_string();
                let absolute = fs::canonicalize(&path).map_err(BulkError::io("read", &path))?;
                let folder = absolute.parent().unwrap_or(Path::new("/")).to_owned();
                let in_place = copy_file(&name, &absolute, &copy)?;
                (name, if in_place { absolute } else { copy.clone() }, folder)
            }
            From::Reader { name, reader } => {
                spool(&name, reader, &copy)?;
                (name, copy.clone(), here()?)
            }
            From::Spooled(rows) => {
                rows.persist(&copy).map_err(|error| BulkError::io("write", &copy)(error.error))?;
                ("rows".to_owned(), copy.clone(), here()?)
            }
        };
        let format = match format {
            Some(format) => format,
            None => detect_format(&path).map_err(BulkError::io("read", &path))?,
        };
        if delimiter.is_some_and(|delimiter| !delimiter.is_ascii() || b"\"\r\n\0".contains(&delimiter)) {
            let message = "a delimiter is an ASCII character other than `\"` and line breaks";
            return Err(BulkError::Input(vec![Problem::new("", "delimiter", message)]));
        }
        Ok(Self { spooled: path == copy, path, name, format, delimiter, folder })
    }

    pub(crate) fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(BulkError::io("read", &self.path))
    }
}

/// Copies a file unless it is a regular one in UTF-8; returns whether it can be read in place.
fn copy_file(name: &str, path: &Path, copy: &Path) -> Result<bool> {
    let reading = |error| BulkError::io("read", path)(error);
    let mut file = File::open(path).map_err(reading)?;
    let metadata = file.metadata().map_err(reading)?;
    if metadata.is_dir() {
        return Err(reading(io::ErrorKind::IsADirectory.into()));
    }
    if metadata.is_file() {
        match Encoding::detect(&head(&mut file).map_err(reading)?) {
            Encoding::Utf8 => return Ok(true),
            Encoding::Unsupported(what) => return Err(unsupported(name, what)),
            Encoding::Gzip | Encoding::Utf16 { .. } => file.rewind().map_err(reading)?,
        }
    }
    spool(name, file, copy)?;
    Ok(false)
}

/// Detects the format by the first character: only JSON Lines begin with a brace.
fn detect_format(path: &Path) -> io::Result<Format> {
    let mut start = Vec::new();
    File::open(path)?.take(4 * 1024).read_to_end(&mut start)?;
    let text = start.strip_prefix(super::layout::BOM).unwrap_or(&start).trim_ascii_start();
    Ok(if text.starts_with(b"{") || text.starts_with(b"[") { Format::JsonLines } else { Format::Csv })
}

/// What identifies the content of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The time of the last modification, in nanoseconds since 1970.
    pub(crate) modified: u64,
    /// The BLAKE3 hash of the content, in hexadecimal digits.
    pub(crate) blake3: String,
}

impl Fingerprint {
    /// Reads the whole file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let before = file.metadata()?;
        let mut from = file;
        from.rewind()?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => drop(hasher.update(&buffer[..read])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        from.rewind()?;
        Ok(Self {
            size: before.len(),
            modified: modified(&before),
            blake3: hasher.finalize().to_hex().to_string(),
        })
    }

    /// Returns whether size and time are still the same.
    pub(crate) fn matches(&self, metadata: &Metadata) -> bool {
        self.size == metadata.len() && self.modified == modified(metadata)
    }
}

/// A time before 1970, or none at all, counts as 0: then only the size is compared.
fn modified(metadata: &Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}
