//! `auth`: logins with a simulated browser, and everything that can go wrong.

mod at_a_terminal;
mod elsewhere;
mod in_two_commands;
mod in_use;
mod intercepted;
mod responses;

use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

use http::Method;
use idempost_conformance::person::Person;
use idempost_reference_server::faults::{Action, Rule};
use idempost_reference_server::{OAuthClient, Settings, TokenEventKind};
use rustix::process::Signal;
use serde_json::{Value, json};
use url::Url;

use crate::service::Service;
use crate::support::{
    CommandLine, Finish as _, Idempost, Ran, SEND, concurrently, exit_code, has, lines, request, shows,
    signal, wait_until,
};

/// A running login, and the page that it opened.
struct Login {
    child: Child,
    page: Url,
}

impl Login {
    fn begin(idempost: &Idempost, flags: &(impl CommandLine + ?Sized)) -> Self {
        let (browser, address) = idempost.browser();
        let _ = std::fs::remove_file(&address);
        let mut command = idempost.command();
        let child = command.args(("auth login", flags).words()).env("BROWSER", browser).spawn().unwrap();
        wait_until("a browser opens", || address.exists());
        let page = Url::parse(&std::fs::read_to_string(&address).unwrap()).unwrap();
        Self { child, page }
    }

    fn parameter(&self, name: &str) -> String {
        query(&self.page, name)
    }

    /// The host and port of the redirect URI.
    fn host(&self) -> String {
        let back = Url::parse(&self.parameter("redirect_uri")).unwrap();
        format!("{}:{}", back.host_str().unwrap(), back.port().unwrap())
    }

    /// The user of an account allows access, and the browser is redirected.
    fn allowed(self, account: &str) -> Ran {
        visit(&runtime().block_on(Person::of(account).allows(self.page.as_str())));
        self.end()
    }

    fn denied(self) -> Ran {
        visit(&denied(self.page.as_str()));
        self.end()
    }

    /// The browser is redirected with this query and the valid state.
    fn back_with(self, query: &str) -> Ran {
        let issuer = self.page.origin().ascii_serialization();
        let (back, state) = (self.parameter("redirect_uri"), self.parameter("state"));
        visit(&format!("{back}?state={state}&iss={issuer}&{query}"));
        self.end()
    }

