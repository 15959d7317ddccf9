//! Private copies of inputs, which can be read repeatedly.

use std::{
    env,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use idempost::problem::Problem;
use serde::{Deserialize, Serialize};

use super::{Format, From, Input, spool::spool};
use crate::{
    error::{BulkError, Result},
    files,
};

/// A private copy of an input in UTF-8, which doesn't change during the job.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The copy in the job's folder.
    pub(crate) path: PathBuf,
    /// The name used in messages.
    pub(crate) name: String,
    pub(crate) format: Format,
    /// The configured delimiter.
    pub(crate) delimiter: Option<u8>,
    /// The folder of the attachments.
    pub(crate) folder: PathBuf,
}

impl Source {
    /// The name of the copy in the job's folder.
    pub(crate) const COPY: &str = "input";

    /// Copies the input into `dir`: at most `max_size` bytes after decompression.
    pub(crate) fn copy(input: Input, dir: &Path, max_size: u64) -> Result<Self> {
        let Input { from, format, delimiter } = input;
        let path = dir.join(Self::COPY);
        let here = || env::current_dir().map_err(BulkError::io("read", "."));
        let (name, folder) = match from {
            From::File(file) => {
                let name = file.display().to_string();
                let reading = |error| BulkError::io("read", &file)(error);
                if file.is_dir() {
                    return Err(reading(io::ErrorKind::IsADirectory.into()));
                }
                spool(&name, File::open(&file).map_err(reading)?, &path, max_size)?;
                // A shell's pipe, such as /dev/fd/63, is in no folder.
                let folder = fs::canonicalize(&file).map(|file| files::parent(&file).to_owned());
                (name, folder.or_else(|_| here())?)
            }
            From::Reader { name, reader } => {
                spool(&name, reader, &path, max_size)?;
                (name, here()?)
            }
            From::Spooled(rows) => {
                rows.persist(&path).map_err(|error| BulkError::io("write", &path)(error.error))?;
                ("rows".to_owned(), here()?)
            }
        };
        let format = match format {
            Some(format) => format,
            None => detect_format(&path).map_err(BulkError::io("read", &path))?,
        };
        if delimiter.is_some_and(|delimiter| !delimiter.is_ascii() || b"\"\r\n\0".contains(&delimiter)) {
            let message = "a delimiter must be an ASCII character other than `\"` or a line break";
            return Err(BulkError::Input(vec![Problem::new("", "delimiter", message)]));
        }
        if delimiter.is_some() && format == Format::JsonLines {
            let message = format!("{name} is JSON Lines, which has no delimiter");
            return Err(BulkError::Input(vec![Problem::new("/delimiter", "delimiter", message)]));
        }
        Ok(Self { path, name, format, delimiter, folder })
    }

    pub(crate) fn open(&self) -> Result<File> {
        files::open(&self.path)
    }

    /// Reads the whole copy to identify its content.
    pub(crate) fn fingerprint(&self) -> Result<Fingerprint> {
        Fingerprint::from_file(self.open()?).map_err(BulkError::io("read", &self.path))
    }
}

/// Detects the format from the first character: only JSON Lines begin with a brace.
fn detect_format(path: &Path) -> io::Result<Format> {
    let mut start = Vec::new();
    File::open(path)?.take(4 * 1024).read_to_end(&mut start)?;
    let text = start.strip_prefix(super::layout::BOM).unwrap_or(&start).trim_ascii_start();
    Ok(if text.starts_with(b"{") || text.starts_with(b"[") { Format::JsonLines } else { Format::Csv })
}

/// Identifies an input's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The BLAKE3 hash of the content, in hexadecimal digits.
    pub(crate) blake3: String,
}

impl Fingerprint {
    pub(crate) fn from_file(mut file: File) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let size = io::copy(&mut file, &mut hasher)?;
        Ok(Self { size, blake3: hasher.finalize().to_hex().to_string() })
    }
}
