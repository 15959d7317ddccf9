//! The text and HTML bodies, given on the command line or in files.

use super::flags::Flags;
use super::source::{StdinReaders, is_stdin};

/// Text and HTML bodies
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Plain-text body, - reads standard input; derived from the HTML by default
    ///
    /// An empty value disables the derivation. For text with a leading dash, write --text='- one'.
    #[arg(long, value_name = "TEXT", help_heading = "Body")]
    text: Option<String>,
    /// Plain-text body from a file; - reads standard input
    #[arg(long, value_name = "PATH", help_heading = "Body")]
    text_file: Option<String>,
    /// HTML body; - reads standard input
    #[arg(long, value_name = "HTML", help_heading = "Body")]
    html: Option<String>,
    /// HTML body from a file; - reads standard input
    #[arg(long, value_name = "PATH", help_heading = "Body")]
    html_file: Option<String>,
    /// HTML body from a command's output, such as a renderer; nothing is sent if it fails
    #[arg(long, value_name = "COMMAND", help_heading = "Body")]
    pub(crate) html_command: Option<String>,
}

/// The bodies, from either source.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    pub(crate) html: Option<String>,
    pub(crate) text: Option<String>,
    /// Unknown, since a file couldn't be read.
    pub(crate) unread: bool,
}

impl Args {
    /// Whether a flag or a file sets the HTML.
    pub(crate) fn has_html(&self) -> bool {
        self.html.is_some() || self.html_file.is_some()
    }

    /// Reads the files. Commands call `html_command::bodies`, which also runs the command.
    pub(crate) fn read_files(&self, flags: &mut Flags, stdin: &mut StdinReaders) -> Bodies {
        let mut unread = false;
        let mut body = |flag, text: &Option<String>, file_flag, file: &Option<String>| {
            let read = body(flags, stdin, (flag, text.as_deref()), (file_flag, file.as_deref()));
            unread |= read.is_err();
            read.unwrap_or_default()
        };
        let text = body("--text", &self.text, "--text-file", &self.text_file);
        let html = body("--html", &self.html, "--html-file", &self.html_file);
        Bodies { html, text, unread }
    }
}

/// A body is invalid; the problem has been added to the flags.
struct InvalidBody;

/// Returns one body, if set.
fn body(
    flags: &mut Flags,
    stdin: &mut StdinReaders,
    (flag, text): (&'static str, Option<&str>),
    (file_flag, file): (&'static str, Option<&str>),
) -> Result<Option<String>, InvalidBody> {
    let (file_flag, path) = match (text, file) {
        (Some(text), Some(_)) => {
            flags.reject("exclusive", format!("{flag} and {file_flag} can't be used together"), flag, text);
            return Err(InvalidBody);
        }
        (Some(text), None) if is_stdin(text) => (flag, text),
        (text, None) => return Ok(text.map(str::to_owned)),
        (None, Some(path)) => (file_flag, path),
    };
    let (_, text) = flags.take(stdin.text(file_flag, path)).ok_or(InvalidBody)?;
    Ok(Some(text.to_string()))
}
