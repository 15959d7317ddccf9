//! `sandbox …` and the flag `--sandbox`: real processes over real sockets.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStderr, Command};

use idempost_conformance::peer::Act;
use rustix::process::Signal;
use serde_json::json;

use crate::service::ScriptedPeer;
use crate::support::{
    CommandLine, Finish as _, Idempost, Limited, Lines, Ran, Running, SEND, exit_code, has, kill, lines,
    request, shows, signal, taken_port,
};

/// A sandbox that runs until dropped.
pub(crate) struct Sandbox {
    pub(crate) base_url: String,
    pub(crate) lines: Vec<String>,
    child: Running,
    stderr: BufReader<Limited<ChildStderr>>,
    _stdout: Lines,
    _idempost: Idempost,
}

impl Sandbox {
    pub(crate) fn start(flags: &(impl CommandLine + ?Sized)) -> Self {
        let idempost = Idempost::new();
        let command = idempost.command();
        Self::start_by(idempost, command, flags)
    }

    /// Starts it with this command, which is the program or execs it.
    pub(crate) fn start_by(
        idempost: Idempost,
        mut command: Command,
        flags: &(impl CommandLine + ?Sized),
    ) -> Self {
        let mut child = command.args(("sandbox serve --port 0", flags).words()).spawn().unwrap();
        let stderr = BufReader::new(Limited(child.stderr.take().unwrap()));
        let mut stdout = self::lines(&mut child.stdout);
        let mut lines = Vec::new();
        while !lines.iter().any(|line: &String| line.starts_with("export ")) {
            lines.push(stdout.next().unwrap_or_else(|| panic!("exited after {lines:?}")));
        }
        let (_, after) = lines.last().unwrap().split_once("IDEMPOST_BASE_URL=").unwrap();
        let base_url = after.split_whitespace().next().unwrap().to_owned();
        Self { base_url, lines, child: Running(child), stderr, _stdout: stdout, _idempost: idempost }
    }

    /// The program, configured as the sandbox's output says.
    pub(crate) fn client(&self) -> Idempost {
        Idempost::at(&self.base_url, "sb_local")
    }

    /// Runs a command so configured.
    pub(crate) fn run(&self, line: &(impl CommandLine + ?Sized)) -> Ran {
        self.client().run(line)
    }

    /// Sends one email; returns its ID.
    pub(crate) fn send(&self, to: &str, subject: &str, flags: &(impl CommandLine + ?Sized)) -> String {
        let send = "emails send --from 'Acme <hi@acme.test>' --text 'Hello\n\u{9b}2J' --to";
        self.run(&((send, [to, "--subject", subject]), flags)).ok().trim_end().to_owned()
    }

    /// Runs a command so configured with this standard input.
    pub(crate) fn run_with(&self, line: &(impl CommandLine + ?Sized), input: &str) -> Ran {
        self.client().run_with(line, input)
    }

    /// The value after a name in the output.
    pub(crate) fn printed(&self, name: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix(&format!("# {name}"))).map(str::trim)
    }

    /// Stops it and returns its standard error.
    pub(crate) fn stop(&mut self) -> String {
        self.signal(Signal::TERM);
        assert_eq!(self.wait(), Some(0));
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).unwrap();
        stderr
    }

    /// The next line of its standard error.
    pub(crate) fn says(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn signal(&self, which: Signal) {
        signal(&self.child, which);
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        kill(&mut self.child);
    }

    pub(crate) fn wait(&mut self) -> Option<i32> {
        exit_code(&mut self.child)
    }
}

#[test]
fn the_output_of_serve_can_be_pasted_into_a_shell() {
    let sandbox = Sandbox::start("");
    let (export, comments) = sandbox.lines.split_last().unwrap();
    assert!(comments.len() > 3 && comments.iter().all(|line| line.starts_with("# ")), "{comments:?}");
    let login = format!("idempost --base-url {} auth login", sandbox.base_url);
    assert_eq!(sandbox.printed("log in"), Some(login.as_str()));
    assert_eq!(*export, format!("export IDEMPOST_BASE_URL={} IDEMPOST_API_KEY=sb_local", sandbox.base_url));
    sandbox.client().run(&["sandbox", "wait", "--timeout", "60s"]).ok();
    sandbox.client().run(&["doctor"]).ok();
}

