//! The identity that a command uses: `whoami`, the names in plans and prompts, and the account that each kind of command uses.

use std::io::Write as _;
use std::process::{Command, Stdio};

use idempost_needs::needs;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bulk::distributed::Queue;
use crate::service::Service;
use crate::support::{Finish as _, Idempost, Ran, SEND, exit_code, signal};

/// A service for each source of an account; sources of lower precedence are always set up too.
struct Sources {
    flag: Service,
    environment: Service,
    profile: Service,
    default: Service,
    idempost: Idempost,
}

/// The sources, in order of precedence.
const SOURCES: [&str; 4] = ["flag", "environment", "profile", "default"];

impl Sources {
    fn new() -> Self {
        let [flag, environment, profile, default] = std::array::from_fn(|_| Service::start());
        let idempost = Idempost::new();
        for (name, service) in [("by-flag", &flag), ("by-variable", &profile), ("by-default", &default)] {
            let url = service.base_url();
            let login =
                ["--profile", name, "--base-url", &url, "auth", "login", "--with-token", "--store", "file"];
            idempost.run_with(&login, &format!("sb_{name}_0123456789abcdefghi\n")).ok();
        }
        idempost.run(&["auth", "use", "by-default"]).ok();
        std::fs::write(idempost.home().join("people.csv"), "to\nada@example.com\n").unwrap();
        Self { flag, environment, profile, default, idempost }
    }

    /// A command whose account is chosen by this source.
    fn command(&self, source: &str, arguments: &[&str]) -> Command {
        let mut command = self.idempost.command();
        command.args(arguments);
        if ["flag", "environment"].contains(&source) {
            command.env("IDEMPOST_API_KEY", "sb_environment_0123456789abcdefghi");
            command.env("IDEMPOST_BASE_URL", self.environment.base_url());
        }
        match source {
            "flag" => {
                command.args(["--profile", "by-flag"]);
            }
            "profile" => {
                command.env("IDEMPOST_PROFILE", "by-variable");
            }
            _ => {}
        }
        command
    }

    /// Runs it with this standard input.
    fn run(&self, source: &str, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(source, arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::of(child.finish())
    }

    fn services(&self) -> [&Service; 4] {
        [&self.flag, &self.environment, &self.profile, &self.default]
    }

    /// The number of requests that each service received.
    fn asked(&self) -> [usize; 4] {
        self.services().map(Service::asked)
    }
}

/// Calls a tool of `mcp`, as an application does.
fn tool_call() -> String {
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "emails_list", "arguments": {} } }),
    ]
    .map(|message| format!("{message}\n"))
    .concat()
}

