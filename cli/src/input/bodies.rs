//! The text and HTML bodies, given on the command line or in files.

use super::source::{StdinReaders, is_stdin};
use crate::diagnostics::{Diagnostic, Origin};

// No doc comment, which would replace the command's own.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Plain-text body; - reads standard input; derived from the HTML by default
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

/// A body's text and origin, or why it can't be read.
type Body = Result<(String, Origin), Box<Diagnostic>>;

impl Args {
    /// Whether a flag or a file sets the HTML.
    pub(crate) fn has_html(&self) -> bool {
        self.html.is_some() || self.html_file.is_some()
    }

    /// Reads the files; returns the bodies by field. Commands call `html_command::bodies`, which also runs the command.
    pub(crate) fn read_files(&self, stdin: &mut StdinReaders) -> Vec<(&'static str, Body)> {
        let text = read("--text", self.text.as_deref(), "--text-file", self.text_file.as_deref(), stdin);
        let html = read("--html", self.html.as_deref(), "--html-file", self.html_file.as_deref(), stdin);
        [("text", text), ("html", html)]
            .into_iter()
            .filter_map(|(field, body)| Some((field, body.transpose()?)))
            .collect()
    }
}

/// Returns one body, if set.
fn read(
    flag: &str,
    text: Option<&str>,
    file_flag: &str,
    file: Option<&str>,
    stdin: &mut StdinReaders,
) -> Result<Option<(String, Origin)>, Box<Diagnostic>> {
    let (flag, path) = match (text, file) {
        (Some(text), Some(_)) => {
            let rule = format!("{flag} and {file_flag} can't be used together");
            return Err(Diagnostic::new("exclusive", rule, Some(Origin::flag(flag, text))).into());
        }
        (Some(text), None) if is_stdin(text) => (flag, text),
        (Some(text), None) => return Ok(Some((text.to_owned(), Origin::flag(flag, text)))),
        (None, Some(path)) => (file_flag, path),
        (None, None) => return Ok(None),
    };
    let (_, text) = stdin.text(flag, path)?;
    Ok(Some((text.to_string(), Origin::flag(flag, path))))
}
