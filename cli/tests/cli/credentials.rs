//! Stored logins used by real processes, against the strict server: a reused refresh token ends the grant.

mod crashes;
mod files;
mod many;
mod secret_service;
mod signals;
mod stress;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use idempost_reference_server::{Settings, TokenEventKind};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::service::Service;
use crate::support::{Finish as _, Idempost, Ran, set_mode, wait_until};

/// A command that needs a credential and has no side effects.
const CALL: [&str; 2] = ["emails", "list"];

/// The ID of the process that holds this lock.
fn holder_of(lock: &Path) -> u32 {
    let holder: Value = serde_json::from_slice(&std::fs::read(lock).unwrap()).unwrap();
    u32::try_from(holder["pid"].as_u64().unwrap()).unwrap()
}

/// A service with one grant, and a home folder with its login in a file.
struct Setup {
    service: Service,
    idempost: Idempost,
}

impl Setup {
    /// Without the login.
    fn new() -> Self {
        let settings = Settings { seed: Some(0), rate_limit: Some(10_000), ..Settings::default() };
        let service = Service::with(settings).unjudged();
        let idempost = Idempost::new().env("IDEMPOST_BASE_URL", service.base_url());
        Self { service, idempost }
    }

    /// The access token has just been issued.
    fn fresh() -> Self {
        let setup = Self::new();
        setup.log_in();
        setup
    }

    /// The access token is an hour old, by the program's clock.
    fn expired() -> Self {
        let setup = Self::fresh();
        setup.age();
        setup
    }

    fn log_in(&self) {
        let issued = self.service.core().grant("idempost-cli", "acme", "full_access");
        let base_url = self.service.base_url();
        std::fs::create_dir_all(self.folder()).unwrap();
        set_mode(self.folder(), 0o700);
        self.write(&json!({
            "form": 1, "login": "first", "tokens": {
                "form": 1, "generation": 1, "origin": base_url,
                "token_endpoint": format!("{base_url}/oauth/token"),
                "revocation_endpoint": format!("{base_url}/oauth/revoke"),
                "client_id": "idempost-cli", "scope": issued.scope, "access_token": issued.access_token,
                "obtained_at": Timestamp::now(), "expires_in": 900, "refresh_token": issued.refresh_token,
            },
        }));
    }

    fn folder(&self) -> PathBuf {
        self.idempost.home().join(".config/idempost/credentials")
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder().join(format!("default.{ending}"))
    }

    /// Writes the file in the program's format.
    fn write(&self, kept: &Value) {
        let kept = kept.to_string();
        let hash = format!("{:x}", Sha256::digest(&kept));
        std::fs::write(self.file("cred"), format!("{{\"sha256\":\"{hash}\",\"kept\":{kept}}}")).unwrap();
        set_mode(self.file("cred"), 0o600);
    }

    fn kept(&self) -> Value {
        let file: Value = serde_json::from_slice(&std::fs::read(self.file("cred")).unwrap()).unwrap();
        file["kept"].clone()
    }

    /// The ID of the process that holds the lock.
    fn lock_holder(&self) -> u32 {
        holder_of(&self.file("lock"))
    }

    fn tokens(&self) -> Value {
        self.kept()["tokens"].clone()
    }

    fn generation(&self) -> u64 {
        self.tokens()["generation"].as_u64().unwrap()
    }

    fn is_pending(&self) -> bool {
        self.tokens().get("pending").is_some_and(|pending| !pending.is_null())
    }

    /// Makes the access token, and a pending refresh, an hour older.
    fn age(&self) {
        // A refresh may still be in progress.
        let lock = std::fs::File::open(self.file("lock")).ok();
        if let Some(lock) = &lock {
            lock.lock().unwrap();
        }
        let mut kept = self.kept();
        let ago = Timestamp::now() - jiff::SignedDuration::from_hours(1);
        kept["tokens"]["obtained_at"] = json!(ago);
        if self.is_pending() {
            kept["tokens"]["pending"]["since"] = json!(ago);
        }
        self.write(&kept);
    }

    fn command(&self) -> Command {
        let mut command = self.idempost.command();
        command.args(CALL);
        command
    }

    fn start(&self) -> Child {
        self.command().spawn().unwrap()
    }

    /// Runs the command through a script.
    fn through(&self, script: &str) -> Ran {
        self.idempost.through(script).args(CALL).finish()
    }

    #[track_caller]
    fn works(&self) {
        self.idempost.run(&CALL).ok();
    }

    fn on_token(&self, action: Action) {
        self.service.faults().add(Rule::new(action).on_request(Method::POST, "/oauth/token"));
    }

    /// The events at the token endpoint since the grant was created.
    fn events(&self) -> Vec<TokenEventKind> {
        let events = self.service.core().token_events();
        events.into_iter().map(|event| event.kind).filter(|kind| *kind != TokenEventKind::Issued).collect()
    }

    /// The number of refreshes; no token was reused.
    #[track_caller]
    fn rotations(&self) -> usize {
        let events = self.events();
        assert!(events.iter().all(|kind| matches!(kind, TokenEventKind::Rotated { .. })), "{events:?}");
        events.len()
    }

    /// The number of times a refresh token was sent, with or without a response.
    fn shown(&self) -> usize {
        let requests = self.service.requests();
        requests.iter().filter(|request| request.path == "/oauth/token").count()
    }

    fn wait_until_saved(&self) {
        wait_until("the new tokens are saved", || self.generation() == 2 && self.files().len() == 1);
    }

    /// All files in the folder except the lock.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "default.lock").collect();
        names.sort();
        names
    }
}

/// Several processes at a time refresh an expired token once, in each of these rounds.
fn refreshed_once(processes: usize, rounds: usize) {
    let setup = Setup::fresh();
    for round in 1..=rounds {
        setup.age();
        all_succeed((0..processes).map(|_| setup.start()).collect());
        assert_eq!((setup.rotations(), setup.shown()), (round, round));
    }
    assert_eq!(setup.files(), ["default.cred"]);
    assert_eq!(setup.tokens()["generation"], rounds + 1);
}

fn all_succeed(children: Vec<Child>) {
    for child in children {
        child.finish().ok();
    }
}