#[test]
fn the_commands_suggested_by_serve_work() {
    let sandbox = Sandbox::start("");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_idempost")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let suggested: Vec<_> = sandbox.lines.iter().filter_map(|line| line.strip_prefix("# try ")).collect();
    assert!(suggested.len() > 1, "{:?}", sandbox.lines);
    let script = format!("set -e\n{}\n{}\n", sandbox.lines.last().unwrap(), suggested.join("\n"));
    // The last command shows the email of the first.
    Idempost::new().env("PATH", path).shell(&script).ok_with(&["Subject:  Hello"]);
}

#[test]
fn a_sandbox_stops_with_the_program_that_holds_its_standard_input() {
    let idempost = Idempost::new();
    let mut command = idempost.command();
    let (input, writer) = std::io::pipe().unwrap();
    command.stdin(input);
    let mut sandbox = Sandbox::start_by(idempost, command, &["--until-eof"]);
    sandbox.client().run(&["sandbox", "wait", "--timeout", "60s"]).ok();
    drop(writer);
    assert_eq!(sandbox.wait(), Some(0));
}

#[test]
fn a_stopped_sandbox_exits_with_0() {
    for which in [Signal::TERM, Signal::INT] {
        let mut sandbox = Sandbox::start("");
        sandbox.signal(which);
        assert_eq!(sandbox.wait(), Some(0), "{which:?}");
    }
}

#[test]
fn a_port_in_use_is_reported_with_a_hint() {
    let (_taken, port) = taken_port();
    for (flag, more) in [("--port", ""), ("--smtp-port", "--port 0")] {
        let ran = Idempost::new().run(&(["sandbox", "serve", flag, &port], more));
        ran.fails_with(1, &[&port, &format!("{flag} 0")]);
    }
}

#[test]
fn waiting_for_a_missing_sandbox_times_out() {
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", "http://127.0.0.1:9");
    idempost.run("sandbox wait --timeout 200ms").fails_with(8, &["after 200 ms", "idempost sandbox serve"]);
    let error = idempost.run(&["sandbox", "inbox", "list", "--json", "--retries", "0"]).error(7);
    assert_eq!(error["hint"], "start one: idempost sandbox serve, or idempost sandbox run -- COMMAND");
}

#[test]
fn the_key_of_a_real_service_is_never_sent_to_sandbox_routes() {
    let idempost = Idempost::at("https://api.example.com", "re_hidden");
    for command in ["sandbox reset", "sandbox inbox list", "sandbox wait"] {
        idempost.run(command).fails_with(2, &["isn't a loopback address"]);
    }
}

#[test]
fn run_gives_the_command_a_sandbox_and_exits_with_its_code() {
    let idempost = Idempost::new();
    let ran = idempost.run("sandbox run -- sh -c 'echo $IDEMPOST_BASE_URL $IDEMPOST_API_KEY; exit 7'");
    let ran = ran.exits(7);
    assert!(ran.stdout.starts_with("http://127.0.0.1:") && ran.stdout.ends_with(" sb_local\n"), "{ran:?}");
    let program = env!("CARGO_BIN_EXE_idempost");
    idempost.run(&["sandbox", "run", "--", program, "doctor"]).ok();
    idempost.run("sandbox run -- sh -c 'kill -9 $$'").exits(137);
}

#[test]
fn run_configures_resend_clients_for_the_sandbox() {
    let script = "echo $RESEND_BASE_URL $RESEND_API_URL $IDEMPOST_BASE_URL $RESEND_API_KEY";
    let run = |flags: &str| {
        let idempost =
            Idempost::new().env("RESEND_API_KEY", "re_live").env("RESEND_BASE_URL", "https://live.test");
        idempost.run(&(("sandbox run", flags), &["--", "sh", "-c", script]))
    };
    let printed = run("").ok();
    let url = printed.split_whitespace().nth(1).unwrap();
    assert_eq!(printed, format!("{url}/ {url} {url} sb_local\n"));
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");

    let printed = run("--no-vendor-env -q").ok();
    assert!(printed.starts_with("https://live.test http://127.0.0.1:"), "{printed}");
    assert!(printed.ends_with(" re_live\n"), "{printed}");
    run("--no-vendor-env").says(&["may send real emails"]);
}

