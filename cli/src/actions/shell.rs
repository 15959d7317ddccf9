//! Runs shell commands given by the user.

use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::literal::check_local;
use crate::processes;

/// The number of quoted bytes of the command's standard error.
const MAX_QUOTED_BYTES: usize = 1_000;

/// A running shell command. Dropping it kills the command and all its child processes.
pub(crate) struct Shell {
    child: Child,
}

impl Shell {
    fn start(command: &str, set: impl FnOnce(&mut Command)) -> Result<Self, String> {
        check_local().map_err(|error| error.to_string())?;
        let mut shell = Command::from(processes::shell(command));
        shell.kill_on_drop(true);
        #[cfg(unix)]
        shell.process_group(0);
        set(&mut shell);
        Ok(Self { child: shell.spawn().map_err(|error| format!("couldn't start the shell: {error}"))? })
    }

    /// Passes a command its input and waits for it; its output goes to standard error.
    pub(crate) async fn run_with_input(
        command: &str,
        input: &[u8],
        variables: &[(&str, &str)],
    ) -> Result<(), String> {
        let mut shell = Self::start(command, |shell| {
            shell.stdin(Stdio::piped()).stdout(std::io::stderr()).envs(variables.iter().copied());
        })?;
        if let Some(mut stdin) = shell.child.stdin.take() {
            // The command may exit without reading its input.
            let _ = stdin.write_all(input).await;
        }
        check_status(shell.child.wait().await, "")
    }

    /// Returns the standard output of a command.
    pub(crate) async fn output(command: &str, limit: u64) -> Result<String, String> {
        let mut text = Vec::new();
        Self::copy(command, limit, &mut text).await?;
        String::from_utf8(text).map_err(|_| "the command's output isn't UTF-8 text".to_owned())
    }

    /// Writes the standard output of a command, and fails unless the command succeeds.
    pub(crate) async fn copy(
        command: &str,
        limit: u64,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), String> {
        let mut shell = Self::start(command, |shell| {
            shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        })?;
        let (stdout, stderr) = (shell.child.stdout.take(), shell.child.stderr.take());
        let copy = async {
            let copied = match stdout {
                Some(stdout) => tokio::io::copy(&mut stdout.take(limit.saturating_add(1)), to).await,
                None => Ok(0),
            };
            match copied.map_err(|error| error.to_string())? {
                bytes if bytes > limit => Err(format!("the command's output exceeds {limit} bytes")),
                _ => Ok(()),
            }
        };
        let tail = async {
            let (mut tail, mut part) = (Vec::new(), [0; 4096]);
            if let Some(mut stderr) = stderr {
                while let Ok(n @ 1..) = stderr.read(&mut part).await {
                    tail.extend_from_slice(&part[..n]);
                    tail.drain(..tail.len().saturating_sub(MAX_QUOTED_BYTES));
                }
            }
            String::from_utf8_lossy(&tail)
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join("; ")
        };
        let ((), tail) = tokio::try_join!(copy, async { Ok(tail.await) })?;
        check_status(shell.child.wait().await, &tail)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) =
            self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            // It may have just exited.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
        // Before the shell is killed: afterwards, its children can't be found.
        #[cfg(windows)]
        if let Some(id) = self.child.id() {
            let mut kill = std::process::Command::new("taskkill");
            kill.args(["/T", "/F", "/PID", &id.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = kill.status();
        }
    }
}

fn check_status(status: std::io::Result<ExitStatus>, stderr: &str) -> Result<(), String> {
    let status = status.map_err(|error| error.to_string())?;
    let colon = if stderr.is_empty() { "" } else { ": " };
    if status.success() { Ok(()) } else { Err(format!("the command failed ({status}){colon}{stderr}")) }
}
