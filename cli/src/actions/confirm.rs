//! Confirmation before irreversible operations.

use std::io::BufRead as _;

use tokio::sync::oneshot;

use crate::context::{Context, Identity};
use crate::diagnostics::{Fail, Signal};
use crate::output::terminal::escape_line;
use crate::output::write_stderr;

/// Asks for confirmation of a change at the service, and names the account.
pub(crate) async fn confirm(question: &str, context: &Context) -> Result<(), Fail> {
    confirm_as(&context.identity()?, question, context).await
}

/// Like [`confirm`], for a different account than the settings'.
pub(crate) async fn confirm_as(identity: &Identity, question: &str, context: &Context) -> Result<(), Fail> {
    ask(question, Some(&identity.to_string()), context).await
}

/// Asks for confirmation of a change on this machine.
pub(crate) async fn confirm_locally(question: &str, context: &Context) -> Result<(), Fail> {
    ask(question, None, context).await
}

/// The default answer is no. If the session isn't interactive, `--yes` is required: without a terminal, with `--no-input`, in CI, with JSON output.
async fn ask(question: &str, identity: Option<&str>, context: &Context) -> Result<(), Fail> {
    if context.global.yes {
        return Ok(());
    }
    if !is_interactive(context)? {
        let rule = format!(
            "confirmation required, but the session isn't interactive: {question}{}",
            identity.map(|identity| format!(" (as {identity})")).unwrap_or_default()
        );
        return Err(Fail::usage("required", rule, None).hint("to confirm, pass --yes"));
    }
    let (send, receive) = oneshot::channel();
    // Reads on a separate thread, so that a signal can end the program.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        // The receiver is gone only if the program is exiting.
        let _ = send.send(read.map(|_| line));
    });
    let identity = identity.map(|identity| format!("As {}:\n", escape_line(identity))).unwrap_or_default();
    write_stderr(&format!("{identity}{} [y/N] ", escape_line(question)));
    let line = receive.await.ok().and_then(Result::ok).unwrap_or_default();
    if matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Fail::stopped(Signal::Interrupt, "not confirmed; nothing was done"))
}

/// Whether the session is interactive.
pub(crate) fn is_interactive(context: &Context) -> Result<bool, Fail> {
    let terminal = &context.out.terminal;
    let wanted = !context.settings()?.no_input.value && !context.out.quiet && !context.out.is_json();
    let alone = context.env.get("CI").is_some() || context.env.get("TERM") == Some("dumb");
    Ok(wanted && !alone && terminal.stdin && terminal.stdout && terminal.stderr)
}
