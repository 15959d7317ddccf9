//! The identity that a command uses: `whoami`, the names in plans and prompts, and the account that each kind of command uses.

use std::process::Command;

use idempost_needs::needs;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bulk::distributed::Queue;
use crate::service::Service;
use crate::support::{CommandLine, Finish as _, Idempost, Ran, SEND, finish_with, has, signal};

/// A service for each source of an account; sources of lower precedence are always set up too.
struct Sources {
    flag: Service,
    environment: Service,
    profile: Service,
    default: Service,
    idempost: Idempost,
}

const SEND_PEOPLE: &str = "bulk send people.csv --from hi@acme.test --subject Hello --text Hi";
const PLAN_PEOPLE: &str = "bulk plan people.csv --from hi@acme.test --subject Hello --text Hi";

/// The sources, in order of precedence.
const SOURCES: [&str; 4] = ["flag", "environment", "profile", "default"];

impl Sources {
    fn new() -> Self {
        let [flag, environment, profile, default] = std::array::from_fn(|_| Service::start());
        let idempost = Idempost::new();
        for (name, service) in [("by-flag", &flag), ("by-variable", &profile), ("by-default", &default)] {
            idempost.store_key(name, &service.base_url(), &format!("sb_{name}_0123456789abcdefghi\n"));
        }
        idempost.run(&["auth", "use", "by-default"]).ok();
        idempost.write("people.csv", "to\nada@example.com\n");
        Self { flag, environment, profile, default, idempost }
    }

    /// The program in the environment of this source, without its flag.
    fn around(&self, source: &str) -> Command {
        let mut command = self.idempost.command();
        if ["flag", "environment"].contains(&source) {
            command.env("IDEMPOST_API_KEY", "sb_environment_0123456789abcdefghi");
            command.env("IDEMPOST_BASE_URL", self.environment.base_url());
        }
        if source == "profile" {
            command.env("IDEMPOST_PROFILE", "by-variable");
        }
        command
    }

    /// A command whose account is chosen by this source.
    fn command(&self, source: &str, line: &(impl CommandLine + ?Sized)) -> Command {
        let mut command = self.around(source);
        command.args(line.words()).args((source == "flag").then_some("--profile=by-flag"));
        command
    }

    fn run(&self, source: &str, line: &(impl CommandLine + ?Sized)) -> Ran {
        self.command(source, line).finish()
    }

