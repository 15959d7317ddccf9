//! Opens files in the user's editor.

use std::io::Write as _;
use std::path::Path;

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::literal::check_local;
use crate::processes;

/// Opens a file in `$VISUAL` or `$EDITOR`, and waits until the editor exits. The editor handles Ctrl-C.
pub(crate) async fn open(file: &Path, context: &Context) -> Result<(), Fail> {
    let editor = context.env.get("VISUAL").or_else(|| context.env.get("EDITOR"));
    // The variable may contain flags: `code --wait`.
    let mut words = editor.map(processes::split_words).unwrap_or_default().into_iter();
    let program = words.next().unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "vi" }.to_owned());
    check_local().map_err(|error| Fail::local("couldn't start an editor", error))?;
    let _foreground = processes::foreground();
    let mut command =
        tokio::process::Command::new(processes::resolve_program(program.as_ref(), &context.env));
    let status = command.args(words).arg(file).status().await.map_err(|error| {
        Fail::local(format!("couldn't start the editor `{program}`"), error).hint("set VISUAL or EDITOR")
    })?;
    if status.success() {
        return Ok(());
    }
    let message = format!("the editor `{program}` failed ({status})");
    Err(Fail::error(message))
}

/// Opens a draft in the editor, as a private temporary file; fails if the result is empty or unchanged.
pub(crate) async fn edit(draft: &str, suffix: &str, context: &Context) -> Result<String, Fail> {
    let failed = |error| Fail::local("couldn't edit the message; nothing was sent", error);
    let reject = |what: &str| {
        let message = format!("the message {what}; nothing was sent");
        Err(Fail::error(message))
    };
    let file = tempfile::Builder::new().prefix("idempost-").suffix(suffix).tempfile();
    let mut file = file.map_err(failed)?;
    file.write_all(draft.as_bytes()).map_err(failed)?;
    // Closed: on Windows some editors couldn't replace an open file. Dropping the path removes it, even if a signal ends the command.
    let path = file.into_temp_path();
    open(&path, context).await?;
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    match text.trim() {
        "" => reject("is empty"),
        // Editors append a line break.
        same if same == draft.trim() => reject("wasn't changed"),
        _ => Ok(text),
    }
}
