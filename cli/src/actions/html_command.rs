//! `--html-command`: HTML from the output of the user's command, such as a renderer.

use super::shell::Shell;
use crate::diagnostics::{Diagnostic, Origin};
use crate::input::bodies::Args;
use crate::input::flags::Flags;
use crate::input::source::StdinReaders;

/// The maximum size of the HTML, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The bodies, from any source.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    pub(crate) html: Option<String>,
    pub(crate) text: Option<String>,
    /// Unknown, since a file couldn't be read.
    pub(crate) unread: bool,
}

impl Bodies {
    /// The texts by field.
    pub(crate) fn texts(self) -> impl Iterator<Item = (&'static str, String)> {
        let fields = [("html", self.html), ("text", self.text)];
        fields.into_iter().filter_map(|(field, text)| Some((field, text?)))
    }
}

/// Returns the output of the command, or why there is none.
pub(crate) async fn output(command: &str) -> Result<String, String> {
    Shell::output(command, MAX_BYTES).await
}

/// Reads the bodies from flags, files and the command; adds problems to the flags.
pub(crate) async fn bodies(args: &Args, flags: &mut Flags, stdin: &mut StdinReaders) -> Bodies {
    let mut found = args.read_files(stdin);
    if let Some(command) = &args.html_command {
        let html = if args.has_html() {
            Err(("exclusive", "--html-command can't be used with --html or --html-file".to_owned()))
        } else {
            output(command).await.map_err(|rule| ("command", rule))
        };
        let origin = Origin::flag("--html-command", command);
        let html = match html {
            Ok(html) => Ok((html, origin)),
            Err((code, rule)) => Err(Diagnostic::new(code, rule, Some(origin)).into()),
        };
        found.push(("html", html));
    }
    let mut bodies = Bodies::default();
    for (field, body) in found {
        let Some((text, origin)) = flags.take(body) else {
            bodies.unread = true;
            continue;
        };
        flags.declare_part(format!("/{field}"), "", origin);
        *(if field == "html" { &mut bodies.html } else { &mut bodies.text }) = Some(text);
    }
    bodies
}