#[test]
fn run_keeps_the_command_s_requests_to_the_sandbox_from_a_proxy() {
    let run = |variables: &[(&str, &str)]| {
        let idempost =
            variables.iter().fold(Idempost::new(), |idempost, (name, value)| idempost.env(name, *value));
        idempost.run(&["sandbox", "run", "--", "sh", "-c", "echo ${NO_PROXY-none} ${no_proxy-none}"]).ok()
    };
    assert_eq!(run(&[]), "none none\n", "the system's proxies stay in use");
    let proxy = ("http_proxy", "http://127.0.0.1:9");
    assert_eq!(run(&[proxy]), "127.0.0.1 127.0.0.1\n");
    assert_eq!(
        run(&[("ALL_PROXY", proxy.1), ("NO_PROXY", "corp.test")]),
        "corp.test,127.0.0.1 corp.test,127.0.0.1\n"
    );
    assert_eq!(
        run(&[proxy, ("no_proxy", "corp.test,127.0.0.1")]),
        "corp.test,127.0.0.1 corp.test,127.0.0.1\n"
    );
    assert_eq!(
        run(&[proxy, ("NO_PROXY", "*")]),
        "* *\n",
        "a list with more than `*` wouldn't except everything"
    );
}

#[test]
fn a_command_that_cannot_be_started_has_the_shell_s_exit_code() {
    let idempost = Idempost::new();
    let missing = idempost.run("sandbox run -- no-such-program --flag");
    missing.fails_with(127, &["couldn't start `no-such-program`"]);
    idempost.run("sandbox run -- / --flag").fails(126);
}

#[test]
fn a_signal_is_forwarded_to_the_command_which_is_awaited() {
    let idempost = Idempost::new();
    let script = "trap 'echo stopped; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = idempost.spawn(&["sandbox", "run", "--", "sh", "-c", script]);
    let mut stdout = lines(&mut child.stdout);
    assert_eq!(stdout.next().unwrap(), "ready");
    signal(&child, Signal::TERM);
    assert_eq!(stdout.next().unwrap(), "stopped");
    assert_eq!(exit_code(&mut child), Some(9));
}

#[test]
fn the_inbox_lists_the_newest_first_and_every_filter_works() {
    let sandbox = Sandbox::start("");
    sandbox.send("ada@example.com", "Welcome", &["--tag", "kind=first"]);
    let second = sandbox.send("bob@example.com", "Invoice", "");

    let subjects = |filter: &str| sandbox.run(&("sandbox inbox list --columns subject", filter)).ok();
    assert_eq!(subjects(""), "Invoice\nWelcome\n");
    for filter in ["--to ADA@", "--subject welc", "--tag kind=first", "--to ada --from acme"] {
        assert_eq!(subjects(filter), "Welcome\n", "{filter}");
    }
    assert_eq!(subjects("--to nobody"), "");
    assert_eq!(subjects("--limit 1"), "Invoice\n");

    let latest = sandbox.run(&["sandbox", "inbox", "latest", "--json"]).json();
    sandbox.run(&["sandbox", "inbox", "latest", "--raw"]).ok_with(&["\r\nSubject: ", "\r\n\r\n"]);
    has(&latest, &json!({"email_id": second, "subject": "Invoice"}));
    let id = latest["id"].as_str().unwrap();
    let head = "From:     Acme <hi@acme.test>\nTo:       bob@example.com\n";
    let shown = sandbox.run(&["sandbox", "inbox", "get", id]).hides(&["\u{9b}"]);
    shown.ok_with(&[head, "Hello\n\\u{9b}2J"]);

    let other = sandbox.client().env("IDEMPOST_API_KEY", "sb_other");
    assert_eq!(other.run(&["sandbox", "inbox", "list"]).ok(), "", "every key is a separate account");
    other.run(&["sandbox", "inbox", "latest"]).fails_with(5, &["no captured email matches"]);

    sandbox.run(&["sandbox", "reset"]).ok();
    assert_eq!(sandbox.run(&["sandbox", "inbox", "list"]).ok(), "");
}

