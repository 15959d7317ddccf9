//! Questions before something that can't be taken back.

use std::io::BufRead as _;

use tokio::sync::oneshot;

use crate::context::Context;
use crate::diagnostics::{Fail, Problem, Report, Signal};
use crate::output::write_stderr;

/// Asks whether to go on; no is the answer that needs no typing.
///
/// Where nobody can be asked, `--yes` has to say it: without a terminal, with `--no-input`, in CI, where JSON is wanted.
pub(crate) async fn confirm(question: &str, context: &Context) -> Result<(), Fail> {
    if context.global.yes {
        return Ok(());
    }
    if !may_ask(context)? {
        let problem =
            Problem::new("", "required", format!("this needs an answer and nobody can be asked: {question}"));
        let mut report = Report::one(problem, None);
        report.help = Some("say it with --yes".to_owned());
        return Err(Fail::Usage(report));
    }
    let (send, answer) = oneshot::channel();
    // A thread of its own: a signal ends the program while it waits for a line.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        // Nobody waits for the answer of a program that is ending.
        let _ = send.send(read.map(|_| line));
    });
    write_stderr(&format!("{} [y/N] ", crate::output::terminal::safe(question)));
    let line = answer.await.ok().and_then(Result::ok).unwrap_or_default();
    if matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    context.out.note("nothing was done");
    Err(Fail::Interrupted(Signal::Interrupt))
}

/// Whether somebody is there to answer.
pub(crate) fn may_ask(context: &Context) -> Result<bool, Fail> {
    let terminal = &context.out.terminal;
    let wanted = !context.settings()?.no_input.value && !context.out.is_quiet() && !context.out.is_json();
    let alone = context.env.get("CI").is_some() || context.env.get("TERM") == Some("dumb");
    Ok(wanted && !alone && terminal.stdin && terminal.stdout && terminal.stderr)
}
