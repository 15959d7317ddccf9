//! Files that commands write: regular files are replaced atomically; devices and pipes are written to and never replaced.

use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::service::Service;
use crate::support::{Finish as _, Idempost, Ran, exit_code, wait_until};

fn pipe(path: PathBuf) -> PathBuf {
    assert!(std::process::Command::new("mkfifo").arg("-m600").arg(&path).status().unwrap().success());
    path
}

fn is_pipe(path: &Path) -> bool {
    std::fs::symlink_metadata(path).unwrap().file_type().is_fifo()
}

/// Runs a command that writes to `pipe`, and reads from the pipe.
fn received(idempost: &Idempost, arguments: &[&str], pipe: &Path) -> (Ran, String) {
    let path = pipe.to_owned();
    let (send, text) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(std::fs::read_to_string(path).unwrap()));
    let ran = idempost.run(arguments);
    (ran, text.recv_timeout(crate::support::TIMEOUT).unwrap_or_default())
}

#[test]
fn an_export_writes_to_a_pipe_and_replaces_only_regular_files() {
    let (_service, idempost) = Service::with_program();
    idempost.run(&["contacts", "create", "ada@example.com"]).ok();
    let pipe = pipe(idempost.home().join("pipe"));
    symlink(&pipe, idempost.home().join("link")).unwrap();
    for name in ["pipe", "link"] {
        let (ran, text) = received(&idempost, &["contacts", "export", "--output-file", name], &pipe);
        ran.ok();
        assert!(text.contains("\nada@example.com,"), "{text:?}");
        assert!(is_pipe(&pipe) && idempost.home().join("link").is_symlink());
    }
    let file = idempost.home().join("file.csv");
    std::fs::write(&file, "old").unwrap();
    symlink("file.csv", idempost.home().join("file-link")).unwrap();
    idempost.run(&["contacts", "export", "--output-file", "file-link"]).ok();
    assert!(idempost.home().join("file-link").is_symlink());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("email,"));
}

#[test]
fn ctrl_c_ends_an_export_to_a_pipe_without_a_reader() {
    let (service, idempost) = Service::with_program();
    let pipe = pipe(idempost.home().join("pipe"));
    let mut command = idempost.command();
    let child = command.args(["contacts", "export", "--output-file", "pipe"]).spawn().unwrap();
    wait_until("the service has a request", || service.asked() > 0);
    // openat(AT_FDCWD, …), by its numbers on x86-64 and aarch64.
    #[cfg(target_os = "linux")]
    crate::support::wait_until_blocked(&child, "the command opens the pipe", &["257", "56"], "0xffffff9c");
    crate::support::signal(&child, rustix::process::Signal::INT);
    child.finish().fails(130);
    assert!(is_pipe(&pipe));
}

#[test]
fn a_sandbox_export_writes_to_a_pipe_and_never_replaces_it() {
    let sandbox = crate::sandbox::Sandbox::start("");
    let idempost = Idempost::at(&sandbox.base_url, "sb_test");
    idempost.run(&crate::support::SEND).ok();
    let pipe = pipe(idempost.home().join("pipe"));
    let (ran, text) = received(&idempost, &["sandbox", "export", "pipe", "--format", "mbox"], &pipe);
    ran.ok();
    assert!(text.starts_with("From ") && is_pipe(&pipe), "{text:?}");
}

#[test]
fn root_leaves_a_file_to_its_owner() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let idempost = Idempost::new().config("[defaults]\nretries = 1\n");
    let own = std::fs::metadata(idempost.config_file()).unwrap();
    // Only root can give a file away.
    let owner = if rustix::process::geteuid().is_root() { (1234, 1234) } else { (own.uid(), own.gid()) };
    chown(idempost.config_file(), Some(owner.0), Some(owner.1)).unwrap();
    idempost.run(&["config", "set", "retries", "2"]).ok();
    let file = std::fs::metadata(idempost.config_file()).unwrap();
    assert_eq!((file.uid(), file.gid()), owner);
    assert_eq!(idempost.read(".config/idempost/config.toml"), "[defaults]\nretries = 2\n");
}