#[test]
fn unsent_emails_are_listed_by_their_state() {
    let sandbox = Sandbox::start("");
    sandbox.send("ada@example.com", "Left", "");
    let later = sandbox.send("ada@example.com", "Later", &["--scheduled-at", "in 1 hour"]);
    sandbox.send("failed@example.com", "Failed", "");
    let list = |flags| sandbox.run(&("sandbox inbox list --columns subject,state,reason", flags)).ok();
    assert_eq!(list("--state unsent"), "Failed\tfailed\trecipient_refused\nLater\tscheduled\t\n");
    assert_eq!(list("--state scheduled --to ADA"), "Later\tscheduled\t\n");
    assert_eq!(list("--state canceled"), "");
    let listed = sandbox.run(&["sandbox", "inbox", "list", "--state", "scheduled", "--json"]).json();
    assert_eq!(listed["data"][0]["id"], later.as_str());
    let subjects = sandbox.run(&["sandbox", "inbox", "list", "--columns", "subject"]).ok();
    assert_eq!(subjects, "Left\n", "by default, sent emails");
    sandbox.run(&["sandbox", "inbox", "list", "--state", "late"]).fails_with(2, &["unsent", "canceled"]);
}

#[test]
fn waiting_for_an_email_ends_when_it_arrives() {
    let sandbox = Sandbox::start("");
    let idempost = sandbox.client();
    let waiting = idempost.spawn("sandbox inbox wait --subject Late --timeout 60s --json --jq .subject");
    sandbox.send("ada@example.com", "Too early", "");
    sandbox.send("ada@example.com", "Late", "");
    assert_eq!(waiting.finish().ok(), "Late\n");
    let error = idempost.run("sandbox inbox wait --to nobody --timeout 100ms --json").error(8);
    assert_eq!(error["kind"], "pending");
}

#[test]
fn one_search_language_selects_emails_to_list_show_await_and_export() {
    let sandbox = Sandbox::start("");
    sandbox.send("ada@example.com", "Your code", &["--tag", "kind=login"]);
    sandbox.send("bob@example.com", "Code of conduct", "");
    let search = ["--query", "subject:\"your code\" -to:bob after:1h", "--tag", "kind"];
    for command in ["latest --json --jq .subject", "wait --json --jq .subject", "list --columns subject"] {
        let found = sandbox.run(&(("sandbox inbox", command), &search)).ok();
        assert_eq!(found, "Your code\n", "{command}");
    }
    let exported = sandbox.run(&("sandbox export - --format json", &search)).json();
    assert_eq!((exported.as_array().unwrap().len(), &exported[0]["subject"]), (1, &"Your code".into()));
    for command in ["inbox list", "inbox latest", "inbox wait", "export - --format json"] {
        let wrong = sandbox.run(&(("sandbox", command), "--query 'from:acme before:yesterdayish'"));
        wrong.fails_with(3, &["character 11: `before:` must be", "yesterdayish"]);
    }
}

#[test]
fn a_wait_prints_the_code_or_a_link_alone() {
    let sandbox = Sandbox::start("");
    let idempost = sandbox.client();
    let wait = |flags| idempost.run(&("sandbox inbox wait --to ada@example.com --timeout 60s", flags));
    let html = "<p>Your code is <b>482 913</b></p><a href='https://acme.test/verify?t=1&amp;u=2'>Verify your Email</a> \
        <a href='https://acme.test/verify/help'>Verify: help</a> <a href='https://acme.test/off'>Unsubscribe</a>";
    sandbox.send("ada@example.com", "Welcome", &["--html", html]);
    assert_eq!(wait("--code").ok(), "482913\n");
    // The first one that contains it.
    assert_eq!(wait("--link VERIFY").ok(), "https://acme.test/verify?t=1&u=2\n");
    let document = wait("--code --json").json();
    has(&document, &json!({"code": "482913", "codes": ["482913"]}));
    let email_id = document["email_id"].as_str().unwrap();
    wait("--link off --json").fails_with(5, &["`Verify your Email`, `Verify: help`, `Unsubscribe`"]);
    let document = wait("--link unsub --json").json();
    assert_eq!(document["link"], json!({"text": "Unsubscribe", "url": "https://acme.test/off"}));

    let after = format!("sandbox inbox wait --after {email_id} --code");
    let timed_out = idempost.run(&(&after, "--to ada --timeout 100ms"));
    timed_out.fails_with(8, &["timed out after 100 ms"]);
    let later = idempost.spawn(&(&after, "--timeout 60s"));
    sandbox.send("ada@example.com", "Again", &["--html", "<p>Your verification code: 7731</p>"]);
    assert_eq!(later.finish().ok(), "7731\n");
    assert!(wait("--raw").ok().starts_with("From: "));

    sandbox.send("ada@example.com", "Nothing", "");
    wait("--code").fails_with(5, &["the email has no one-time code; its subject is `Nothing`"]);
    wait("--link x").fails_with(5, &["no link contains `x`: the email has no links"]);
    wait("--link x --code").fails_with(2, &["--code"]);
    wait("--after yesterday").fails_with(3, &["`after` must be the id of a captured or sent email"]);
}

