//! `sandbox run -- COMMAND`: a sandbox for one other program. One line for a build server.

use std::process::ExitStatus;

use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use super::house::House;
use super::{Behaviour, KEY};
use crate::context::Context;
use crate::diagnostics::{Fail, Signal};
use crate::signals::Signals;

/// The variables in which Resend's clients look for the service's address: the first for Node.js, Go, PHP, Ruby and Rust, the second for Python.
const VENDOR_BASE_URLS: [&str; 2] = ["RESEND_BASE_URL", "RESEND_API_URL"];
/// The variable in which all of them look for an API key.
const VENDOR_API_KEY: &str = "RESEND_API_KEY";

/// Run a command with a sandbox of its own, and end with its exit code
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command finds the sandbox in POSTHASTE_BASE_URL and POSTHASTE_API_KEY, and with --smtp-port and --smtp-tls-port its SMTP servers in POSTHASTE_SANDBOX_SMTP and POSTHASTE_SANDBOX_SMTPS. \
    Resend's own clients find it in RESEND_BASE_URL, RESEND_API_URL and RESEND_API_KEY, which replaces a live key in the environment.\n\nExamples:\n  \
    posthaste sandbox run -- bash\n  \
    posthaste sandbox run -- sh -c './app && posthaste sandbox inbox wait --to ada@example.com --timeout 10s'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    behaviour: Behaviour,
    /// Leave RESEND_BASE_URL, RESEND_API_URL and RESEND_API_KEY unchanged; the command may then send real emails
    #[arg(long)]
    no_vendor_env: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<std::ffi::OsString>,
}

/// Starts the sandbox, then the command, and waits for it.
pub(super) async fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let house = House::open(0, &args.behaviour, context).await?;
    let base_url = house.base_url().to_owned();
    let smtp = [("POSTHASTE_SANDBOX_SMTP", house.smtp_url()), ("POSTHASTE_SANDBOX_SMTPS", house.smtps_url())];
    let smtp = smtp.into_iter().filter_map(|(name, url)| Some((name, url?)));
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(house.serve(async {
        // Dropping the sender is a wish to stop, too.
        let _ = stopped.await;
    }));
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(()) };
    // Before the command is there: a signal that comes early is for it, too.
    let signals = Signals::listen()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("POSTHASTE_BASE_URL", &base_url)
        .env("POSTHASTE_API_KEY", KEY)
        .env_remove("POSTHASTE_ACCESS_TOKEN")
        .envs(smtp);
    if args.no_vendor_env {
        context.out.warn("RESEND_BASE_URL, RESEND_API_URL and RESEND_API_KEY are unchanged: clients that read them may send real emails");
    } else {
        command.envs(VENDOR_BASE_URLS.map(|name| (name, &base_url))).env(VENDOR_API_KEY, KEY);
    }
    let child = command.spawn().map_err(|error| Fail::Child {
        // As a shell says it: there is no such command, or it can't be run.
        code: if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 },
        message: Some(format!("`{}` can't be started: {error}", program.to_string_lossy())),
    })?;
    context.out.note(&format!("sandbox: {base_url}   inbox: {base_url}/_/   (it ends with the command)"));
    let status = wait(child, signals).await;
    let _ = stop.send(());
    let _ = served.await;
    let status = status.map_err(|error| Fail::local("the command cannot be waited for", error))?;
    match code(status) {
        0 => Ok(()),
        code => Err(Fail::Child { code, message: None }),
    }
}

/// Waits for the command's end and hands signals on to it; how it ends is its own affair.
async fn wait(mut child: Child, mut signals: Signals) -> std::io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = child.wait() => return status,
            signal = signals.next() => {
                if signal == Signal::Terminate || !in_foreground() {
                    forward(&child, signal);
                }
            }
        }
    }
}

#[cfg(unix)]
fn forward(child: &Child, signal: Signal) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
    let signal = match signal {
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Hangup => rustix::process::Signal::HUP,
    };
    if let Some(pid) = pid {
        // If it has just ended there is nobody left to tell.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Whether a Ctrl-C comes from the terminal, wherever the three streams lead: then it has reached the command already, as a member of the
/// same group.
#[cfg(unix)]
fn in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|terminal| {
        rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
    })
}

#[cfg(not(unix))]
fn in_foreground() -> bool {
    true
}

#[cfg(not(unix))]
fn forward(_: &Child, _: Signal) {}

/// The command's code; for one that a signal ended, what a shell says.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(1);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