    /// Runs it with this standard input.
    fn run_with(&self, source: &str, line: &str, input: &str) -> Ran {
        finish_with(&mut self.command(source, line), input)
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
    for (n, source) in SOURCES.into_iter().enumerate() {
        let url = sources.services()[n].base_url();
        for command in ["send", "bulk send", "resume", "worker", "mcp", "completion", "whoami"] {
            let what = format!("{command} by {source}");
            let before = sources.asked();
            let named = &[&*format!(" at {url}")];
            match command {
                "send" => drop(sources.run(source, &SEND).ok()),
                "bulk send" => {
                    sources.run(source, &(SEND_PEOPLE, "--yes --again")).says(named).ok();
                }
                "resume" => {
                    let plan = sources.run(source, &(PLAN_PEOPLE, "--again --json")).json();
                    assert_eq!(plan["base_url"], url, "{what}");
                    let resume = ["bulk", "resume", plan["job"].as_str().unwrap()];
                    sources.run(source, &resume).says(named).ok();
                }
                // It names the account before it connects to its queue.
                "worker" => drop(sources.run(source, "bulk worker --queue nats://127.0.0.1:9").says(named)),
                "mcp" => {
                    sources.run_with(source, "mcp", &tool_call()).prints(&[r#""isError":false"#]);
                }
                "completion" => {
                    let mut shell = sources.around(source);
                    shell.env("IDEMPOST_COMPLETE", "fish").args(["--", "idempost"]);
                    shell.args((source == "flag").then_some("--profile=by-flag"));
                    let ran = shell.args(["emails", "get", ""]).finish();
                    let ids = ran.stdout.lines().filter(|line| line.contains("\tHello")).count();
                    assert_eq!(ids, 3, "{what}: {ran:?}");
                }
                _ => {
                    let status = sources.run(source, "whoami --json").json();
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
        let worker = sources.command(source, &["bulk", "worker", "--queue", &address]).spawn().unwrap();
        let before = sources.asked();
        let flags = ["--yes", "--again", "--queue", &address];
        sources.run(source, &(SEND_PEOPLE, flags)).ok();
        let asked = sources.asked();
        for other in 0..4 {
            assert_eq!(asked[other] > before[other], other == n, "{source}: {before:?} {asked:?}");
        }
        signal(&worker, Signal::INT);
        worker.finish().exits(0);
        let mails = sources.services().map(|service| service.requests().len());
        assert_eq!(mails, asked, "{source}: nothing more is sent");
    }
}

#[test]
fn whoami_names_each_part_of_the_identity_with_its_source() {
    let sources = Sources::new();
    let status = |source: &str| sources.run(source, "whoami --json").json();
    let config = sources.idempost.config_file();
    let credential = config.with_file_name("credentials/by-flag.cred");
    let in_config = |source: &Value| {
        let file = format!("{}:", config.display());
        assert!(source.as_str().unwrap().starts_with(&file), "{source} isn't in {file}");
    };
    let by_flag = status("flag");
    let expected = json!({
        "profile": "by-flag", "profile_source": "--profile", "kind": "api_key",
        "credential_source": credential.to_str(), "key": "sb_by-…fghi",
    });
    has(&by_flag, &expected);
    in_config(&by_flag["base_url_source"]);
    let by_environment = status("environment");
    let expected = json!({
        "profile": "by-default", "base_url_source": "IDEMPOST_BASE_URL",
        "credential_source": "IDEMPOST_API_KEY", "key": "sb_env…fghi",
    });
    has(&by_environment, &expected);
    in_config(&by_environment["profile_source"]);
    let expected = json!({"profile": "by-variable", "profile_source": "IDEMPOST_PROFILE"});
    has(&status("profile"), &expected);
    let lines = sources.run("flag", "whoami").hides(&["0123456789"]).ok();
    assert_eq!(lines, sources.run("flag", "auth status").ok());
    assert!(lines.contains("\nprofile_source     --profile\n"), "{lines}");
    assert_eq!(sources.asked(), [0; 4], "whoami sends nothing");
    let sandbox = sources.run("flag", "--sandbox whoami --json").json();
    has(&sandbox, &json!({"sandbox": true, "profile": null}));
}

#[test]
fn whoami_shows_the_account_scope_and_expiry_of_an_access_token() {
    let service = crate::auth::service();
    let idempost = crate::auth::logged_in(&service, "--scope full_access");
    let login = idempost.run(&["whoami", "--json"]).json();
    has(&login, &json!({"kind": "login", "scope": "full_access"}));
    let token = idempost.run(&["auth", "token"]).ok();
    let given = Idempost::new()
        .env("IDEMPOST_BASE_URL", service.base_url())
        .env("IDEMPOST_ACCESS_TOKEN", token.trim());
    let given = given.run(&["whoami", "--json"]).json();
    assert!(login["account"].is_string() && login["expires_at"].is_string(), "{login}");
    let expected = json!({"account": login["account"], "scope": login["scope"], "kind": "access_token"});
    has(&given, &expected);
    assert!(given["expires_at"].is_string(), "{given}");
}

#[test]
fn dry_runs_traces_and_questions_name_the_account() {
    let sources = Sources::new();
    let url = sources.flag.base_url();
    let named = format!("profile `by-flag` at {url}");
    let shown = sources.run("flag", &(SEND, "--dry-run")).json();
    has(&shown["dry_run"], &json!({"profile": "by-flag", "base_url": url}));
    let shown = sources.run("environment", &(SEND, "--dry-run")).json();
    assert_eq!(shown["dry_run"]["credential_source"], "IDEMPOST_API_KEY");
    sources.run("flag", &(SEND, "--dry-run=curl")).says(&[&named]);
    sources.run("flag", &(SEND, "-v")).says(&[&format!("POST {url}/emails as {named}")]);
    sources.run("flag", "emails list -v").says(&[&format!("GET {url}/emails as {named}")]);
    sources.run("flag", PLAN_PEOPLE).ok_with(&[&format!("\nas          {named}\n")]);
    for import in ["contacts import - --dry-run", "suppressions import - --dry-run"] {
        let imported = sources.run_with("flag", import, "email\nada@example.com\n");
        imported.says(&[&format!("nothing sent\nas {named}\n")]);
    }
    sources.run("flag", SEND_PEOPLE).fails_with(2, &[&format!("(as {named})")]);
}
