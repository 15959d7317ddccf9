//! `--html-command`: HTML from the output of the user's command, such as a renderer.

use super::shell::Shell;
use crate::diagnostics::{Diagnostic, Origin};
use crate::input::bodies::{Args, Body};
use crate::input::flags::Flags;
use crate::input::source::StdinReaders;

/// The maximum size of the HTML, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The bodies, from either source.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    pub(crate) html: Option<String>,
    pub(crate) text: Option<String>,
    /// Unknown, since a file couldn't be read.
    pub(crate) unread: bool,
}

/// Returns the output of the command, or why there is none.
pub(crate) async fn output(command: &str) -> Result<String, String> {
    Shell::output(command, MAX_BYTES).await
}

/// Reads the bodies from flags, files and the command; returns them by field.
pub(crate) async fn read(args: &Args, stdin: &mut StdinReaders) -> Vec<(&'static str, Body)> {
    let mut bodies = args.read_files(stdin);
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
        bodies.push(("html", html));
    }
    bodies
}

/// Like [`read`], with the problems added to the flags.
pub(crate) async fn bodies(args: &Args, flags: &mut Flags, stdin: &mut StdinReaders) -> Bodies {
    let mut bodies = Bodies::default();
    for (field, body) in read(args, stdin).await {
        match flags.take(body) {
            None => bodies.unread = true,
            Some((html, _)) if field == "html" => bodies.html = Some(html),
            Some((text, _)) => bodies.text = Some(text),
        }
    }
    bodies
}