#[test]
fn settings_are_read_from_a_pipe_which_is_never_replaced() {
    let idempost = Idempost::new().config("");
    let file = idempost.config_file();
    std::fs::remove_file(&file).unwrap();
    let pipe = pipe(idempost.home().join("pipe"));
    symlink(&pipe, &file).unwrap();
    let write = || {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, "[defaults]\nretries = 7\n").unwrap());
    };
    write();
    assert_eq!(idempost.run(&["config", "get", "retries", "--color", "never"]).stdout, "7\n");
    write();
    idempost.run(&["config", "set", "retries", "8"]).fails_with(1, &["not a regular file"]);
    assert!(is_pipe(&pipe) && file.is_symlink());
}

#[test]
fn an_endless_configuration_file_is_refused() {
    let idempost = Idempost::new().config("");
    let file = idempost.config_file();
    std::fs::remove_file(&file).unwrap();
    symlink("/dev/zero", &file).unwrap();
    idempost.run(&["config", "list"]).fails_with(2, &["not a regular file or pipe"]);
    idempost.run(&["config", "set", "retries", "8"]).fails(1);
    assert!(file.is_symlink());
    std::fs::remove_file(&file).unwrap();
    std::fs::File::create(&file).unwrap().set_len(2 << 20).unwrap();
    idempost.run(&["config", "list"]).fails_with(2, &["larger than 1 MiB"]);
}

#[test]
fn a_cursor_that_is_a_pipe_is_refused_at_once() {
    let (_service, idempost) = Service::with_program();
    let pipe = pipe(idempost.home().join("pipe"));
    let mut child = idempost.spawn(&["received", "watch", "--cursor", "pipe"]);
    assert_eq!(exit_code(&mut child), Some(1));
    let stderr = child.finish().fails(1);
    assert!(stderr.contains("not a regular file") && is_pipe(&pipe), "{stderr}");
}

/// Pipes `start` and then endless `more` into an import; returns its messages and the number of bytes read.
fn endless(arguments: &[&str], start: &str, more: &str) -> (String, usize) {
    let (service, idempost) = Service::with_program();
    let mut command = idempost.command();
    let mut child =
        command.args(["contacts", "import", "-"]).args(arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (mut taken, chunk) = (0, more.repeat(64 * 1024 / more.len()));
    let mut next = start;
    while stdin.write_all(next.as_bytes()).is_ok() {
        taken += next.len();
        assert!(taken < 64 << 20, "the command reads without end");
        next = &chunk;
    }
    let stderr = child.finish().fails(2);
    assert_eq!(service.requests().iter().filter(|request| request.method == http::Method::POST).count(), 0);
    (stderr, taken)
}

#[test]
fn an_import_stops_at_the_first_field_that_is_too_long() {
    let (stderr, taken) = endless(&[], "email,first_name\na@b.test,\"", "x");
    assert!(
        stderr.contains("row 2 (line 2), column 2") && stderr.contains("1048576 bytes (found more)"),
        "{stderr}"
    );
    assert!(taken < 2 << 20, "{taken}");
    let (stderr, taken) = endless(&[], "email", ",x");
    assert!(
        stderr.contains("row 1 (line 1)") && stderr.contains("a row must have at most 4194304 bytes"),
        "{stderr}"
    );
    assert!(taken < 6 << 20, "{taken}");
}

#[test]
fn an_import_stops_when_the_file_is_too_large() {
    let (stderr, taken) = endless(&["--max-size", "2MiB"], "email\n", "a@b.test\n");
    assert!(stderr.contains("2097152 bytes") && stderr.contains("--max-size"), "{stderr}");
    assert!(taken < 3 << 20, "{taken}");

    let idempost = Idempost::new();
    std::fs::File::create(idempost.home().join("large.csv")).unwrap().set_len(2 << 30).unwrap();
    idempost.run(&["contacts", "import", "large.csv", "--dry-run"]).fails_with(2, &["found 2147483648"]);
    let ran = idempost.run(&["contacts", "import", "large.csv", "--dry-run", "--max-size", "3GiB"]);
    ran.fails_with(2, &["row 1 (line 1), column 1: a field must have"]);
    for wrong in ["0", "1PB", "-1", "many"] {
        let size = format!("--max-size={wrong}");
        idempost.run(&["contacts", "import", "large.csv", "--dry-run", &size]).fails(2);
    }
}
