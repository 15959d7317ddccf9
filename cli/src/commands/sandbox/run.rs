//! `sandbox run -- COMMAND`: runs another program with its own sandbox, for CI.

use std::io::Write as _;
use std::process::ExitStatus;

use tempfile::NamedTempFile;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use url::Url;

use super::serve::reach::ListenArgs;
use super::server::SandboxServer;
use super::{KEY, REMOTE, ServerArgs, VENDOR_API_KEY, vendor_base_urls};
use crate::context::Context;
use crate::diagnostics::{Fail, Signal};
use crate::processes;
use crate::settings::env::Env;
use crate::settings::paths::SANDBOX_JOBS;
use crate::signals::Signals;

/// The variable with the file of a self-signed certificate for SMTP.
const CERTIFICATE: &str = "IDEMPOST_SANDBOX_SMTP_CERT";
/// The variable with further certificates that Node.js trusts.
const NODE_CERTIFICATES: &str = "NODE_EXTRA_CA_CERTS";

/// Run a command with its own sandbox and exit with the command's exit code
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Sets IDEMPOST_BASE_URL and IDEMPOST_API_KEY for the command, with --smtp-port also IDEMPOST_SANDBOX_SMTP, SMTP_HOST and SMTP_PORT, and with --smtp-tls-port IDEMPOST_SANDBOX_SMTPS. \
    With a self-signed certificate for SMTP, IDEMPOST_SANDBOX_SMTP_CERT is its file; NODE_EXTRA_CA_CERTS is also set, unless it is already, so that Node.js trusts it. \
    For Resend's own clients it sets RESEND_BASE_URL, RESEND_API_URL and RESEND_API_KEY, replacing any live key in the environment.\n\nExamples:\n  \
    idempost sandbox run -- bash\n  \
    idempost sandbox run -- sh -c './app && idempost sandbox inbox wait --to ada@example.com'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    service: ServerArgs,
    /// Leave RESEND_BASE_URL, RESEND_API_URL and RESEND_API_KEY unchanged; the command may then send real emails
    #[arg(long)]
    no_vendor_env: bool,
    /// Command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<std::ffi::OsString>,
}

/// Starts the sandbox and the command, and waits for the command.
pub(super) async fn run(args: Box<Args>, context: &Context) -> Result<(), Fail> {
    let server = SandboxServer::open(0, &ListenArgs::default(), &args.service, context).await?;
    let base_url = server.base_url.clone();
    let smtp = [("IDEMPOST_SANDBOX_SMTP", server.smtp_url()), ("IDEMPOST_SANDBOX_SMTPS", server.smtps_url())];
    let smtp = smtp.into_iter().filter_map(|(name, url)| Some((name, url?)));
    let smtp_address = server.smtp_address();
    let certificate = server.self_signed().map(write_certificate).transpose();
    let certificate =
        certificate.map_err(|error| Fail::local("couldn't write the certificate for SMTP", error))?;
    let jobs = tempfile::tempdir()
        .map_err(|error| Fail::local("couldn't create a temporary folder for bulk jobs", error))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(Box::pin(async {
        // Dropping the sender also stops the server.
        let _ = stopped.await;
    })));
    let [program, arguments @ ..] = args.command.as_slice() else { return Ok(()) };
    // Registered before the command starts, so that early signals reach it too.
    let signals = Signals::listen()?;
    let mut command = Command::new(processes::resolve_program(program, &context.env));
    command
        .args(arguments)
        .env("IDEMPOST_BASE_URL", &base_url)
        .env("IDEMPOST_API_KEY", KEY)
        .env(SANDBOX_JOBS, format!("{} {}", base_url.trim_end_matches('/'), jobs.path().display()))
        // A profile in addition to the key would be ambiguous.
        .env_remove("IDEMPOST_PROFILE")
        .env_remove("IDEMPOST_ACCESS_TOKEN")
        .env_remove(REMOTE)
        .envs(smtp);
    if let Some(list) = proxy_exceptions(&context.env, &base_url) {
        command.env("NO_PROXY", &list).env("no_proxy", list);
    }
    if let Some(address) = smtp_address {
        command.env("SMTP_HOST", address.ip().to_string()).env("SMTP_PORT", address.port().to_string());
    }
    if let Some(file) = &certificate {
        command.env(CERTIFICATE, file.path());
        // Node.js trusts it in addition to its default certificates. Other programs' variables would replace theirs, and break other
        // connections.
        if context.env.get(NODE_CERTIFICATES).is_none() {
            command.env(NODE_CERTIFICATES, file.path());
        }
    }
    if args.no_vendor_env {
        context.out.warn("RESEND_BASE_URL, RESEND_API_URL and RESEND_API_KEY are unchanged: clients that read them may send real emails");
    } else {
        command.envs(vendor_base_urls(&base_url)).env(VENDOR_API_KEY, KEY);
    }
    let child = command.spawn().map_err(|error| Fail::Child {
        // Uses the shell's exit codes for a command that doesn't exist or can't be run.
        code: if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 },
        message: Some(format!("couldn't start `{}`: {error}", program.to_string_lossy())),
    })?;
    context.out.note(&format!("sandbox: {base_url}   inbox: {base_url}/_/   (stops with the command)"));
    let status = wait(child, signals).await;
    let _ = stop.send(());
    let _ = serving.await;
    let status = status.map_err(|error| Fail::local("couldn't wait for the command", error))?;
    match exit_code(status) {
        0 => Ok(()),
        code => Err(Fail::Child { code, message: None }),
    }
}

/// The value of `NO_PROXY` that lets the command reach the sandbox past the environment's proxy, which many clients use even for this machine.
/// `None` without a proxy: the variable alone would turn off the system's in some clients.
fn proxy_exceptions(env: &Env, base_url: &str) -> Option<String> {
    ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        .into_iter()
        .find(|name| env.raw(name).is_some())?;
    let url = Url::parse(base_url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let given = env.get("no_proxy").or_else(|| env.get("NO_PROXY"));
    Some(match given {
        None => host.to_owned(),
        Some(list) if list.split(',').any(|one| ["*", host].contains(&one.trim())) => list.to_owned(),
        Some(list) => format!("{list},{host}"),
    })
}

/// Writes a certificate to a file that is deleted on drop.
fn write_certificate(pem: &str) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_suffix(".pem")?;
    file.write_all(pem.as_bytes())?;
    file.flush()?;
    Ok(file)
}

/// Waits for the command and forwards signals to it; the command decides how to react.
async fn wait(mut child: Child, mut signals: Signals) -> std::io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = child.wait() => return status,
            signal = signals.next() => {
                if signal == Signal::Terminate || !is_in_foreground() {
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
        // The process may just have exited.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Whether the terminal sends Ctrl-C to the command directly, because it is in the foreground process group.
#[cfg(unix)]
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|terminal| {
        rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
    })
}

#[cfg(not(unix))]
fn is_in_foreground() -> bool {
    true
}

#[cfg(not(unix))]
fn forward(_: &Child, _: Signal) {}

/// The command's exit code; after a signal, 128 plus its number, as in a shell.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(1);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
