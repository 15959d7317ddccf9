//! A file or standard input, read whole and within a limit. Standard input is read only where `-` names it, and once.

use std::{
    fmt,
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::diagnostics::{Found, Origin, Problem};

/// The most that a text or a JSON document may have: more than any email that the service takes.
pub(crate) const TEXT_LIMIT: u64 = 64 * 1024 * 1024;

/// What a flag named: `-` is standard input, everything else a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Reads the name.
    pub(crate) fn of(name: &str) -> Self {
        if name == "-" { Self::Stdin } else { Self::File(name.into()) }
    }

    /// The place of some bytes of its text.
    pub(crate) fn origin(&self, text: &Arc<str>, span: std::ops::Range<usize>) -> Origin {
        match self {
            Self::Stdin => Origin::Stdin { text: Arc::clone(text), span },
            Self::File(path) => Origin::File { path: path.clone(), text: Arc::clone(text), span },
        }
    }

    /// Its bytes, no more than `limit`.
    ///
    /// # Errors
    /// The rule that it breaks, with the reason the system gives.
    pub(crate) fn bytes(&self, limit: u64) -> Result<Vec<u8>, String> {
        match self {
            Self::Stdin => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    crate::output::write_stderr(
                        "reading from the terminal; end with Ctrl-D on a line of its own\n",
                    );
                }
                read(stdin.lock(), limit).map_err(|error| error.to_string())
            }
            Self::File(path) => file(path, limit),
        }
    }

    /// Its text without a byte order mark.
    ///
    /// # Errors
    /// It can't be read, is too large, or is not UTF-8: then with the byte at which it stops being so.
    pub(crate) fn text(&self) -> Result<Arc<str>, String> {
        let bytes = self.bytes(TEXT_LIMIT)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(error) => {
                let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
                Err(format!(
                    "it is not UTF-8 text: byte {} (line {line}) begins no character",
                    error.valid_up_to()
                ))
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

fn file(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let said = |error: io::Error| error.to_string();
    let metadata = std::fs::metadata(path).map_err(said)?;
    if metadata.is_dir() {
        return Err("it is a directory".to_owned());
    }
    if metadata.len() > limit {
        return Err(too_large(limit));
    }
    read(File::open(path).map_err(said)?, limit).map_err(said)
}

fn read(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(too_large(limit)));
    }
    Ok(bytes)
}

fn too_large(limit: u64) -> String {
    format!("it has more than {} MiB", limit / (1024 * 1024))
}

/// Who wants to read standard input: two of them can't both have it.
#[derive(Debug, Default)]
pub(crate) struct StdinReaders(Vec<String>);

impl StdinReaders {
    /// Nobody but, perhaps, the flag that names the API key.
    pub(crate) fn besides(api_key_file: Option<&str>) -> Self {
        let key = api_key_file == Some("-");
        Self(key.then(|| "--api-key-file".to_owned()).into_iter().collect())
    }

    /// The flag's value names a source; the problem, if an earlier flag has named standard input already.
    pub(crate) fn claim(&mut self, flag: &str, name: &str) -> Result<Source, Box<Found>> {
        let source = Source::of(name);
        if source == Source::Stdin {
            self.0.push(flag.to_owned());
            if let [first, .., _] = self.0.as_slice() {
                let rule = format!("standard input can be read once, and {first} reads it already");
                let origin = Origin::Flag { name: flag.to_owned(), n: 1, value: name.to_owned(), span: None };
                return Err(Box::new(Found {
                    problem: Problem::new("", "exclusive", rule),
                    origin: Some(origin),
                    hint: Some(format!("give {flag} the path of a file")),
                }));
            }
        }
        Ok(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(content: &[u8]) -> (tempfile::NamedTempFile, Source) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let source = Source::File(file.path().into());
        (file, source)
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_text() {
        // 5.1.50
        let (_file, source) = scratch(b"\xef\xbb\xbf{}");
        assert_eq!(&*source.text().unwrap(), "{}");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_told_with_their_place() {
        // 5.1.50
        let (_file, source) = scratch(b"{\n\"a\xff\"}");
        assert_eq!(source.text().unwrap_err(), "it is not UTF-8 text: byte 4 (line 2) begins no character");
    }

    #[test]
    fn more_than_the_limit_is_not_read() {
        let (_file, source) = scratch(&[b'x'; 11]);
        assert!(source.bytes(11).is_ok());
        assert!(source.bytes(10).unwrap_err().contains("more than"));
        assert!(Source::File(std::env::temp_dir()).bytes(10).unwrap_err().contains("directory"));
    }

    #[test]
    fn standard_input_has_one_reader() {
        let mut readers = StdinReaders::default();
        assert_eq!(readers.claim("--input", "mail.json").unwrap(), Source::File("mail.json".into()));
        assert_eq!(readers.claim("--input", "-").unwrap(), Source::Stdin);
        let refused = readers.claim("--text-file", "-").unwrap_err();
        assert_eq!(refused.problem.message, "standard input can be read once, and --input reads it already");
    }
}