#[test]
fn verbose_logs_requests_without_keys() {
    let mut sandbox = Sandbox::start(&["-v"]);
    sandbox.send("ada@example.com", "Hi", "");
    let stderr = sandbox.stop();
    let logged = |line: &str| line.contains("POST /emails → 200") && line.ends_with(" ms");
    assert!(stderr.lines().any(logged) && !stderr.contains("sb_local"), "{stderr}");
}

#[tokio::test]
async fn verbose_logs_a_login_without_its_secrets() {
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    const REDIRECT: &str = "redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback";
    let mut sandbox = Sandbox::start(&["-v"]);
    let asking = format!(
        "{}/oauth/authorize?client_id=idempost-cli&response_type=code&scope=emails%3Asend&state=hidden-state&{REDIRECT}\
         &code_challenge_method=S256&code_challenge={CHALLENGE}",
        sandbox.base_url
    );
    let back = idempost_conformance::person::Person::of("sb_local").allows(&asking).await;
    let code = back.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let form = format!(
        "grant_type=authorization_code&client_id=idempost-cli&code={code}&{REDIRECT}&code_verifier={VERIFIER}"
    );
    let post = |path: &str, form: &str| {
        let form_type = "content-type: application/x-www-form-urlencoded\r\n";
        request(&format!("{}{path}", sandbox.base_url), "POST", form_type, form).1
    };
    let answer = post("/oauth/token", &form);
    let tokens: serde_json::Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let [access, refresh] = ["access_token", "refresh_token"].map(|name| tokens[name].as_str().unwrap());
    let refreshing = format!("grant_type=refresh_token&client_id=idempost-cli&refresh_token={refresh}");
    for path in ["/oauth/token", "/oauth/token", &format!("/oauth/token?refresh_token={refresh}")] {
        post(path, &refreshing);
    }
    post("/oauth/revoke", &format!("client_id=idempost-cli%1B%5B2J&token={refresh}"));
    let stderr = sandbox.stop();
    let logged = [
        "GET /oauth/authorize client_id=idempost-cli response_type=code scope=emails:send → 302,",
        "POST /oauth/token grant_type=authorization_code client_id=idempost-cli → 200,",
        "POST /oauth/token grant_type=refresh_token client_id=idempost-cli → 400 invalid_grant,",
        "POST /oauth/revoke client_id=idempost-cli?[2J → 401 invalid_client,",
    ];
    shows(&stderr, &logged);
    for secret in [&code, VERIFIER, CHALLENGE, "hidden-state", access, refresh, "sb_rt_", "sb_local"] {
        assert!(!stderr.contains(secret), "{secret}: {stderr}");
    }
}

#[test]
fn the_requested_rate_limit_applies() {
    let sandbox = Sandbox::start(&["--rate-limit", "1"]);
    // All requests arrive within the same second.
    sandbox.run(&["sandbox", "clock", "freeze"]).ok();
    let codes: Vec<_> = (0..5).map(|_| sandbox.run(&["emails", "list", "--retries", "0"]).code).collect();
    assert!(codes.contains(&Some(6)), "{codes:?}");
}

