//! Runs the program with its own home folder and none of the machine's environment.

use std::io::{Read, Write as _};
#[cfg(unix)]
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rand::Rng as _;
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longer than any step takes on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);
/// Longer than any run of a program takes.
pub(crate) const RUN_TIMEOUT: Duration = Duration::from_mins(10);

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

/// A command line: its words, or a text that a shell would split into them. A pair is one line after the other.
pub(crate) trait CommandLine {
    fn words(&self) -> Vec<String>;
}

impl CommandLine for str {
    fn words(&self) -> Vec<String> {
        shlex::split(self).unwrap()
    }
}

impl CommandLine for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<T: AsRef<str>> CommandLine for [T] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<T: AsRef<str>, const N: usize> CommandLine for [T; N] {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<T: AsRef<str>> CommandLine for Vec<T> {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<T: CommandLine + ?Sized> CommandLine for &T {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

impl<A: CommandLine, B: CommandLine> CommandLine for (A, B) {
    fn words(&self) -> Vec<String> {
        [self.0.words(), self.1.words()].concat()
    }
}

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
        #[cfg(target_os = "linux")]
        default_signals();
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
    pub(crate) fn run(&self, line: &(impl CommandLine + ?Sized)) -> Ran {
        Ran::of(self.command().args(line.words()).finish())
    }

    /// Starts it.
    pub(crate) fn spawn(&self, line: &(impl CommandLine + ?Sized)) -> Child {
        self.command().args(line.words()).spawn().unwrap()
    }

    /// Runs a script in the same environment.
    #[cfg(unix)]
    pub(crate) fn shell(&self, script: &str) -> Ran {
        Ran::of(self.wrapped("sh").args(["-c", script]).finish())
    }

    /// Runs it with this standard input.
    pub(crate) fn run_with(&self, line: &(impl CommandLine + ?Sized), input: &str) -> Ran {
        let mut child = self.command().args(line.words()).stdin(Stdio::piped()).spawn().unwrap();
        // The program may exit without reading it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::of(child.finish())
    }
}

/// Makes the processes that the tests start independent of the signals that the tests were started to ignore, for example by nohup: a
/// signal that is handled here has its default effect there.
#[cfg(target_os = "linux")]
fn default_signals() {
    use tokio::signal::unix::{SignalKind, signal};
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let inside = runtime.enter();
        for kind in
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()]
        {
            // Others keep their effect on the tests.
            if (ignored >> (kind.as_raw_value() - 1)) & 1 == 1 {
                drop(signal(kind).unwrap());
            }
        }
        drop(inside);
        // The test may run inside another runtime, where dropping one panics.
        runtime.shutdown_background();
    });
}

/// Whether to search more than an ordinary run can afford: `.ci/run models`.
pub(crate) fn exhaustive() -> bool {
    std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some()
}

/// Runs a function for each of these, several at a time: a program that starts leaves a processor idle. The results are in no order.
pub(crate) fn concurrently<T: Send, R: Send>(
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    run: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().unwrap().next();
    let work = || std::iter::from_fn(next).map(&run).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(work));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < TIMEOUT, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A free port below those that the system gives to connections, so that none takes it before its server starts.
#[cfg(unix)]
pub(crate) fn free_port() -> u16 {
    loop {
        let port = rand::thread_rng().gen_range(15_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A program's exit and output, awaited with a timeout.
pub(crate) trait Finish {
    #[track_caller]
    fn finish(self) -> Output;
}

impl Finish for Child {
    fn finish(self) -> Output {
        let id = self.id();
        let (sender, output) = channel();
        std::thread::spawn(move || sender.send(self.wait_with_output()));
        let ended = output.recv_timeout(RUN_TIMEOUT);
        ended.unwrap_or_else(|_| panic!("timed out waiting until process {id} exits")).unwrap()
    }
}

impl Finish for &mut Command {
    fn finish(self) -> Output {
        self.spawn().unwrap().finish()
    }
}

/// The exit code, awaited with a timeout.
#[track_caller]
pub(crate) fn exit_code(child: &mut Child) -> Option<i32> {
    let mut status = None;
    wait_until("the program exits", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

/// A program's output; reading fails if none arrives in time.
pub(crate) struct Limited<T>(pub(crate) T);

#[cfg(unix)]
impl<T: Read + std::os::fd::AsFd> Read for Limited<T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        let timeout = rustix::time::Timespec::try_from(TIMEOUT).unwrap();
        let ready = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout));
        if ready == Ok(0) {
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the program printed nothing"));
        }
        self.0.read(buffer)
    }
}

#[cfg(not(unix))]
impl<T: Read> Read for Limited<T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

/// Waits until a thread of a program is blocked in one of these system calls, by their numbers, with this first argument.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn wait_until_blocked(child: &Child, what: &str, calls: &[&str], first: &str) {
    wait_until(what, || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
        tasks.into_iter().any(|task| {
            let call = std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
            let mut words = call.split(' ');
            words.next().is_some_and(|number| calls.contains(&number)) && words.next() == Some(first)
        })
    });
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

    /// Asserts like [`fails`](Self::fails), and that standard error contains these texts.
    #[track_caller]
    pub(crate) fn fails_with(self, code: i32, texts: &[&str]) -> String {
        let stderr = self.fails(code);
        let missing: Vec<_> = texts.iter().filter(|text| !stderr.contains(**text)).collect();
        assert!(missing.is_empty(), "{missing:?} isn't in {stderr}");
        stderr
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
