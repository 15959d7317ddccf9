//! A command reports the outcome of its request, no matter how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;
use serde_json::json;

use crate::service::Service;
#[cfg(target_os = "linux")]
use crate::support::{
    Finish as _, Idempost, Ran, SEND, children, closed_pipe, concurrently, finish_with, full_disk, has,
    signal, wait_until, wait_until_blocked,
};

/// Waits until a thread of the program reads standard input.
#[cfg(target_os = "linux")]
fn until_it_reads(child: &Child, arguments: &[&str]) {
    // read(0, …) or splice(0, …), by their numbers on x86-64 and aarch64.
    let what = format!("{arguments:?} reads standard input");
    wait_until_blocked(child, &what, &["0", "63", "275", "76"], "0x0");
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_every_command_that_reads_standard_input() {
    // F-03
    let service = Service::start();
    let commands: [&[&str]; 9] = [
        &["bulk", "send", "-", "--from", "hi@acme.test", "--subject", "x", "--text", "y", "--yes"],
        &["emails", "send", "--input", "-"],
        &["emails", "send", "--html-file", "-"],
        &["emails", "batch", "-"],
        &["contacts", "import", "-"],
        &["api", "POST", "/emails", "--input", "-"],
        &["auth", "login", "--with-token", "--store", "file"],
        &["sandbox", "receive", "-"],
        &["--api-key-file", "-", "emails", "list"],
    ];
    concurrently(commands, |arguments| {
        for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
            let idempost = service.idempost();
            let mut child = idempost.command().args(arguments).stdin(Stdio::piped()).spawn().unwrap();
            // The input has started, but not ended.
            child.stdin.as_mut().unwrap().write_all(b"{").unwrap();
            until_it_reads(&child, arguments);
            signal(&child, which);
            let stdin = child.stdin.take();
            let ran = child.finish();
            drop(stdin);
            assert_eq!(ran.code, Some(code), "{arguments:?} {which:?} {ran:?}");
        }
    });
    assert_eq!(service.asked(), 0, "nothing was sent");
}

#[cfg(target_os = "linux")]
#[test]
fn input_that_a_signal_cuts_off_is_not_sent() {
    // F-03. Ctrl-C also ends the program at the other end of the pipe.
    let service = Service::start();
    let bulk = ["bulk", "send", "-", "--from", "hi@acme.test", "--subject", "x", "--text", "y", "--yes"];
    let commands: [(&[&str], &str); 7] = [
        (&["emails", "list", "--api-key-file", "-"], "sb_te"),
        (&["auth", "login", "--with-token", "--store", "file"], "sb_te"),
        (&["emails", "send", "--from", "hi@acme.test", "--to", "ada@example.com", "--subject", "x"], "Dear"),
        (
            &["emails", "batch", "-"],
            r#"{"from":"hi@acme.test","to":"ada@example.com","subject":"x","text":"y"}"#,
        ),
        (&["contacts", "import", "-"], "email\nada@example.com\n"),
        (&["topics", "create", "--input", "-"], "{"),
        (&bulk, "to\nada@example.com\n"),
    ];
    concurrently(commands, |(arguments, input)| {
        let idempost = service.idempost();
        let mut child = idempost.command().args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap();
        until_it_reads(&child, arguments);
        signal(&child, Signal::INT);
        drop(child.stdin.take());
        let stderr = child.finish().fails(130);
        assert_eq!(stderr, "error: interrupted\n", "{arguments:?}");
    });
    assert_eq!(service.asked(), 0, "nothing was sent");
}

/// Starts the program as a shell does in the foreground: Ctrl-C reaches it and all processes that it starts.
fn in_foreground(mut command: std::process::Command) -> (Child, impl Fn()) {
    use std::os::unix::process::CommandExt as _;
    let child = command.process_group(0).spawn().unwrap();
    let group = crate::support::pid(child.id());
    (child, move || rustix::process::kill_process_group(group, Signal::INT).unwrap())
}

