//! `--html-command`: HTML from the output of the user's command, such as a renderer.

use super::shell::Shell;
use crate::input::bodies::{Args, Bodies};
use crate::input::flags::Flags;
use crate::input::source::StdinReaders;

/// The maximum size of the HTML, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the output of the command, or why there is none.
pub(crate) async fn output(command: &str) -> Result<String, String> {
    Shell::output(command, MAX_BYTES).await
}

/// Reads the bodies from flags, files and the command.
pub(crate) async fn bodies(args: &Args, flags: &mut Flags, stdin: &mut StdinReaders) -> Bodies {
    let mut bodies = args.read_files(flags, stdin);
    let Some(command) = &args.html_command else { return bodies };
    let output = if args.has_html() {
        Err(("exclusive", "--html-command can't be used with --html or --html-file".to_owned()))
    } else {
        output(command).await.map_err(|rule| ("command", rule))
    };
    match output {
        Ok(html) => bodies.html = Some(html),
        Err((code, rule)) => {
            flags.reject(code, rule, "--html-command", command);
            bodies.unread = true;
        }
    }
    bodies
}
