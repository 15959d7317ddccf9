//! Logins in a real keyring: GNOME's, on a private session bus (Debian: `dbus-daemon`, `dbus-bin`, `gnome-keyring`).

use std::io::Write as _;
use std::ops::Deref;
use std::process::{Command, Stdio};
use std::time::Duration;

use idempost_needs::needs;

use serde_json::json;

use super::crashes::killed_at;
use crate::auth::log_in;
use crate::support::{Finish as _, Running, has, lines, set_mode, wait_until};

const KEY: &str = "sb_test";

/// A session bus with an unlocked keyring; stopped when dropped.
struct Desktop {
    /// Dropped first: the keyring ends before its bus.
    _keyring: Running,
    _bus: Running,
    address: String,
    folder: tempfile::TempDir,
}

impl Desktop {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o700);
        let mut bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .env("XDG_RUNTIME_DIR", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon is installed");
        let address = lines(&mut bus.stdout).next().unwrap();
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
        let desktop = Self { _keyring: Running(keyring), _bus: Running(bus), address, folder };
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

/// A home folder that uses this desktop's keyring.
struct Setup {
    desktop: Desktop,
    stored: super::Setup,
}

impl Deref for Setup {
    type Target = super::Setup;

    fn deref(&self) -> &super::Setup {
        &self.stored
    }
}

impl Setup {
    fn new() -> Self {
        let (desktop, stored) = (Desktop::start(), super::Setup::new());
        stored.service.core().set_base_url(&stored.service.base_url());
        let idempost = stored.idempost.env("DBUS_SESSION_BUS_ADDRESS", &desktop.address);
        Self { desktop, stored: super::Setup { idempost, ..stored } }
    }

    /// With a login in it.
    fn logged_in() -> Self {
        let setup = Self::new();
        log_in(&setup.idempost, KEY, "--scope full_access").ok();
        setup
    }

    /// The access token expires at the service, regardless of the program's clock.
    fn expire(&self) {
        self.service.core().clock().advance(Duration::from_secs(901));
    }

    /// Every byte that the program has written outside the keyring.
    fn bytes(&self) -> String {
        let files = std::fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path());
        files.map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()).collect()
    }
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_login_is_encrypted_and_refreshed_with_a_key_in_the_keyring() {
    // D-01
    let setup = Setup::logged_in();
    setup.works();
    for round in 1..=3 {
        setup.expire();
        super::all_succeed((0..4).map(|_| setup.start()).collect());
        assert_eq!(setup.rotations(), round);
    }
    let status = setup.idempost.run(&["--json", "auth", "status"]).json();
    assert_eq!(status["store"], "keyring", "{status}");
    let token = setup.idempost.run(&["auth", "token"]).ok();
    assert!(!setup.bytes().contains(token.trim()));
    assert_eq!((setup.files(), setup.desktop.entries()), (vec!["default.cred".to_owned()], 1));

    setup.idempost.run(&["auth", "logout"]).ok();
    assert_eq!((setup.files(), setup.desktop.entries()), (vec![], 0));
    setup.idempost.run(&super::CALL).fails(4);
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_crash_loses_no_encrypted_record() {
    // F-01
    // C1 to C3 are before the request; C8, C10, C11 and C12 after the response.
    let setup = Setup::logged_in();
    for point in ["C1", "C2", "C3", "C8", "C10", "C11", "C12"] {
        let before = setup.rotations();
        setup.expire();
        killed_at(setup.command(), point);
        let responded = usize::from(!["C1", "C2", "C3"].contains(&point));
        assert_eq!(setup.rotations(), before + responded, "{point}");
        setup.works();
        assert_eq!(setup.rotations(), before + 1, "{point}");
        // The next holder of the lock cleans up.
        setup.expire();
        setup.works();
        assert_eq!(setup.rotations(), before + 2, "{point}");
        assert_eq!(setup.files(), ["default.cred"], "{point}");
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
        setup.idempost.command().args(arguments).env("IDEMPOST_CONFIG_DIR", &copy).finish()
    };
    run(&["auth", "status"]).exits(0);
    for command in [&super::CALL[..], &["auth", "token"], &["auth", "logout"]] {
        run(command).exits(4).says(&["the keyring has no key for it; log in again", "default.cred"]);
    }
    assert_eq!(setup.service.asked(), asked);
    run(&["auth", "logout", "--local"]).ok();
    assert!(!copy.join("credentials/default.cred").exists());
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn a_login_in_a_file_replaces_one_whose_keyring_is_gone() {
    // E-10
    let Setup { desktop: _desktop, stored } = Setup::logged_in();
    let idempost = stored.idempost.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    idempost.run("auth logout").fails_with(1, &["no keyring", "idempost auth logout --local"]);
    let hint = ["that only you can read, repeat the command with --store file"];
    for login in ["auth login --no-browser", "auth login --device", "auth login --with-token"] {
        idempost.run(login).fails_with(2, &hint);
    }
    log_in(&idempost, KEY, "--store file --scope full_access").ok();
    idempost.run(&super::CALL).ok();
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
    has(&status, &json!({"profile": "acme", "store": "keyring"}));
    setup.expire();
    setup.works();
    assert_eq!(setup.rotations(), 1);
    setup.idempost.run(&["auth", "logout"]).ok();
    setup.idempost.run(&super::CALL).fails(4);
}

#[needs("dbus-daemon", "dbus-send", "gnome-keyring-daemon")]
#[test]
fn an_unresponsive_bus_times_out() {
    // E-10
    let setup = Setup::logged_in();
    let silent = setup.desktop.folder.path().join("silent");
    let listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
    let mut command = setup.command();
    command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", silent.display()));
    let ran = command.finish().says(&["didn't respond within 5 s"]);
    drop(listener);
    assert_ne!(ran.code, Some(0), "{ran:?}");
}
