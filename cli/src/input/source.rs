//! Reads a file or standard input completely, within a limit. Standard input is read only if `-` names it, and only once.

use std::{
    fmt,
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::diagnostics::{Diagnostic, Origin};
use crate::literal;
use crate::signals;

/// Maximum size of a text or JSON document: more than any email that the service accepts.
pub(crate) const TEXT_LIMIT: u64 = 64 * 1024 * 1024;

/// An input named by a flag: `-` is standard input, anything else a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    File(PathBuf),
}

impl Source {
    /// Parses the name.
    pub(crate) fn from_name(name: &str) -> Self {
        if name == "-" { Self::Stdin } else { Self::File(name.into()) }
    }

    /// The origin of some bytes of its text.
    pub(crate) fn origin(&self, text: &Arc<str>, span: std::ops::Range<usize>) -> Origin {
        match self {
            Self::Stdin => Origin::Stdin { text: Arc::clone(text), span },
            Self::File(path) => Origin::File { path: path.clone(), text: Arc::clone(text), span },
        }
    }

    /// Reads its bytes, at most `limit`.
    ///
    /// # Errors
    /// The broken rule, with the system's reason.
    pub(crate) fn bytes(&self, limit: u64) -> Result<Vec<u8>, String> {
        literal::check_local().map_err(|error| error.to_string())?;
        match self {
            Self::Stdin => {
                STDIN_READ.store(true, Ordering::Relaxed);
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    crate::output::write_stderr(
                        "reading from the terminal; finish with Ctrl-D on an empty line\n",
                    );
                }
                let bytes = read(stdin.lock(), limit).map_err(|error| error.to_string());
                signals::block_if_stopping();
                bytes
            }
            Self::File(path) => read_file(path, limit),
        }
    }

    /// Reads its text without a byte order mark.
    ///
    /// # Errors
    /// Returns an error if it can't be read, is too large, or isn't UTF-8, with the offset of the first invalid byte.
    pub(crate) fn text(&self) -> Result<Arc<str>, String> {
        let bytes = self.bytes(TEXT_LIMIT)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(error) => {
                let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
                Err(format!("not UTF-8 text: invalid byte {} (line {line})", error.valid_up_to()))
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

static STDIN_READ: AtomicBool = AtomicBool::new(false);

/// Whether a flag or a pipe claims standard input.
pub(crate) fn has_read_stdin() -> bool {
    STDIN_READ.load(Ordering::Relaxed)
}

/// Whether a value is `-`, which stands for standard input unless values are literal.
pub(crate) fn is_stdin(value: &str) -> bool {
    value == "-" && !literal::is_enabled()
}

/// Whether standard input is a pipe, a socket or a file, not a terminal or `/dev/null`.
#[cfg(unix)]
fn is_piped() -> bool {
    use std::os::{fd::AsFd as _, unix::fs::FileTypeExt as _};
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let kind = stdin.and_then(|stdin| stdin.metadata()).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket() || kind.is_file())
}

#[cfg(not(unix))]
fn is_piped() -> bool {
    !io::stdin().is_terminal()
}

/// The input that a value of the form `@NAME` names; `None` for any other value, and for all if values are literal.
pub(crate) fn input_name(value: &str) -> Option<&str> {
    value.strip_prefix('@').filter(|_| !literal::is_enabled())
}

fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let message = |error: io::Error| error.to_string();
    let metadata = std::fs::metadata(path).map_err(message)?;
    if metadata.is_dir() {
        return Err("is a directory".to_owned());
    }
    if metadata.len() > limit {
        return Err(too_large(limit));
    }
    read(File::open(path).map_err(message)?, limit).map_err(message)
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
    format!("larger than {} MiB", limit / (1024 * 1024))
}

/// The flags that read standard input: only one can.
#[derive(Debug, Default)]
pub(crate) struct StdinReaders(Vec<String>);

impl StdinReaders {
    /// No reader except possibly `--api-key-file`.
    pub(crate) fn reserved_for(api_key_file: Option<&str>) -> Self {
        let key = api_key_file == Some("-");
        Self(key.then(|| "--api-key-file".to_owned()).into_iter().collect())
    }

    /// Standard input, if it is piped and unclaimed, and values aren't literal.
    pub(crate) fn take_pipe(&mut self) -> Option<Source> {
        if !self.0.is_empty() || literal::is_enabled() || !is_piped() {
            return None;
        }
        self.0.push("the body".to_owned());
        Some(Source::Stdin)
    }

    /// Opens the input that a flag names; returns a problem if an earlier flag already reads standard input, or if values are literal.
    pub(crate) fn claim(&mut self, flag: &str, name: &str) -> Result<Source, Box<Diagnostic>> {
        let origin = || Origin::flag(flag, name);
        if let Err(error) = literal::check_local() {
            return Err(Box::new(Diagnostic::new("file", error.to_string(), Some(origin()))));
        }
        let source = Source::from_name(name);
        if source == Source::Stdin {
            self.0.push(flag.to_owned());
            if let [first, .., _] = self.0.as_slice() {
                let rule = format!("standard input can be read only once, and {first} already reads it");
                let hint = Some(format!("pass a file path to {flag}"));
                return Err(Box::new(Diagnostic {
                    hint,
                    ..Diagnostic::new("exclusive", rule, Some(origin()))
                }));
            }
        }
        Ok(source)
    }

    /// Claims a source and reads its text.
    pub(crate) fn text(&mut self, flag: &str, name: &str) -> Result<(Source, Arc<str>), Box<Diagnostic>> {
        let source = self.claim(flag, name)?;
        let text = source.text().map_err(|rule| read_problem(&source, &rule, flag, name))?;
        Ok((source, text))
    }

    /// Claims a source and reads its bytes.
    pub(crate) fn bytes(&mut self, flag: &str, name: &str) -> Result<Vec<u8>, Box<Diagnostic>> {
        let source = self.claim(flag, name)?;
        source.bytes(TEXT_LIMIT).map_err(|rule| read_problem(&source, &rule, flag, name))
    }
}

fn read_problem(source: &Source, rule: &str, flag: &str, name: &str) -> Box<Diagnostic> {
    let rule = format!("couldn't read {source}: {rule}");
    Box::new(Diagnostic::new("file", rule, Some(Origin::flag(flag, name))))
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
        //
        let (_file, source) = scratch(b"\xef\xbb\xbf{}");
        assert_eq!(&*source.text().unwrap(), "{}");
    }

    #[test]
    fn invalid_utf_8_is_reported_with_its_position() {
        //
        let (_file, source) = scratch(b"{\n\"a\xff\"}");
        assert_eq!(source.text().unwrap_err(), "not UTF-8 text: invalid byte 4 (line 2)");
    }

    #[test]
    fn more_than_the_limit_is_not_read() {
        //
        let (_file, source) = scratch(&[b'x'; 11]);
        assert!(source.bytes(11).is_ok());
        assert!(source.bytes(10).unwrap_err().contains("larger than"));
        assert!(Source::File(std::env::temp_dir()).bytes(10).unwrap_err().contains("directory"));
    }
}
