//! Runs the program with its own home folder and none of the machine's environment.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io::{BufRead as _, BufReader, PipeWriter, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rand::Rng as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longer than any step takes on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);
/// Longer than any run of a program takes.
pub(crate) const RUN_TIMEOUT: Duration = Duration::from_mins(10);

/// An address of this machine on which nothing listens.
pub(crate) const UNUSED: &str = "127.0.0.1:9";

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
    /// The arguments, unless another command ran the program.
    #[expect(dead_code, reason = "failed assertions print it")]
    arguments: Vec<String>,
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

    /// The program with this base URL and this API key.
    pub(crate) fn at(base_url: impl Into<String>, key: impl Into<String>) -> Self {
        Self::new().env("IDEMPOST_BASE_URL", base_url).env("IDEMPOST_API_KEY", key)
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Stores an API key for a service in a profile.
    #[track_caller]
    pub(crate) fn store_key(&self, profile: &str, base_url: &str, key: &str) {
        let login = "auth login --with-token --store file --profile";
        self.run_with(&(login, [profile, "--base-url", base_url]), key).ok();
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

    /// Writes a file in the home folder; returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.home().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Writes a shell script in the home folder; returns its path.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.write(name, format!("#!/bin/sh\n{text}\n"));
        set_mode(&path, 0o700);
        path
    }

    /// A browser that writes the URL that it opens to a file; returns the paths of both.
    pub(crate) fn browser(&self) -> (String, PathBuf) {
        let address = self.home().join("address");
        let write = format!("printf %s \"$1\" > '{0}.part' && mv '{0}.part' '{0}'", address.display());
        (self.script("browser", &write), address)
    }

    /// Reads a file in the home folder.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home().join(name)).unwrap()
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
        self.command().args(line.words()).finish()
    }

    /// Starts it.
    pub(crate) fn spawn(&self, line: &(impl CommandLine + ?Sized)) -> Child {
        self.command().args(line.words()).spawn().unwrap()
    }

    /// Runs it with this standard output.
    pub(crate) fn run_to(&self, stdout: impl Into<Stdio>, line: &(impl CommandLine + ?Sized)) -> Ran {
        self.command().args(line.words()).stdout(stdout).finish()
    }

    /// The program's command through a script, which must exec `"$0" "$@"`.
    pub(crate) fn through(&self, script: &str) -> Command {
        let mut command = self.wrapped("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_idempost")]);
        command
    }

    /// Runs a script in the same environment.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        self.wrapped("sh").args(["-c", script]).finish()
    }

    /// Runs it with this standard input.
    pub(crate) fn run_with(&self, line: &(impl CommandLine + ?Sized), input: &str) -> Ran {
        finish_with(self.command().args(line.words()), input)
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
    fn finish(self) -> Ran;
}

impl Finish for Child {
    fn finish(self) -> Ran {
        let id = self.id();
        let (sender, output) = channel();
        std::thread::spawn(move || sender.send(self.wait_with_output()));
        let ended = output.recv_timeout(RUN_TIMEOUT);
        Ran::of(ended.unwrap_or_else(|_| panic!("timed out waiting until process {id} exits")).unwrap())
    }
}

impl Finish for &mut Command {
    fn finish(self) -> Ran {
        let ran = self.spawn().unwrap().finish();
        Ran { arguments: arguments(self), ..ran }
    }
}

/// Runs a command with this standard input.
#[track_caller]
pub(crate) fn finish_with(command: &mut Command, input: &str) -> Ran {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The program may exit without reading it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ran { arguments: arguments(command), ..child.finish() }
}

