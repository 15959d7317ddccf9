//! The flags of a broadcast's content, which making one and changing one have in common.

use crate::context::Context;
use crate::input::draft::flag_origin;
use crate::input::flags::Flags;
use crate::input::source::StdinReaders;
use crate::problem::{Found, Problem};

/// What the broadcast says, and to whom
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Segment: all its contacts get the broadcast, but those who have unsubscribed
    #[arg(long, value_name = "ID")]
    pub(super) segment_id: Option<String>,
    /// Sender: `you@x.test` or `You <you@x.test>`
    #[arg(long, value_name = "ADDR")]
    pub(super) from: Option<String>,
    /// Subject; it may hold placeholders, as the body
    #[arg(long, value_name = "TEXT")]
    pub(super) subject: Option<String>,
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
    /// Address that answers go to; repeat it
    #[arg(long, value_name = "ADDR")]
    pub(super) reply_to: Vec<String>,
    /// What a mail program shows beside the subject
    #[arg(long, value_name = "TEXT")]
    pub(super) preview_text: Option<String>,
    /// Name for its makers; no recipient sees it
    #[arg(long, value_name = "TEXT")]
    pub(super) name: Option<String>,
    /// Topic: contacts who don't want it get nothing
    #[arg(long, value_name = "ID")]
    pub(super) topic_id: Option<String>,
}

/// The bodies, wherever they were written.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    pub(super) html: Option<String>,
    pub(super) text: Option<String>,
    /// A file could not be read, so nobody knows whether there is a body.
    pub(super) unread: bool,
}

impl Args {
    /// Reads the files, and tells the flags where each field was written.
    pub(super) fn bodies(&self, flags: &mut Flags, context: &Context) -> Bodies {
        for (pointer, flag, value) in [
            ("/segment_id", "--segment-id", &self.segment_id),
            ("/from", "--from", &self.from),
            ("/subject", "--subject", &self.subject),
            ("/topic_id", "--topic-id", &self.topic_id),
        ] {
            flags.field(pointer, flag, value.as_deref());
        }
        flags.list("/reply_to", "--reply-to", &self.reply_to);
        let mut stdin = StdinReaders::besides(context);
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