#[test]
fn ctrl_c_in_the_editor_leaves_config_edit_running() {
    let idempost = Idempost::new().config("");
    let editor = idempost.script(
        "editor",
        "trap 'echo retries = 9 >> \"$1\"; touch done' INT\ntouch ready\nwhile [ ! -e done ]; do sleep 0.05; done\nexit 0",
    );
    let mut command = idempost.command();
    command.args(["config", "edit"]).env("EDITOR", editor);
    let (child, interrupt) = in_foreground(command);
    wait_until("the editor runs", || idempost.home().join("ready").exists());
    interrupt();
    child.finish().ok();
    assert_eq!(idempost.read(".config/idempost/config.toml"), "retries = 9\n");
    let left = std::fs::read_dir(idempost.config_file().parent().unwrap()).unwrap();
    let left: Vec<_> =
        left.map(|entry| entry.unwrap().file_name()).filter(|name| name != "config.lock").collect();
    assert_eq!(left, ["config.toml"]);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_an_endless_filter_with_the_code_of_an_interrupt() {
    let (_service, idempost) = Service::with_program();
    let mut command = idempost.command();
    command.args(["emails", "list", "--jq", "last(range(1e15))"]);
    let (child, interrupt) = in_foreground(command);
    let (mut id, mut burns) = (None, false);
    wait_until("the filter runs", || {
        id = children(child.id()).into_iter().next();
        let status = id.as_ref().and_then(|id| std::fs::read_to_string(format!("/proc/{id}/stat")).ok());
        // The CPU time it has spent in user mode, in ticks.
        burns = status
            .and_then(|stat| stat.split(' ').nth(13)?.parse::<u64>().ok())
            .is_some_and(|ticks| ticks > 20);
        burns
    });
    interrupt();
    let ran = child.finish();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{ran:?}");
    assert!(!ran.stderr.contains("nests too deeply"), "{ran:?}");
    wait_until("the filter has ended", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.as_ref().unwrap()));
        stat.is_err() || stat.unwrap().contains(") Z")
    });
}

