//! A CSV file that can be read more than once.

use std::fs::File;
use std::io::{self, Seek as _};

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::input::flags::Flags;

/// The file, and what people call it.
#[derive(Debug)]
pub(super) struct Csv {
    pub(super) name: String,
    file: File,
}

impl Csv {
    /// Opens what an argument names; what is no plain file is copied into a temporary one, which is gone when the program ends.
    pub(super) fn open(argument: &str, flags: &mut Flags) -> Option<Self> {
        let opened = if argument == "-" { spool(io::stdin().lock()) } else { open(argument) };
        let name = if argument == "-" { "standard input" } else { argument };
        match opened {
            Ok(file) => Some(Self { name: name.to_owned(), file }),
            Err(error) => {
                flags.wrong("file", format!("{name} cannot be read: {error}"), "FILE", argument);
                None
            }
        }
    }

    /// Reads from its beginning. Rows may have too few or too many cells, so that all of them can be told.
    pub(super) fn rows(&self) -> io::Result<Reader<File>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file))
    }

    /// The first row.
    pub(super) fn header(&self) -> csv::Result<Option<ByteRecord>> {
        let mut row = ByteRecord::new();
        Ok(self.rows()?.read_byte_record(&mut row)?.then_some(row))
    }
}

fn open(path: &str) -> io::Result<File> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    if metadata.is_file() { Ok(file) } else { spool(file) }
}

fn spool(mut from: impl io::Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut from, &mut file)?;
    Ok(file)
}