    fn end(self) -> Ran {
        self.child.finish()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A browser visits a URL on this machine and follows redirects.
fn visit(address: &str) {
    let done = Url::parse(address).unwrap().join("/done").unwrap();
    for (url, status) in [(address, 303), (done.as_str(), 200)] {
        let (found, response) = request(url, "GET", "sec-fetch-mode: navigate\r\n", "");
        assert_eq!(found, status, "{response}");
    }
}

/// The parameter of a URL.
fn query(url: &Url, name: &str) -> String {
    url.query_pairs().find(|(known, _)| known == name).unwrap().1.into_owned()
}

/// The authorization code in the URL of a redirect.
fn code_of(back: &str) -> String {
    query(&Url::parse(back).unwrap(), "code")
}

/// The URL to which the browser is redirected after the user allows access on this page.
fn allowed(page: &str) -> String {
    runtime().block_on(Person::of("sb_test").allows(page))
}

/// The same after the user denies it.
fn denied(page: &str) -> String {
    runtime().block_on(Person::of("sb_test").denies(page))
}

/// A program without credentials that stores logins in a file.
fn without_credentials(service: &Service) -> Idempost {
    Idempost::new().env("IDEMPOST_BASE_URL", service.base_url()).env("IDEMPOST_CREDENTIAL_STORE", "file")
}

/// Runs it without the base URL of its environment.
fn without_base_url(idempost: &Idempost, line: &(impl CommandLine + ?Sized)) -> Ran {
    idempost.command().args(line.words()).env_remove("IDEMPOST_BASE_URL").finish()
}

/// Logs in; the user of this account allows access.
pub(crate) fn log_in(idempost: &Idempost, account: &str, flags: &(impl CommandLine + ?Sized)) -> Ran {
    Login::begin(idempost, flags).allowed(account)
}

pub(crate) fn logged_in(service: &Service, flags: &str) -> Idempost {
    let idempost = without_credentials(service);
    log_in(&idempost, "sb_test", flags).ok();
    idempost
}

/// A service, and a program without credentials.
fn without_login() -> (Service, Idempost) {
    let service = service();
    let idempost = without_credentials(&service);
    (service, idempost)
}

/// A service, and a program with a login there.
fn with_login(flags: &str) -> (Service, Idempost) {
    let service = service();
    let idempost = logged_in(&service, flags);
    (service, idempost)
}

pub(crate) fn service() -> Service {
    Service::for_logins(Settings { seed: Some(0), beta: true, ..Settings::default() })
}

fn token_events(service: &Service) -> Vec<TokenEventKind> {
    service.core().token_events().into_iter().map(|event| event.kind).collect()
}

fn asked_for(service: &Service, path: &str) -> usize {
    service.requests().iter().filter(|request| request.path == path).count()
}

#[test]
fn a_login_is_created_used_shown_and_ended() {
    // AUTHZ-01
    let (service, idempost) = without_login();
    idempost.run(&["auth", "status"]).fails_with(4, &["auth login"]);
    let login = Login::begin(&idempost, "");
    assert_eq!(login.parameter("scope"), "emails:send", "least privilege by default");
    let ran = login.allowed("sb_test").says(&["/oauth/authorize?", "--scope full_access"]);
    ran.ok_with(&["profile `default`", "scope emails:send", "refreshed automatically", "only you can read"]);

    idempost.run(&SEND).ok();
    assert_eq!(service.mails().len(), 1);
    idempost.run(&["emails", "list"]).fails_with(4, &["--scope full_access"]);

    let expected = json!({
        "kind": "login", "scope": "emails:send", "store": "file", "state": "logged_in", "generation": 1,
    });
    has(&idempost.run("auth status --json").json(), &expected);
    idempost.run(&["auth", "status"]).ok_with(&["\nscope              emails:send\n"]);

    let token = idempost.run(&["auth", "token"]).ok();
    assert!(token.ends_with('\n') && token.trim().split('.').count() == 3, "a token and nothing else");
    let other = without_credentials(&service).env("IDEMPOST_ACCESS_TOKEN", token.trim());
    other.run(&SEND).ok();

    idempost.run(&["auth", "logout"]).ok_with(&["access revoked"]);
    other.run(&SEND).fails(4);
    idempost.run(&["auth", "status"]).fails(4);
    idempost.run(&["auth", "token"]).fails(4);
    assert!(idempost.run(&["auth", "logout"]).stderr.contains("wasn't logged in"));
}

#[test]
fn a_denied_login_is_reported_and_nothing_is_stored() {
    // C-02
    let (_service, idempost) = without_login();
    let denied = Login::begin(&idempost, "").denied();
    denied.fails_with(4, &["access was denied in the browser; nothing was stored"]);
    idempost.run(&["auth", "status"]).fails(4);
}

#[test]
fn each_authorization_error_has_its_own_message() {
    // AUTHZ-32, C-06, C-13, G-01
    let (service, idempost) = without_login();
    for (name, code, expected) in [
        ("invalid_request", 4, "the service rejected the login: invalid_request"),
        ("unauthorized_client", 4, "--client-id"),
        ("invalid_scope", 4, "--scope"),
        ("server_error", 7, "try again"),
        ("temporarily_unavailable", 7, "try again"),
    ] {
        let evil = "%1B%5D52%3Bc%3BZXZpbA%3D%3D%07%E2%80%AEwhy";
        let message = Login::begin(&idempost, "")
            .back_with(&format!("error={name}&error_description={evil}"))
            .fails_with(code, &[expected]);
        assert!(!message.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{message:?}");
    }
    // Each login asks whether the client is known, and sends no code.
    assert_eq!(asked_for(&service, "/oauth/token"), 5);
}

#[test]
fn a_different_granted_scope_is_accepted_with_a_warning() {
    // C-17
    let service = service();
    for (scope, expected) in [
        ("emails:send full_access", "is wider than requested; additional: full_access"),
        ("other", "missing: emails:send"),
    ] {
        let idempost = without_credentials(&service);
        let answer = json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 900, "refresh_token": "r", "scope": scope });
        let login = Login::begin(&idempost, "");
        let action = Action::http_response(200, answer.to_string());
        service.faults().add(Rule::new(action).on_request(Method::POST, "/oauth/token"));
        login.allowed("sb_test").says(&[expected]).ok();
        assert_eq!(idempost.run(&["auth", "status", "--json"]).json()["scope"], scope);
    }
}

#[test]
fn a_login_without_a_redirect_times_out_and_closes_the_port() {
    // C-11, C-12
    let (_service, idempost) = without_login();
    let login = Login::begin(&idempost, &["--login-timeout", "2s"]);
    let host = login.host();
    let message = login.end().fails_with(4, &["timed out after 2 s", "--client-id"]);
    assert!(message.contains("--login-timeout") && !message.contains(" left"), "{message}");
    assert!(TcpStream::connect(host).is_err());
    assert!(!idempost.home().join(".config/idempost/credentials/default.cred").exists());
}

#[test]
fn the_request_timeout_does_not_end_a_login() {
    let service = service();
    let idempost =
        without_credentials(&service).env("IDEMPOST_TIMEOUT", "3s").config("[defaults]\ntimeout = \"3s\"\n");
    let login = Login::begin(&idempost, "--timeout 3s --login-timeout 4s");
    login.end().fails_with(4, &["timed out after 4 s"]);
    idempost.run("auth login --login-timeout soon").fails_with(2, &["--login-timeout must be a duration"]);
}

#[test]
fn ctrl_c_ends_the_wait_at_once_and_nothing_is_stored() {
    // C-11
    let (_service, idempost) = without_login();
    let login = Login::begin(&idempost, "");
    let host = login.host();
    signal(&login.child, Signal::INT);
    login.end().fails(130);
    assert!(TcpStream::connect(host).is_err());
    idempost.run(&["auth", "status"]).fails(4);
}

#[test]
fn ctrl_c_after_the_code_was_sent_waits_until_the_login_is_stored() {
    // F-04
    let (service, idempost) = without_login();
    let mut login = Login::begin(&idempost, "");
    let held = service.hold("/oauth/token");
    visit(&allowed(login.page.as_str()));
    held.wait();
    signal(&login.child, Signal::INT);
    assert!(lines(&mut login.child.stderr).any(|line| line.starts_with("saving the login")));
    drop(held);
    login.end().exits(130);
    idempost.run(&SEND).ok();
}

#[test]
fn the_store_is_tested_before_the_browser_opens() {
    // C-15, E-10
    let service = service();
    // Without a bus, there is no keyring; without a terminal, the file store can't be confirmed.
    let (none, failed) = ("no keyring on this machine", "the keyring failed");
    for (bus, reason) in [("", none), ("unix:path=/nowhere", none), ("nonsense", failed)] {
        let idempost = Idempost::new().env("IDEMPOST_BASE_URL", service.base_url());
        let idempost = idempost.env("DBUS_SESSION_BUS_ADDRESS", bus);
        for (login, code) in [("auth login", 2), ("auth login --store keyring", 1)] {
            let message = idempost.run(login).fails_with(code, &[reason]);
            assert_eq!(message.matches("--store file").count(), 1, "{message}");
        }
        assert!(!idempost.home().join(".config/idempost/credentials/default.cred").exists());
    }
    // A folder that can't be created.
    let idempost = without_credentials(&service);
    std::fs::create_dir_all(idempost.home().join(".config/idempost")).unwrap();
    idempost.write(".config/idempost/credentials", "in the way");
    idempost.run(&["auth", "login", "--store", "file"]).fails(1);
    let message = idempost.run(&["auth", "login"]).fails(1);
    assert!(!message.contains("--store file"), "it would fail, too: {message}");
    assert_eq!(service.asked(), 0);
}

#[test]
fn a_browser_that_does_not_open_does_not_prevent_the_login() {
    // C-09
    let (_service, idempost) = without_login();
    let hangs = idempost.script("hangs", "exec sleep 30");
    for (browser, flags) in [
        ("/nowhere/browser", ""),
        ("false", ""),
        ("true", ""),
        (&hangs, ""),
        ("true", "--no-browser --port 0"),
    ] {
        let mut command = idempost.command();
        command.args(("auth login --json", flags).words()).env("BROWSER", browser);
        let mut child = command.spawn().unwrap();
        let mut events =
            lines(&mut child.stderr).filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        let page = events.find_map(|event| Some(event["open"]["url"].as_str()?.to_owned())).unwrap();
        visit(&allowed(&page));
        assert_eq!(child.finish().json()["kind"], "login", "{browser}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_inherits_no_file_of_the_login() {
    // F-06: an inherited lock would be held as long as the browser runs.
    let (_service, idempost) = without_login();
    // A login that is being replaced, so that its files exist.
    idempost.run_with(&["auth", "login", "--with-token"], "sb_test\n").ok();
    let open = idempost.home().join("open");
    let list = format!("ls -l /proc/self/fd > '{0}.part' && mv '{0}.part' '{0}'", open.display());
    let mut command = idempost.command();
    let mut child =
        command.args(["auth", "login"]).env("BROWSER", idempost.script("lists", &list)).spawn().unwrap();
    wait_until("a browser opens", || open.exists());
    let open = idempost.read("open");
    assert!(open.contains(" 1 -> ") && !open.contains("credentials") && !open.contains("socket:"), "{open}");
    signal(&child, Signal::INT);
    assert_eq!(exit_code(&mut child), Some(130));
}

#[test]
fn a_registered_client_belongs_to_the_login_at_its_server() {
    let unregistered = || Service::for_logins(Settings { oauth_clients: Vec::new(), ..Settings::default() });
    let service = unregistered();
    let idempost = without_credentials(&service);
    let registered = |service: &Service| asked_for(service, "/oauth/register");
    let first = Login::begin(&idempost, "");
    let id = first.parameter("client_id");
    first.allowed("sb_test").ok();
    idempost.run(&["config", "get", "client_id"]).fails(5);
    let again = Login::begin(&idempost, "");
    assert_eq!(again.parameter("client_id"), id);
    again.allowed("sb_test").ok();
    assert_eq!((registered(&service), asked_for(&service, "/oauth/authorize")), (1, 2), "only the browser's");

    // Another server, and a separate profile for it.
    let other = unregistered();
    let elsewhere = ["--profile", "other", "--base-url", &other.base_url()];
    let login = Login::begin(&idempost, &elsewhere);
    assert_ne!(login.parameter("client_id"), id);
    login.allowed("sb_test").ok();
    assert_eq!(registered(&other), 1);
    // A denied login leaves nothing.
    let idempost = without_credentials(&service);
    Login::begin(&idempost, "").denied().fails(4);
    idempost.run(&["config", "get", "client_id"]).fails(5);
    let given = Login::begin(&idempost, &["--client-id", "mine", "--login-timeout", "1s"]);
    assert_eq!(given.parameter("client_id"), "mine");
    given.end().fails(4);
}

#[test]
fn a_configured_client_id_is_used() {
    let oauth_clients = vec![OAuthClient::new("mine", "Mine", "http://127.0.0.1/callback")];
    let service = Service::for_logins(Settings { seed: Some(0), oauth_clients, ..Settings::default() });
    let idempost =
        without_credentials(&service).config("[defaults]\nclient_id = \"mine\"\nscope = \"full_access\"\n");
    let login = Login::begin(&idempost, "");
    assert_eq!((&*login.parameter("client_id"), &*login.parameter("scope")), ("mine", "full_access"));
    login.allowed("sb_test").ok();
    idempost.run(&["emails", "list"]).ok();
}

#[test]
fn no_secret_of_a_login_is_ever_printed() {
    // AUTH-08, C-16, G-08
    let (service, idempost) = without_login();
    let mut seen = String::new();
    let mut note = |ran: &Ran| seen = format!("{seen}{}{}", ran.stdout, ran.stderr);
    let login = Login::begin(&idempost, &["-vvv"]);
    let back = allowed(login.page.as_str());
    visit(&back);
    note(&login.end());
    note(&idempost.run(&(SEND, "-vvv")));
    for command in ["auth status --json", "auth list --json", "config list", "doctor --json"] {
        note(&idempost.run(&(command, "-vvv")));
    }
    service.core().clock().advance(Duration::from_secs(901));
    note(&idempost.run(&(SEND, "-vvv")));
    let kept: Value =
        serde_json::from_str(&idempost.read(".config/idempost/credentials/default.cred")).unwrap();
    let tokens = &kept["kept"]["tokens"];
    let secrets = [&json!(code_of(&back)), &tokens["access_token"], &tokens["refresh_token"]];
    note(&idempost.run("auth logout -vvv"));
    for secret in secrets.map(|secret| secret.as_str().unwrap()) {
        assert!(secret.len() > 10 && !seen.contains(secret), "{secret}");
    }
    assert!(!seen.contains("sb_rt_") && !seen.contains("sb_code_"), "{seen}");
    // The requests of the login, of the refresh and of the logout are traced.
    let traced = [
        "&code=[redacted]&code_verifier=[redacted]&",
        "grant_type=refresh_token&client_id=idempost-cli&refresh_token=[redacted]",
        "token=[redacted]&token_type_hint=refresh_token",
        r#""access_token":"[redacted]""#,
    ];
    shows(&seen, &traced);
}
