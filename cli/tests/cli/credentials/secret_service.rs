//! Logins in a real keyring: GNOME's, on a private session bus (Debian: `dbus-daemon`, `dbus-bin`, `gnome-keyring`).

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use idempost_needs::needs;
use idempost_reference_server::{Settings, TokenEventKind};
use serde_json::Value;
use url::Url;

use crate::service::Service;
use crate::support::{Finish as _, Idempost, Limited, wait_until};

const KEY: &str = "sb_test";

/// A session bus with an unlocked keyring; stopped when dropped.
struct Desktop {
    folder: tempfile::TempDir,
    bus: Child,
    keyring: Child,
    address: String,
}

impl Desktop {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        super::assert_private(folder.path(), 0o700);
        let mut bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .env("XDG_RUNTIME_DIR", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon is installed");
        let mut address = String::new();
        BufReader::new(Limited(bus.stdout.take().unwrap())).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let mut keyring = Command::new("gnome-keyring-daemon")
            .args(["--foreground", "--unlock", "--components=secrets"])
            .env("DBUS_SESSION_BUS_ADDRESS", &address)
            .envs(
                ["HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"]
                    .map(|name| (name, folder.path())),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("gnome-keyring-daemon is installed");
        keyring.stdin.take().unwrap().write_all(b"password").unwrap();
        let desktop = Self { folder, bus, keyring, address };
        wait_until("the keyring is on the bus", || {
            let asked = desktop.send(
                "/org/freedesktop/DBus",
                "org.freedesktop.DBus",
                &["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"],
            );
            asked.is_some_and(|answer| answer.contains("true"))
        });
        desktop
    }

    fn send(&self, path: &str, recipient: &str, words: &[&str]) -> Option<String> {
        let mut command = Command::new("dbus-send");
        command.args(["--session", "--print-reply", &format!("--dest={recipient}"), path]).args(words);
        let output = command.env("DBUS_SESSION_BUS_ADDRESS", &self.address).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The number of entries in the keyring.
    fn entries(&self) -> usize {
        let found = self.send(
            "/org/freedesktop/secrets/collection/login",
            "org.freedesktop.secrets",
            &["org.freedesktop.Secret.Collection.SearchItems", "dict:string:string:"],
        );
        found.unwrap().matches("object path").count()
    }

    /// Locks the keyring, so that it would have to prompt for its password.
    fn lock(&self) {
        self.send(
            "/org/freedesktop/secrets",
            "org.freedesktop.secrets",
            &[
                "org.freedesktop.Secret.Service.Lock",
                "array:objpath:/org/freedesktop/secrets/collection/login",
            ],
        )
        .unwrap();
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        stop(&mut self.keyring);
        stop(&mut self.bus);
    }
}

fn stop(process: &mut Child) {
    // It may have exited already.
    let _ = process.kill();
    let _ = process.wait();
}

/// A service, and a home folder that uses this desktop's keyring.
struct Setup {
    desktop: Desktop,
    service: Service,
    idempost: Idempost,
}

impl Setup {
    fn new() -> Self {
        let desktop = Desktop::start();
        let settings = Settings { seed: Some(0), rate_limit: Some(10_000), ..Settings::default() };
        let service = Service::with(settings).unjudged();
        let idempost = Idempost::new()
            .env("IDEMPOST_BASE_URL", service.base_url())
            .env("DBUS_SESSION_BUS_ADDRESS", &desktop.address);
        Self { desktop, service, idempost }
    }

    /// With a login in it.
    fn logged_in() -> Self {
        let setup = Self::new();
        let output = setup.log_in();
        assert!(output.status.success(), "{output:?}");
        setup
    }

    /// Runs `auth login`; the test acts as the browser and allows access.
    fn log_in(&self) -> Output {
        let mut command = self.idempost.command();
        command.args(["--json", "auth", "login", "--scope", "full_access"]).env("BROWSER", "true");
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(Limited(child.stderr.take().unwrap()));
        let mut line = String::new();
        while !line.contains("\"open\"") {
            line.clear();
            if stderr.read_line(&mut line).unwrap() == 0 {
                return child.finish();
            }
        }
        let message: Value = serde_json::from_str(&line).unwrap();
        let page = Url::parse(message["open"]["url"].as_str().unwrap()).unwrap();
        let consent = location(&self.ask("GET", &page, ""));
        let text = String::from_utf8_lossy(self.ask("GET", &consent, "").body()).into_owned();
        let token = text.split("name=token value=\"").nth(1).unwrap().split('"').next().unwrap();
        let decided = self.ask("POST", &consent, &format!("token={token}&account={KEY}&decision=allow"));
        let back = location(&decided);
        let mut browser = TcpStream::connect((back.host_str().unwrap(), back.port().unwrap())).unwrap();
        write!(
            browser,
            "GET {}?{} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\n\r\n",
            back.path(),
            back.query().unwrap(),
            back.host_str().unwrap(),
            back.port().unwrap()
        )
        .unwrap();
        let mut answer = String::new();
        browser.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        // Remaining output must be read, or the program could block on it.
        stderr.read_to_string(&mut String::new()).unwrap();
        child.finish()
    }

    /// A browser's request to the service.
    fn ask(&self, method: &str, url: &Url, form: &str) -> Response<Bytes> {
        let token = form.strip_prefix("token=").and_then(|form| form.split('&').next()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(&url[url::Position::BeforePath..])
            .header("host", format!("{}:{}", url.host_str().unwrap(), url.port().unwrap()))
            .header("user-agent", "test")
            .header("cookie", format!("sandbox_consent={token}"))
            .header("content-type", "application/x-www-form-urlencoded");
        self.service.core().handle(request.body(Bytes::from(form.to_owned())).unwrap())
    }

    /// The access token expires at the service, regardless of the program's clock.
    fn expire(&self) {
        self.service.core().clock().advance(Duration::from_secs(901));
    }

    fn call(&self) -> Command {
        let mut command = self.idempost.command();
        command.args(super::CALL);
        command
    }

    #[track_caller]
    fn works(&self) {
        self.idempost.run(&super::CALL).ok();
    }

    #[track_caller]
    fn rotations(&self) -> usize {
        let events = self.service.core().token_events();
        let kinds: Vec<_> = events
            .into_iter()
            .map(|event| event.kind)
            .filter(|kind| *kind != TokenEventKind::Issued)
            .collect();
        assert!(kinds.iter().all(|kind| matches!(kind, TokenEventKind::Rotated { .. })), "{kinds:?}");
        kinds.len()
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.idempost.home().join(".config/idempost/credentials")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Every byte that the program has written outside the keyring.
    fn bytes(&self) -> String {
        let folder = self.idempost.home().join(".config/idempost/credentials");
        let files = self.files().into_iter().map(|name| std::fs::read(folder.join(name)).unwrap());
        files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }
}

fn location(answer: &Response<Bytes>) -> Url {
    assert!(answer.status().is_redirection(), "{answer:?}");
    Url::parse(answer.headers()["location"].to_str().unwrap()).unwrap()
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_login_is_encrypted_and_refreshed_with_a_key_in_the_keyring() {
    // D-01
    let setup = Setup::logged_in();
    setup.works();
    for round in 1..=3 {
        setup.expire();
        let children: Vec<_> = (0..4).map(|_| setup.call().spawn().unwrap()).collect();
        for child in children {
            let output = child.finish();
            assert!(output.status.success(), "{output:?}");
        }
        assert_eq!(setup.rotations(), round);
    }
    let status = setup.idempost.run(&["--json", "auth", "status"]).json();
    assert_eq!(status["store"], "keyring", "{status}");
    let token = setup.idempost.run(&["auth", "token"]).ok();
    assert!(!setup.bytes().contains(token.trim()));
    assert_eq!(setup.files().iter().filter(|name| name.ends_with("next")).count(), 0);
    assert_eq!(setup.desktop.entries(), 1);

    setup.idempost.run(&["auth", "logout"]).ok();
    assert_eq!(setup.files(), ["default.lock"]);
    assert_eq!(setup.desktop.entries(), 0);
    setup.idempost.run(&super::CALL).fails(4);
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_crash_after_the_response_loses_nothing() {
    // F-01
    // C8, C10, C11, C12 with an encrypted record.
    let setup = Setup::logged_in();
    for (round, point) in ["C8", "C10", "C11", "C12"].into_iter().enumerate() {
        setup.expire();
        let output = setup.call().env("IDEMPOST_FAILPOINT", point).finish();
        let cut_off = String::from_utf8_lossy(&output.stderr).contains("interrupted (signal: 9");
        assert_eq!(cut_off, !["C11", "C12"].contains(&point), "{point}: {output:?}");
        assert_eq!(setup.rotations(), 2 * round + 1, "{point}");
        setup.works();
        assert_eq!(setup.rotations(), 2 * round + 1, "{point}");
        // The next holder of the lock cleans up.
        setup.expire();
        setup.works();
        assert_eq!(setup.rotations(), 2 * round + 2, "{point}");
        assert_eq!(setup.files(), ["default.cred", "default.lock"], "{point}");
    }
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_crash_before_the_request_has_no_effect() {
    // F-01
    // C1 to C3
    let setup = Setup::logged_in();
    for (round, point) in ["C1", "C2", "C3"].into_iter().enumerate() {
        setup.expire();
        let output = setup.call().env("IDEMPOST_FAILPOINT", point).finish();
        let cut_off = String::from_utf8_lossy(&output.stderr).contains("interrupted (signal: 9");
        assert_eq!(cut_off, !["C11", "C12"].contains(&point), "{point}: {output:?}");
        assert_eq!(setup.rotations(), round, "{point}");
        setup.works();
        assert_eq!(setup.rotations(), round + 1, "{point}");
    }
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_locked_keyring_stops_a_command_before_anything_is_sent() {
    // E-10
    let setup = Setup::logged_in();
    let asked = setup.service.asked();
    setup.desktop.lock();
    let ran = setup.idempost.run(&super::CALL);
    assert!(ran.code != Some(0) && ran.stderr.contains("keyring"), "{ran:?}");
    assert_eq!(setup.service.asked(), asked);
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_login_whose_key_is_missing_is_reported_until_it_is_removed() {
    // E-03, E-10
    let setup = Setup::logged_in();
    let (asked, config) = (setup.service.asked(), setup.idempost.home().join(".config/idempost"));
    let copy = config.with_file_name("copy");
    std::fs::rename(&config, &copy).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = setup.idempost.command();
        command.args(arguments).env("IDEMPOST_CONFIG_DIR", &copy);
        command.finish()
    };
    assert_eq!(run(&["auth", "status"]).status.code(), Some(0));
    for command in [&super::CALL[..], &["auth", "token"], &["auth", "logout"]] {
        let output = run(command);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert!(message.contains("the keyring has no key for it; log in again"), "{message}");
        assert!(message.contains("default.cred"), "{message}");
    }
    assert_eq!(setup.service.asked(), asked);
    assert!(run(&["auth", "logout", "--local"]).status.success());
    assert!(!copy.join("credentials/default.cred").exists());
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn an_api_key_is_encrypted_with_a_key_in_the_keyring() {
    let setup = Setup::new();
    setup.idempost.run_with(&["auth", "login", "--with-token"], &format!("{KEY}\n")).ok();
    assert!(!setup.bytes().contains(KEY));
    setup.works();
    setup.idempost.run(&["auth", "logout"]).ok();
    setup.idempost.run(&super::CALL).fails(4);
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_renamed_profile_keeps_its_login_in_the_keyring() {
    let setup = Setup::logged_in();
    setup.idempost.run(&["auth", "rename", "default", "acme"]).ok();
    let status = setup.idempost.run(&["auth", "status", "--json"]).json();
    assert_eq!((&status["profile"], &status["store"]), (&"acme".into(), &"keyring".into()));
    setup.expire();
    setup.works();
    assert_eq!(setup.rotations(), 1);
    setup.idempost.run(&["auth", "logout"]).ok();
    setup.idempost.run(&super::CALL).fails(4);
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn without_a_keyring_the_file_store_is_never_used_implicitly() {
    // E-10
    let setup = Setup::new();
    for address in ["unix:path=/nowhere", "nonsense"] {
        let mut command = setup.idempost.command();
        command.args(["auth", "login", "--no-browser"]).env("DBUS_SESSION_BUS_ADDRESS", address);
        let output = command.finish();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains("--store file"), "{output:?}");
        assert!(!setup.idempost.home().join(".config/idempost/credentials/default.cred").exists());
    }
    assert!(setup.desktop.folder.path().exists());
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn an_unresponsive_bus_times_out() {
    // E-10
    let setup = Setup::logged_in();
    let silent = setup.desktop.folder.path().join("silent");
    let listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
    let mut command = setup.call();
    command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", silent.display()));
    let output = command.finish();
    drop(listener);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && message.contains("didn't respond within 5 s"), "{output:?}");
}
