//! Runs the program with its own home folder and none of the machine's environment.

use std::io::Write as _;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Stdio};

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The minimal command that sends an email.
pub(crate) const SEND: [&str; 10] = [
    "emails",
    "send",
    "--from",
    "hi@acme.test",
    "--to",
    "ada@example.com",
    "--subject",
    "Hello",
    "--text",
    "It works",
];

/// The program with its home folder and environment.
pub(crate) struct Idempost {
    home: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Idempost {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), env: Vec::new() }
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Writes the configuration file.
    pub(crate) fn config(self, text: &str) -> Self {
        std::fs::create_dir_all(self.config_file().parent().unwrap()).unwrap();
        std::fs::write(self.config_file(), text).unwrap();
        self
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.home().join(".config/idempost/config.toml")
    }

    /// The program's command, without arguments.
    pub(crate) fn command(&self) -> Command {
        self.wrapped(env!("CARGO_BIN_EXE_idempost"))
    }

    /// Another program in the same environment, which may exec this one.
    pub(crate) fn wrapped(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.env.iter().map(|(name, value)| (name, value))).current_dir(self.home());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to completion.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command().args(arguments).output().unwrap())
    }

    /// Runs a script in the same environment.
    #[cfg(unix)]
    pub(crate) fn shell(&self, script: &str) -> Ran {
        let mut command = Command::new("sh");
        command.env_clear().env("HOME", self.home()).current_dir(self.home()).args(["-c", script]);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        Ran::of(command.output().unwrap())
    }

    /// Runs it with this standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command().args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }
}

/// Sends a signal, without the program `kill`, which minimal systems lack.
#[cfg(unix)]
pub(crate) fn signal(child: &Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

impl Ran {
    pub(crate) fn of(output: std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts success; returns standard output.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Asserts this exit code and an empty standard output; returns standard error.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        self.stderr
    }

    /// Asserts success; parses standard output as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// Asserts this exit code; returns the error object on the last line.
    #[track_caller]
    pub(crate) fn error(self, code: i32) -> Value {
        let stderr = self.fails(code);
        let error: Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
        assert_eq!(error["error"]["exit_code"], code);
        error["error"].clone()
    }
}
