//! The two bodies of a letter, each written on the command line or in a file.

use super::draft::flag_origin;
use super::flags::Flags;
use super::source::StdinReaders;
use crate::diagnostics::{Found, Problem};

/// What it says
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Plain text; derived from the HTML when absent
    ///
    /// An empty text switches the derivation off. A text that begins with a dash is written --text='- one'.
    #[arg(long, value_name = "TEXT", help_heading = "Body")]
    text: Option<String>,
    /// Plain text from a file; - is standard input
    #[arg(long, value_name = "PATH", help_heading = "Body")]
    text_file: Option<String>,
    /// HTML
    #[arg(long, value_name = "HTML", help_heading = "Body")]
    html: Option<String>,
    /// HTML from a file; - is standard input
    #[arg(long, value_name = "PATH", help_heading = "Body")]
    html_file: Option<String>,
}

/// The bodies, wherever they were written.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    pub(crate) html: Option<String>,
    pub(crate) text: Option<String>,
    /// A file could not be read, so nobody knows whether there is a body.
    pub(crate) unread: bool,
}

impl Args {
    /// Reads the files.
    pub(crate) fn read(&self, flags: &mut Flags, mut stdin: StdinReaders) -> Bodies {
        let mut unread = false;
        let mut body = |flag, text: &Option<String>, file_flag, file: &Option<String>| {
            let read = body(flags, &mut stdin, (flag, text.as_deref()), (file_flag, file.as_deref()));
            unread |= read.is_err();
            read.unwrap_or_default()
        };
        let text = body("--text", &self.text, "--text-file", &self.text_file);
        let html = body("--html", &self.html, "--html-file", &self.html_file);
        Bodies { html, text, unread }
    }
}

/// Something is wrong with a body; the flags know what.
struct Unread;

/// One body, if it was given.
fn body(
    flags: &mut Flags,
    stdin: &mut StdinReaders,
    (flag, text): (&'static str, Option<&str>),
    (file_flag, file): (&'static str, Option<&str>),
) -> Result<Option<String>, Unread> {
    let Some(path) = file else { return Ok(text.map(str::to_owned)) };
    if let Some(text) = text {
        flags.wrong("exclusive", format!("{flag} and {file_flag} exclude each other"), flag, text);
        return Err(Unread);
    }
    let source = match stdin.claim(file_flag, path) {
        Ok(source) => source,
        Err(found) => {
            flags.push(*found);
            return Err(Unread);
        }
    };
    match source.text() {
        Ok(text) => Ok(Some(text.to_string())),
        Err(rule) => {
            let problem = Problem::new("", "file", format!("{source} can't be read: {rule}"));
            flags.push(Found { problem, origin: Some(flag_origin(file_flag, 1, path)), hint: None });
            Err(Unread)
        }
    }
}