#[test]
fn every_command_reaches_the_account_that_the_strongest_source_names() {
    // A-49
    let sources = Sources::new();
    let bulk = ["people.csv", "--from", "hi@acme.test", "--subject", "Hello", "--text", "Hi"];
    for (n, source) in SOURCES.into_iter().enumerate() {
        let url = sources.services()[n].base_url();
        for command in ["send", "bulk send", "resume", "worker", "mcp", "completion", "whoami"] {
            let what = format!("{command} by {source}");
            let before = sources.asked();
            let run = |arguments: &[&str]| sources.run(source, arguments, "");
            match command {
                "send" => drop(run(&SEND).ok()),
                "bulk send" => {
                    let ran = run(&[&["bulk", "send", "--yes", "--again"], &bulk[..]].concat());
                    assert!(ran.stderr.contains(&format!(" at {url}")), "{what}: {ran:?}");
                    ran.ok();
                }
                "resume" => {
                    let plan = run(&[&["bulk", "plan", "--again", "--json"], &bulk[..]].concat()).json();
                    assert_eq!(plan["base_url"], url, "{what}");
                    let ran = run(&["bulk", "resume", plan["job"].as_str().unwrap()]);
                    assert!(ran.stderr.contains(&format!(" at {url}")), "{what}: {ran:?}");
                    ran.ok();
                }
                // It names the account before it connects to its queue.
                "worker" => {
                    let ran = run(&["bulk", "worker", "--queue", "nats://127.0.0.1:9"]);
                    assert!(ran.stderr.contains(&format!(" at {url}")), "{what}: {ran:?}");
                }
                "mcp" => {
                    let ran = sources.run(source, &["mcp"], &tool_call());
                    assert!(ran.stdout.contains(r#""isError":false"#), "{what}: {ran:?}");
                }
                "completion" => {
                    let mut shell = sources.idempost.command();
                    shell.env("IDEMPOST_COMPLETE", "fish").args(["--", "idempost"]);
                    if ["flag", "environment"].contains(&source) {
                        shell.env("IDEMPOST_API_KEY", "sb_environment_0123456789abcdefghi");
                        shell.env("IDEMPOST_BASE_URL", sources.environment.base_url());
                    }
                    match source {
                        "flag" => drop(shell.arg("--profile=by-flag")),
                        "profile" => drop(shell.env("IDEMPOST_PROFILE", "by-variable")),
                        _ => {}
                    }
                    let ran = Ran::of(shell.args(["emails", "get", ""]).finish());
                    let ids = ran.stdout.lines().filter(|line| line.contains("\tHello")).count();
                    assert_eq!(ids, 3, "{what}: {ran:?}");
                }
                _ => {
                    let status = run(&["whoami", "--json"]).json();
                    assert_eq!(status["base_url"], format!("{url}/"), "{what}");
                }
            }
            let asks = !["worker", "whoami"].contains(&command);
            let asked = sources.asked();
            for other in 0..4 {
                let grew = asked[other] > before[other];
                assert_eq!(grew, other == n && asks, "{what}: {before:?} {asked:?}");
            }
        }
    }
}

#[needs("nats-server")]
#[test]
fn a_worker_sends_with_the_account_that_the_strongest_source_names() {
    // A-49
    let sources = Sources::new();
    for (n, source) in SOURCES.into_iter().enumerate() {
        let queue = Queue::start();
        let address = queue.address();
        let mut worker = sources.command(source, &["bulk", "worker", "--queue", &address]).spawn().unwrap();
        let before = sources.asked();
        let send = ["bulk", "send", "people.csv", "--yes", "--again", "--queue", &address];
        let message = ["--from", "hi@acme.test", "--subject", "Hello", "--text", "Hi"];
        sources.run(source, &[&send[..], &message].concat(), "").ok();
        let asked = sources.asked();
        for other in 0..4 {
            assert_eq!(asked[other] > before[other], other == n, "{source}: {before:?} {asked:?}");
        }
        signal(&worker, Signal::INT);
        assert_eq!(exit_code(&mut worker), Some(0), "{source}");
        let mails = sources.services().map(|service| service.core().requests().len());
        assert_eq!(mails, asked, "{source}: nothing more is sent");
    }
}

#[test]
fn whoami_names_each_part_of_the_identity_with_its_source() {
    let sources = Sources::new();
    let status = |source: &str, flags: &[&str]| {
        sources.run(source, &[&["whoami", "--json"], flags].concat(), "").json()
    };
    let parts = |status: &Value| {
        ["profile", "profile_source", "base_url_source", "credential_source", "kind", "key"]
            .map(|name| status[name].as_str().unwrap_or_default().to_owned())
    };
    let config = sources.idempost.config_file().display().to_string();
    let folder = sources.idempost.config_file().with_file_name("credentials").display().to_string();
    let [profile, by, base_url, credential, kind, key] = parts(&status("flag", &[]));
    assert_eq!((profile.as_str(), by.as_str(), kind.as_str()), ("by-flag", "--profile", "api_key"));
    assert!(base_url.starts_with(&format!("{config}:")), "{base_url}");
    assert_eq!((credential, key), (format!("{folder}/by-flag.cred"), "sb_by-…fghi".to_owned()));
    let [profile, by, base_url, credential, _, key] = parts(&status("environment", &[]));
    assert!(profile == "by-default" && by.starts_with(&config), "{profile} {by}");
    assert_eq!((base_url.as_str(), credential.as_str()), ("IDEMPOST_BASE_URL", "IDEMPOST_API_KEY"));
    assert_eq!(key, "sb_env…fghi");
    let [profile, by, ..] = parts(&status("profile", &[]));
    assert_eq!((profile.as_str(), by.as_str()), ("by-variable", "IDEMPOST_PROFILE"));
    let lines = sources.run("flag", &["whoami"], "").ok();
    assert_eq!(lines, sources.run("flag", &["auth", "status"], "").ok());
    assert!(lines.contains("\nprofile_source     --profile\n") && !lines.contains("0123456789"), "{lines}");
    assert!(sources.asked() == [0; 4], "whoami sends nothing");
    let sandbox = sources.run("flag", &["--sandbox", "whoami", "--json"], "").json();
    assert_eq!((&sandbox["sandbox"], &sandbox["profile"]), (&json!(true), &Value::Null));
}

#[test]
fn whoami_shows_the_account_scope_and_expiry_of_an_access_token() {
    let service = Service::start();
    let service = service.unjudged();
    service.core().set_base_url(&service.base_url());
    let idempost = super::auth::logged_in(&service, &["--scope", "full_access"]);
    let login = idempost.run(&["whoami", "--json"]).json();
    assert_eq!((&login["kind"], &login["scope"]), (&json!("login"), &json!("full_access")));
    let token = idempost.run(&["auth", "token"]).ok();
    let given = Idempost::new()
        .env("IDEMPOST_BASE_URL", service.base_url())
        .env("IDEMPOST_ACCESS_TOKEN", token.trim());
    let given = given.run(&["whoami", "--json"]).json();
    assert!(login["account"].is_string() && login["expires_at"].is_string(), "{login}");
    for part in ["account", "scope"] {
        assert_eq!(given[part], login[part], "{part}");
    }
    assert!(given["expires_at"].is_string() && given["kind"] == "access_token", "{given}");
}

#[test]
fn dry_runs_traces_and_questions_name_the_account() {
    let sources = Sources::new();
    let url = sources.flag.base_url();
    let named = format!("profile `by-flag` at {url}");
    let shown = sources.run("flag", &[&SEND[..], &["--dry-run"]].concat(), "").json();
    assert_eq!(
        (&shown["dry_run"]["profile"], &shown["dry_run"]["base_url"]),
        (&json!("by-flag"), &json!(url))
    );
    let shown = sources.run("environment", &[&SEND[..], &["--dry-run"]].concat(), "").json();
    assert_eq!(shown["dry_run"]["credential_source"], "IDEMPOST_API_KEY");
    let curl = sources.run("flag", &[&SEND[..], &["--dry-run=curl"]].concat(), "");
    assert!(curl.stderr.contains(&named), "{curl:?}");
    let traced = sources.run("flag", &[&SEND[..], &["-v"]].concat(), "");
    assert!(traced.stderr.contains(&format!("POST {url}/emails as {named}")), "{traced:?}");
    let traced = sources.run("flag", &["emails", "list", "-v"], "");
    assert!(traced.stderr.contains(&format!("GET {url}/emails as {named}")), "{traced:?}");
    let plan = ["bulk", "plan", "people.csv", "--from", "hi@acme.test", "--subject", "Hello", "--text", "Hi"];
    let plan = sources.run("flag", &plan, "").ok();
    assert!(plan.contains(&format!("\nas          {named}\n")), "{plan}");
    for import in ["contacts", "suppressions"] {
        let ran = sources.run("flag", &[import, "import", "-", "--dry-run"], "email\nada@example.com\n");
        assert!(ran.stderr.contains(&format!("nothing sent\nas {named}\n")), "{ran:?}");
    }
    let send = ["bulk", "send", "people.csv", "--from", "hi@acme.test", "--subject", "Hello", "--text", "Hi"];
    sources.run("flag", &send, "").fails_with(2, &[&format!("(as {named})")]);
}