fn arguments(command: &Command) -> Vec<String> {
    command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect()
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

/// A program that is killed when this value is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// Kills a program.
pub(crate) fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A program's output; reading fails if none arrives in time.
pub(crate) struct Limited<T>(pub(crate) T);

impl<T: Read + AsFd> Read for Limited<T> {
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

/// The lines of a program's output; reading fails if none arrives in time.
pub(crate) fn lines(output: &mut Option<impl Read + AsFd + 'static>) -> Lines {
    Box::new(BufReader::new(Limited(output.take().unwrap())).lines().map(Result::unwrap))
}

pub(crate) type Lines = Box<dyn Iterator<Item = String>>;

/// A port that is in use.
pub(crate) fn taken_port() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    (listener, port)
}

/// Sends a request with these header lines on its own connection; returns the status and the whole response.
#[track_caller]
pub(crate) fn request(url: &str, method: &str, headers: &str, body: impl AsRef<[u8]>) -> (u16, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.as_ref().len();
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A request rejected early may have closed the connection by then.
    let _ = stream.write_all(body.as_ref());
    let mut response = Vec::new();
    let _ = Limited(stream).read_to_end(&mut response);
    let response = String::from_utf8_lossy(&response).into_owned();
    (response.split(' ').nth(1).unwrap().parse().unwrap(), response)
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

/// The IDs of a process's children.
#[cfg(target_os = "linux")]
pub(crate) fn children(parent: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let ids = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    ids.flat_map(|ids| ids.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Sends a signal, without the program `kill`, which minimal systems lack.
pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(pid(child.id()), signal).unwrap();
}

/// The ID of a process, for the system's calls.
pub(crate) fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

/// A file on a full disk.
#[cfg(target_os = "linux")]
pub(crate) fn full_disk() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// A pipe without a reader.
pub(crate) fn closed_pipe() -> PipeWriter {
    std::io::pipe().unwrap().1
}

/// The permissions of a file.
pub(crate) fn mode(path: impl AsRef<Path>) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

pub(crate) fn set_mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Asserts that a text contains these.
#[track_caller]
pub(crate) fn shows(text: &str, parts: &[&str]) {
    let missing: Vec<_> = parts.iter().filter(|part| !text.contains(**part)).collect();
    assert!(missing.is_empty(), "{missing:?} isn't in {text}");
}

/// Asserts that a document has these members, and its objects theirs. One that is missing counts as null.
#[track_caller]
pub(crate) fn has(document: &Value, members: &Value) {
    let mut differences = Vec::new();
    compare("", document, members, &mut differences);
    assert!(differences.is_empty(), "{} in {document}", differences.join("; "));
}

fn compare(path: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    match expected {
        Value::Object(members) if found.is_object() => {
            for (name, member) in members {
                compare(&format!("{path}/{name}"), &found[name], member, differences);
            }
        }
        _ if found == expected => {}
        _ => differences.push(format!("{path} is {found} instead of {expected}")),
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            arguments: Vec::new(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts this exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Asserts that standard error contains these texts.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        self.contains(&self.stderr, texts);
        self
    }

    /// Asserts that standard output contains these texts.
    #[track_caller]
    pub(crate) fn prints(self, texts: &[&str]) -> Self {
        self.contains(&self.stdout, texts);
        self
    }

    #[track_caller]
    fn contains(&self, output: &str, texts: &[&str]) {
        let missing: Vec<_> = texts.iter().filter(|text| !output.contains(**text)).collect();
        assert!(missing.is_empty(), "{missing:?} isn't in\n{output}\n{self:?}");
    }

    /// Asserts that the program prints none of these texts, for example secrets.
    #[track_caller]
    pub(crate) fn hides(self, texts: &[&str]) -> Self {
        let shown = |text: &&&str| self.stdout.contains(**text) || self.stderr.contains(**text);
        let shown: Vec<_> = texts.iter().filter(shown).collect();
        assert!(shown.is_empty(), "{shown:?} is in {self:?}");
        self
    }

    /// Asserts success; returns standard output.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        self.exits(0).stdout
    }

    /// Asserts success, and that standard output contains these texts; returns it.
    #[track_caller]
    pub(crate) fn ok_with(self, texts: &[&str]) -> String {
        self.prints(texts).ok()
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
        self.says(texts).fails(code)
    }

    /// Asserts success; parses standard output as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// Parses standard output as JSON.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Asserts this exit code and an empty standard output; returns the error object on the last line.
    #[track_caller]
    pub(crate) fn error(self, code: i32) -> Value {
        let error = self.last_error();
        assert_eq!(error["exit_code"], code, "{self:?}");
        self.fails(code);
        error
    }

    /// The error object on the last line.
    #[track_caller]
    pub(crate) fn last_error(&self) -> Value {
        let last = self.stderr.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        last.unwrap_or_else(|| panic!("{self:?}"))["error"].take()
    }
}