#[test]
fn a_command_with_its_own_sandbox_lists_the_captured_emails() {
    let idempost = Idempost::new();
    let send = "--sandbox emails send --from 'Acme <hi@acme.test>' --to ada@example.com --bcc eve@example.com \
         --subject Hello --text 'It works'";
    let ran = idempost.run(&send).says(&[
        "from     Acme <hi@acme.test>\n",
        "to       ada@example.com, eve@example.com\n",
        "subject  Hello\n",
        " bytes\n",
    ]);
    assert_eq!(ran.ok().trim_end().len(), 36, "the result is only the ID");

    let ran = idempost.run(&(&send, "--json"));
    let captured: serde_json::Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(captured["captured"]["to"], json!(["ada@example.com", "eve@example.com"]));
    assert_eq!(idempost.run(&(&send, "--quiet")).stderr, "");

    let batch = r#"[{"from":"a@acme.test","to":"x@example.com","subject":"One","text":"1"},{"from":"a@acme.test","to":"y@example.com","subject":"Two","text":"2"}]"#;
    idempost.run_with(&["--sandbox", "emails", "batch", "-"], batch).says(&[
        "FROM",
        "x@example.com  One",
        "y@example.com  Two",
    ]);
}

#[test]
fn sandbox_commands_use_the_stored_api_key_of_the_profile() {
    let sandbox = Sandbox::start("");
    sandbox.run(&SEND).ok();
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", &sandbox.base_url);
    idempost.run_with("--profile own auth login --with-token --store file", "sb_own\n").ok();
    idempost.run(&("--profile own", SEND)).ok();
    let count =
        |profile: &str| idempost.run(&(profile, "sandbox inbox list --columns id")).ok().lines().count();
    idempost.run("--profile own sandbox reset").ok();
    assert_eq!((count("--profile own"), count("")), (0, 1));
    // The key of another origin isn't sent.
    let elsewhere = sandbox.base_url.replace("127.0.0.1", "localhost");
    let listed = idempost.run(&("--profile own sandbox inbox list --columns id --base-url", [&*elsewhere]));
    assert_eq!(listed.ok().lines().count(), 1);
}

#[test]
fn the_sandbox_flag_overrides_every_setting() {
    // Nothing listens on port 9: a request to it would fail.
    let config =
        "default_profile = \"x\"\n[profiles.x]\nbase_url = \"http://127.0.0.1:9\"\nfrom = \"a@acme.test\"\n";
    let idempost = Idempost::new().config(config).env("IDEMPOST_API_KEY", "re_real_key");
    idempost.run("--sandbox emails send --to ada@example.com --subject Hi --text x").ok();
}

#[test]
fn a_scheduled_email_is_not_captured_before_its_sandbox_ends() {
    let ran = Idempost::new().run(
        "--sandbox emails send --from a@acme.test --to ada@example.com --subject Hi --text x \
         --scheduled-at 'in 1 hour'",
    );
    ran.says(&["the email is scheduled"]).hides(&["captured by"]).ok();
}

#[test]
fn an_interrupted_wait_has_the_signal_s_exit_code() {
    // A service that accepts the connection and never responds.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let idempost =
        Idempost::new().env("IDEMPOST_BASE_URL", format!("http://{}", silent.local_addr().unwrap()));
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = idempost.spawn(&["sandbox", "inbox", "wait", "--to", "nobody"]);
        // Signal handlers are installed before the request.
        let asked = silent.accept().unwrap();
        signal(&child, which);
        assert_eq!(exit_code(&mut child), Some(code), "{which:?}");
        drop(asked);
    }
}

#[test]
fn a_wait_for_an_email_continues_after_a_proxy_cuts_its_connection() {
    let mail = Act::json(200, r#"{"id":"1","subject":"Late"}"#);
    let proxy = ScriptedPeer::new([Act::HangUp, Act::answer(504, &[], ""), Act::HangUp, mail]);
    let behind = |proxy: &ScriptedPeer| Idempost::new().env("IDEMPOST_SANDBOX_URL", proxy.base_url());
    assert_eq!(behind(&proxy).run("sandbox inbox wait --jq .subject --timeout 60s").ok(), "Late\n");
    // Only a sandbox that is asked not to wait responds in time.
    let proxy = ScriptedPeer::start(|request| {
        if request.target().ends_with("timeout=0") { Act::refused(408, "timeout") } else { Act::HangUp }
    });
    let timed_out = behind(&proxy).run("sandbox inbox wait --to nobody --timeout 500ms");
    timed_out.fails_with(8, &["timed out after 500 ms"]);
}