#[test]
fn a_filter_ends_with_the_program_that_started_it() {
    // As if the program had started it and been killed: only its end of the pipe closes.
    let idempost = Idempost::new();
    let mut command = idempost.command();
    let mut filter = command.args(["__jq", "last(range(1e15))"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = filter.stdin.take().unwrap();
    stdin.write_all(b"{\"document\":{},\"terminal\":false}\n").unwrap();
    drop(stdin);
    assert_eq!(crate::support::exit_code(&mut filter), Some(0));
}

fn newest_email(service: &Service) -> String {
    service.mails()[0].email_id.clone()
}

/// A send whose response doesn't arrive, ended by a signal.
fn interrupted(service: &Service, flags: &[&str]) -> Ran {
    let before = service.asked();
    let idempost = service.idempost();
    let child = idempost.spawn(&(SEND, flags));
    wait_until("the service has the request", || service.asked() > before);
    signal(&child, Signal::INT);
    child.finish()
}

fn newest_key(service: &Service) -> String {
    service.requests().last().unwrap().headers["idempotency-key"].to_str().unwrap().to_owned()
}

#[test]
fn quiet_does_not_hide_the_idempotency_key_of_an_interrupted_send() {
    let service = Service::start();
    service.faults().add(Rule::new(Action::Delay(Duration::from_mins(1))).always());
    for flags in [&["-q"][..], &["--idempotency-key", "order-17", "-q"]] {
        let ran = interrupted(&service, flags).exits(130);
        ran.says(&[&newest_key(&service)]);
    }
    for flags in [&["--json"][..], &["--json", "-q"], &["-o", "ndjson", "--jq", ".id"]] {
        let error = interrupted(&service, flags).last_error();
        has(&error, &json!({"outcome": "unknown", "idempotency_key": newest_key(&service)}));
    }
}

#[test]
fn an_interrupted_import_reports_its_progress() {
    let addresses: Vec<_> = (0..250).map(|n| format!("person{n}@example.com")).collect();
    let addresses = addresses.join("\n");
    for (arguments, path, first, progress) in [
        (&["contacts", "import", "people.csv", "--concurrency", "1"][..], "/contacts", 3, "3 of 250 rows"),
        (&["suppressions", "import", "people.csv"], "/suppressions/batch/add", 2, "200 of 250 addresses"),
    ] {
        let service = Service::start();
        let delay = Rule::new(Action::Delay(Duration::from_mins(1)));
        service.faults().add(delay.on_request(Method::POST, path).skip_first(first));
        let idempost = service.idempost();
        idempost.write("people.csv", format!("email\n{addresses}"));
        let child = idempost.spawn(arguments);
        let sent = || service.requests().iter().filter(|request| request.path == path).count();
        wait_until("a request is in flight", || sent() > first);
        signal(&child, Signal::INT);
        child.finish().says(&[progress, "run the same command again"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_finished_import_that_cannot_be_printed_reports_its_result() {
    let (_service, idempost) = Service::with_program();
    idempost.write("people.csv", "email\nada@example.com\n");
    for (noun, result) in [("contacts", "1 written"), ("suppressions", "1 addresses are on")] {
        idempost.run_to(full_disk(), &[noun, "import", "people.csv"]).exits(1).says(&[result]);
    }
}

#[test]
fn a_signal_during_a_retry_delay_reports_the_outcome_so_far() {
    for (status, stated, repeated) in
        [(429, "the service rejected the request", false), (503, "may have been accepted", true)]
    {
        let service = Service::start();
        let answer = Action::http_response(status, "{}").header("retry-after", "60");
        service.faults().add(Rule::new(answer).always());
        let idempost = service.idempost();
        let mut child = idempost.spawn(&(SEND, ["--timeout", "10m"]));
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut shown = String::new();
        while !shown.contains("retrying in") {
            assert!(stderr.read_line(&mut shown).unwrap() > 0, "{shown}");
        }
        signal(&child, Signal::INT);
        stderr.read_to_string(&mut shown).unwrap();
        child.finish().exits(130);
        assert!(shown.contains(stated) && shown.contains("next:") == repeated, "{shown}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_accepted_send_that_cannot_be_printed_reports_its_id_and_key() {
    // F-07
    let service = Service::start();
    let keyed = (SEND, "--idempotency-key order-17");
    let to_a_full_disk = |flags: &str| service.idempost().run_to(full_disk(), &(keyed, flags));
    let mut first = String::new();
    for flags in ["", "-q"] {
        let ran = to_a_full_disk(flags).exits(1);
        // With the idempotency key, all of them send one email.
        first = newest_email(&service);
        ran.says(&[&first, "order-17"]);
    }
    let filtered = service.run(&(SEND, "--json --jq '.id|keys'"));
    let newest = newest_email(&service);
    for (ran, id) in [(filtered, &newest), (to_a_full_disk("--json"), &first)] {
        let error = ran.last_error();
        has(&error, &json!({"outcome": "accepted", "ids": [id]}));
        assert!(error["idempotency_key"].is_string(), "{error}");
    }
    // F-07: a pipe without a reader is no error.
    for flags in ["", "-q", "--json"] {
        let ran = service.idempost().run_to(closed_pipe(), &(keyed, flags)).exits(0);
        ran.says(&[&first, "order-17"]);
    }
}

#[test]
fn without_standard_streams_an_email_is_sent_once() {
    // F-07
    let service = Service::start();
    for (redirections, shows_id) in
        [("2>&-", false), (">&-", true), ("> /dev/null", false), (">&- 2>&-", false), ("<&- >&- 2>&-", false)]
    {
        let before = service.mails().len();
        let idempost = service.idempost();
        let script = format!("exec \"$0\" \"$@\" --quiet {redirections}");
        let ran = idempost.through(&script).args(SEND).finish().exits(0);
        assert_eq!(service.mails().len(), before + 1, "{redirections}");
        assert_eq!(ran.stderr.contains(&newest_email(&service)), shows_id, "{redirections}: {ran:?}");
    }
}

#[test]
fn a_batch_to_a_closed_pipe_still_reports_rejected_emails() {
    // F-07
    let service = Service::start().unjudged();
    let batch = r#"[{"from":"hi@acme.test","to":"ada@example.com","subject":"Hi","text":"x"},
                    {"from":"hi@acme.test","to":"not an address","subject":"Hi","text":"x"}]"#;
    let idempost = service.idempost();
    let mut command = idempost.command();
    command.args(["-q", "emails", "batch", "--permissive", "-"]).stdout(closed_pipe());
    let ran = finish_with(&mut command, batch).exits(10);
    ran.says(&[&newest_email(&service), "1 email rejected, 1 email accepted\n  /1: "]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_api_key_that_cannot_be_shown_is_revoked() {
    let service = Service::start();
    let create = |flags: &str, stdout: Stdio| {
        service.idempost().run_to(stdout, &("api-keys create --name Lost", flags))
    };
    let names = || service.run("api-keys list --columns name").ok();
    let before = names();
    for (flags, stdout) in
        [("", full_disk().into()), ("-q", closed_pipe().into()), ("--json --jq '.id|keys'", Stdio::piped())]
    {
        create(flags, stdout).exits(1).says(&["was revoked"]).hides(&["sb_"]);
    }
    assert_eq!(names(), before);
    let broken = Rule::new(Action::http_response(500, "broken"));
    service.faults().add(broken.on_request(Method::DELETE, "/api-keys/{id}").always());
    create("", full_disk().into()).says(&["idempost api-keys delete "]);
}

#[test]
fn an_unbounded_filter_ends_with_an_error_and_not_with_the_program() {
    // F-08
    let idempost = Idempost::new();
    let unbounded = [
        "def f: [f]; f",
        "def f: 1+f; f",
        "def f: f|f; f",
        "reduce range(300000) as $i (0; [.])",
        "[range(1000000000) | \"x\" * 1000000]",
        "\"x\" * 10000000000",
    ];
    concurrently(unbounded, |expression| {
        let ran = idempost.run(&["--sandbox", "emails", "list", "--jq", expression]);
        ran.exits(1).says(&["the filter nests too deeply or needs too much memory"]);
    });
    let nested =
        ["(".repeat(8_000) + "." + ")".repeat(8_000).as_str(), ".|".repeat(8_000) + ".", ".a".repeat(8_000)];
    concurrently(nested, |expression| {
        let ran = idempost.run(&["--sandbox", "emails", "list", "--jq", &expression]);
        assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    });
    let ran = idempost.run(&["--sandbox", "emails", "list", "--jq", &".a".repeat(10_000)]);
    assert!(ran.fails(2).contains("at most 16384 bytes (found 20000)"));
    let ran = idempost.run("--sandbox emails list --jq 'def twice: .,.; .object | twice, @base64'");
    assert_eq!(ran.ok(), "list\nlist\nbGlzdA==\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_low_limit_of_open_files_is_raised_or_reported() {
    // F-08
    let idempost = Idempost::new();
    let program = env!("CARGO_BIN_EXE_idempost");
    for limit in [6, 8, 11, 12] {
        idempost.shell(&format!("ulimit -S -n {limit}; {program} --sandbox emails list")).ok();
        let ran = idempost.shell(&format!("ulimit -n {limit}; {program} --sandbox emails list"));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("ulimit -n 64"), "{ran:?}");
    }
}

#[test]
fn a_typed_api_key_is_not_echoed() {
    let service = Service::start();
    for flags in [&[][..], &["-q"]] {
        let login = [&["auth", "login", "--with-token", "--store", "file"], flags].concat();
        let mut session = crate::at_a_terminal::run(service.idempost(), &login);
        session.pty.exp_string("API key (input is hidden): ").unwrap();
        session.pty.send_line("sb_sentinel").unwrap();
        let shown = session.pty.exp_eof().unwrap();
        assert!(!shown.contains("sentinel"), "{shown}");
    }
}

#[test]
fn ctrl_c_at_the_terminal_reaches_the_sandboxed_command_once() {
    use idempost_drivers::rexpect::session::spawn_command;
    let idempost = Idempost::new();
    // Standard input isn't a terminal, but the terminal still sends the Ctrl-C.
    let script = "n=0; trap 'n=$((n+1))' INT; echo ready; while [ $n = 0 ]; do sleep 0.05; done; sleep 0.3; echo caught $n";
    idempost.write("count", script);
    let program = env!("CARGO_BIN_EXE_idempost");
    let mut command = idempost.wrapped("sh");
    command.args(["-c", &format!("exec {program} sandbox run -- sh count < /dev/null")]);
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut pty = spawn_command(command, Some(60_000)).unwrap();
    pty.exp_string("ready").unwrap();
    pty.send_control('c').unwrap();
    assert_eq!(pty.exp_regex("caught [0-9]+").unwrap().1, "caught 1");
    pty.exp_eof().unwrap();
}
