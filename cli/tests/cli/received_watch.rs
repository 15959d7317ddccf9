//! `received watch`: prints every email once, oldest first, whatever happens in between.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use idempost_reference_server::Service as Core;
use idempost_reference_server::faults::{Action, Rule};
#[cfg(unix)]
use rustix::process::Signal;

use crate::service::Service;
use crate::support::{Idempost, Limited, Ran, exit_code};
#[cfg(unix)]
use crate::support::{signal, wait_until};

const WATCH: [&str; 6] = ["received", "watch", "--columns", "subject", "--interval", "20ms"];

/// Emails with these numbers arrive.
fn arrive(core: &Core, numbers: std::ops::Range<usize>) {
    for n in numbers {
        let mail = format!("From: ada@example.com\r\nTo: in@acme.test\r\nSubject: no {n}\r\n\r\nHello\r\n");
        core.receive("sb_test", &["in@acme.test"], mail).unwrap();
    }
}

fn subjects(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|n| format!("no {n}")).collect()
}

/// The command with these flags. The columns are for table output.
fn watch<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    let columns = if flags.contains(&"ndjson") { 2..2 } else { 2..4 };
    [&WATCH[..2], &WATCH[columns], &WATCH[4..], flags].concat()
}

fn look(idempost: &Idempost, flags: &[&str]) -> Ran {
    idempost.run(&watch(&[&["--once"], flags].concat()))
}

fn printed(ran: Ran) -> Vec<String> {
    ran.ok().lines().map(str::to_owned).collect()
}

#[test]
fn a_watch_prints_the_columns_of_the_list() {
    let service = Service::start();
    arrive(service.core(), 0..1);
    let listed = service.idempost().run(&["received", "list"]).ok();
    let watched = service.idempost().run(&["received", "watch", "--from-start", "--once"]).ok();
    assert!(listed.contains("no 0"), "{listed}");
    assert_eq!(watched, listed);
}

/// A running watch.
struct Watching {
    child: Child,
    lines: Lines<BufReader<Limited<ChildStdout>>>,
    stderr: Lines<BufReader<Limited<std::process::ChildStderr>>>,
}

impl Watching {
    fn start(idempost: &Idempost, flags: &[&str]) -> Self {
        let mut child = idempost.spawn(&watch(flags));
        let lines = BufReader::new(Limited(child.stdout.take().unwrap())).lines();
        let mut stderr = BufReader::new(Limited(child.stderr.take().unwrap())).lines();
        let first = stderr.next().unwrap().unwrap();
        assert!(first.contains("stop with Ctrl-C"), "{first}");
        Self { child, lines, stderr }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    fn says(&mut self) -> String {
        self.stderr.next().unwrap().unwrap()
    }

    #[cfg(unix)]
    fn end(mut self, which: Signal) -> (Option<i32>, Vec<String>) {
        signal(&self.child, which);
        // Output written before the exit is in the pipe.
        let rest = self.lines.by_ref().map(Result::unwrap).collect();
        (exit_code(&mut self.child), rest)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_email_is_printed_once_oldest_first_over_several_watches() {
    let service = Service::start();
    let idempost = service.idempost();
    arrive(service.core(), 0..3);
    assert_eq!(printed(look(&idempost, &[])), [""; 0], "a first watch starts with new emails");
    arrive(service.core(), 3..5);
    assert_eq!(printed(look(&idempost, &[])), subjects(3..5));
    assert_eq!(printed(look(&idempost, &[])), [""; 0]);
    assert_eq!(printed(look(&idempost, &["--from-start"])), subjects(0..5));
    arrive(service.core(), 5..7);
    assert_eq!(printed(look(&idempost, &["--from-now"])), [""; 0]);
    arrive(service.core(), 7..10);
    assert_eq!(printed(look(&idempost, &["--limit", "1"])), subjects(7..8));
    assert_eq!(printed(look(&idempost, &["--limit", "2"])), subjects(8..10));
    assert_eq!(printed(look(&idempost, &[])), [""; 0]);
}

#[test]
fn an_initially_empty_mailbox_does_not_lose_its_first_email() {
    let service = Service::start();
    let idempost = service.idempost();
    look(&idempost, &[]).ok();
    arrive(service.core(), 0..250);
    assert_eq!(printed(look(&idempost, &[])), subjects(0..250));
    assert_eq!(printed(look(&idempost, &[])), [""; 0]);
}

#[test]
fn a_backlog_of_thousands_is_printed_once_and_completely() {
    let service = Service::start();
    let idempost = service.idempost();
    arrive(service.core(), 0..1);
    look(&idempost, &["--from-now"]).ok();
    arrive(service.core(), 1..3_001);
    let asked = service.asked();
    assert_eq!(printed(look(&idempost, &[])), subjects(1..3_001));
    assert_eq!(service.asked() - asked, 30, "a page has a hundred");
    assert_eq!(printed(look(&idempost, &[])), [""; 0]);
}

#[test]
fn emails_that_arrive_during_paging_are_appended() {
    let service = Service::start();
    let idempost = service.idempost();
    look(&idempost, &[]).ok();
    arrive(service.core(), 0..250);
    let (core, count) = (Arc::downgrade(service.core()), AtomicUsize::new(250));
    service.core().on_request(move |request| {
        let so_many = count.load(Ordering::SeqCst);
        if request.path == "/emails/receiving" && so_many < 1_000 {
            count.fetch_add(30, Ordering::SeqCst);
            arrive(&core.upgrade().unwrap(), so_many..so_many + 30);
        }
    });
    let mut all = printed(look(&idempost, &[]));
    for _ in 0..40 {
        all.extend(printed(look(&idempost, &[])));
    }
    assert_eq!(all, subjects(0..1_000));
}

#[cfg(unix)]
#[test]
fn a_watch_stopped_by_a_signal_exits_with_0_and_is_resumed() {
    let service = Service::start();
    let idempost = service.idempost();
    let mut next = 0;
    for which in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut watching = Watching::start(&idempost, if next == 0 { &["--from-start"] } else { &[] });
        for _ in 0..3 {
            arrive(service.core(), next..next + 2);
            assert_eq!([watching.line(), watching.line()].as_slice(), subjects(next..next + 2), "{which:?}");
            next += 2;
        }
        assert_eq!(watching.end(which), (Some(0), vec![]), "{which:?}");
        arrive(service.core(), next..next + 1);
        assert_eq!(printed(look(&idempost, &[])), subjects(next..next + 1), "{which:?}");
        next += 1;
    }
}

#[cfg(unix)]
#[test]
fn after_a_kill_during_a_backlog_no_email_is_missing() {
    let service = Service::start();
    let idempost = service.idempost();
    look(&idempost, &[]).ok();
    arrive(service.core(), 0..2_000);
    // Whole emails exceed the pipe's capacity, so the kill interrupts the watch.
    let whole = ["-o", "ndjson"];
    let subject = |line: String| {
        let row: serde_json::Value = serde_json::from_str(&line).unwrap();
        row["subject"].as_str().unwrap().to_owned()
    };
    let mut seen = Vec::new();
    for lines in [1, 137, 99, 3, 512] {
        let mut watching = Watching::start(&idempost, &whole);
        let mut printed: Vec<_> = (0..lines).map(|_| watching.line()).collect();
        let (code, rest) = watching.end(Signal::KILL);
        assert_eq!(code, None);
        printed.extend(rest);
        assert!(printed.len() < 1_000, "it should have been killed earlier");
        seen.push(printed.into_iter().map(subject).collect());
    }
    seen.push(printed(look(&idempost, &whole)).into_iter().map(subject).collect::<Vec<_>>());
    let mut next = 0;
    for run in &seen {
        let first: usize = run[0].strip_prefix("no ").unwrap().parse().unwrap();
        assert!(first <= next, "{next} is missing: the next watch started with {first}");
        assert_eq!(*run, subjects(first..first + run.len()), "a watch prints in order");
        next = next.max(first + run.len());
    }
    let all: BTreeSet<_> = seen.iter().flatten().cloned().collect();
    assert_eq!(all.len(), 2_000);
    assert_eq!(printed(look(&idempost, &[])), [""; 0]);
}

#[test]
fn an_outage_is_survived_and_emails_from_it_are_printed() {
    let service = Service::start();
    let idempost = service.idempost().env("IDEMPOST_RETRIES", "0");
    arrive(service.core(), 0..1);
    for action in [
        Action::http_response(503, "busy"),
        Action::http_response(500, "<html>"),
        Action::DropBefore,
        Action::Truncate(3),
        Action::TooMany { retry_after: Some("1".to_owned()) },
    ] {
        let mut watching = Watching::start(&idempost, &["--from-start"]);
        assert_eq!(watching.line(), "no 0");
        let before = service.core().faults().pending();
        service.core().faults().add(Rule::new(action.clone()).on_request(Method::GET, "/emails/receiving"));
        let stderr = watching.says();
        assert!(stderr.contains("retrying in 1 s"), "{action:?}: {stderr}");
        assert!(watching.says().contains("responds again"));
        assert_eq!(service.core().faults().pending(), before);
        arrive(service.core(), 1..2);
        assert_eq!(watching.line(), "no 1", "{action:?}");
        service.core().reset();
        arrive(service.core(), 0..1);
    }
}

#[test]
fn a_permanent_failure_ends_the_watch_with_its_exit_code() {
    let service = Service::start().unjudged();
    let idempost = service.idempost().env("IDEMPOST_RETRIES", "0");
    let refusals =
        [(401, "invalid_access_token", 4), (403, "invalid_api_key", 4), (451, "validation_error", 3)];
    for (status, name, code) in refusals {
        let rule = Rule::new(Action::error(status, name, "no")).on_request(Method::GET, "/emails/receiving");
        service.core().faults().add(rule.skip_first(1));
        let ended = idempost.run(&(WATCH, "--from-start"));
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
    service.core().faults().add(Rule::new(Action::http_response(503, "busy")));
    look(&idempost, &[]).fails(7);
    let keyless = Idempost::new().env("IDEMPOST_BASE_URL", service.base_url());
    keyless.run(&["received", "watch"]).fails(4);
    keyless.env("IDEMPOST_API_KEY", "xx_unknown").run(&["received", "watch", "-q"]).fails(4);
}

#[test]
fn two_watches_cannot_share_a_cursor() {
    let service = Service::start();
    let idempost = service.idempost();
    let mut first = Watching::start(&idempost, &["--from-start"]);
    arrive(service.core(), 0..1);
    assert_eq!(first.line(), "no 0");
    let stderr = idempost.run(&WATCH).fails(1);
    let holder = format!("process {}", first.child.id());
    assert!(stderr.contains(&holder) && stderr.contains("--cursor FILE"), "{stderr}");
    let own = ["--cursor", "own.json", "--from-start"];
    assert_eq!(printed(look(&idempost, &own)), subjects(0..1));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for file in ["own.json", "own.json.lock"] {
            let mode = idempost.home().join(file).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
    }
    drop(first);
    assert_eq!(printed(look(&idempost, &[])), [""; 0], "the lock was released with its holder");
}

#[test]
fn each_profile_and_each_service_has_its_own_cursor() {
    let (one, other) = (Service::start(), Service::start());
    let idempost =
        Idempost::new().env("IDEMPOST_API_KEY", "sb_test").config("[profiles.work]\n[profiles.home]\n");
    arrive(one.core(), 0..2);
    arrive(other.core(), 0..3);
    let look = |service: &Service, profile: &str| {
        let flags = ["--profile", profile, "--base-url", &service.base_url(), "--from-start"];
        printed(look(&idempost, &flags)).len()
    };
    assert_eq!((look(&one, "work"), look(&other, "work"), look(&one, "home")), (2, 3, 2));
    let files: Vec<_> = idempost.home().join(".local/state/idempost/received").read_dir().unwrap().collect();
    assert_eq!(files.len(), 6, "three cursors with a lock each");
    let wrong = ["--cursor", "c.json", "--base-url"];
    idempost.run(&[&WATCH[..], &["--once"], &wrong, &[&one.base_url()]].concat()).ok();
    let stderr = idempost.run(&[&WATCH[..], &["--once"], &wrong, &[&other.base_url()]].concat()).fails(2);
    assert!(stderr.contains("this cursor belongs to"), "{stderr}");
}

#[test]
fn emails_deleted_by_the_service_do_not_make_others_lost() {
    let service = Service::start().unjudged();
    let idempost = service.idempost();
    arrive(service.core(), 0..5);
    assert_eq!(printed(look(&idempost, &["--from-start"])), subjects(0..5));
    service.core().reset();
    assert_eq!(printed(look(&idempost, &[])), [""; 0]);
    arrive(service.core(), 5..155);
    let ran = look(&idempost, &[]);
    assert!(ran.stderr.contains("no longer lists the last printed emails"), "{ran:?}");
    assert_eq!(printed(ran), subjects(5..155));
    let ran = look(&idempost, &[]);
    assert!(!ran.stderr.contains("forgotten"), "{ran:?}");
    assert_eq!(printed(ran), [""; 0]);
}

#[test]
fn an_unreadable_cursor_is_reported_and_not_overwritten() {
    let service = Service::start();
    let idempost = service.idempost();
    arrive(service.core(), 0..1);
    std::fs::write(idempost.home().join("c.json"), "{").unwrap();
    look(&idempost, &["--cursor", "c.json"]).fails_with(1, &["couldn't read the cursor", "--from-now"]);
    assert_eq!(std::fs::read_to_string(idempost.home().join("c.json")).unwrap(), "{");
    assert_eq!(printed(look(&idempost, &["--cursor", "c.json", "--from-start"])), subjects(0..1));
    assert_eq!(printed(look(&idempost, &["--cursor", "c.json"])), [""; 0]);
}

#[test]
fn a_line_lost_in_a_closed_pipe_is_printed_again() {
    let service = Service::start();
    let idempost = service.idempost();
    arrive(service.core(), 0..300);
    let mut child = idempost.spawn(&[&WATCH[..], &["--from-start"]].concat());
    // The reader exits immediately.
    drop(child.stdout.take());
    assert_eq!(exit_code(&mut child), Some(0));
    assert_eq!(printed(look(&idempost, &[])), subjects(0..300));
}

#[test]
fn emails_are_printed_as_json_lines() {
    let service = Service::start();
    let idempost = service.idempost();
    arrive(service.core(), 0..2);
    let lines = printed(idempost.run(&["received", "watch", "--from-start", "--once", "-o", "ndjson"]));
    let rows: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (rows.len(), &rows[1]["subject"], &rows[1]["to"]),
        (2, &"no 1".into(), &serde_json::json!(["in@acme.test"]))
    );
    let filtered = idempost.run("received watch --from-start --once --json --jq .subject");
    assert_eq!(printed(filtered), subjects(0..2));
    assert_eq!(printed(idempost.run(&["--sandbox", "received", "watch", "--once"])), [""; 0]);
}

#[test]
fn an_untrusted_email_cannot_control_the_terminal_or_forge_a_line() {
    // G-01
    let service = Service::start();
    let idempost = service.idempost().env("IDEMPOST_FORCE_TTY", "80").env("NO_COLOR", "1");
    let mail = "From: ada@example.com\r\nTo: in@acme.test\r\n\
        Subject: =?utf-8?Q?a=1B]52;c;ZXZpbA=3D=3D=07=0Aforged=0D=E2=80=AEb=C2=9B2J?=\r\n\r\nHello\r\n";
    service.core().receive("sb_test", &["in@acme.test"], mail).unwrap();
    let watch = ["received", "watch", "--from-start", "--once"];
    for flags in [&[][..], &["--columns", "subject"], &["-o", "tsv"], &["--json"], &["-o", "ndjson"]] {
        let shown = idempost.run(&(&watch, flags)).ok();
        assert!(shown.contains("forged"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\r', '\u{9b}', '\u{202e}']), "{flags:?} {shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("forged")), "{flags:?} {shown:?}");
    }
}

#[cfg(unix)]
#[test]
fn exec_runs_for_every_email_and_a_failed_email_is_retried_by_the_next_watch() {
    let service = Service::start();
    let idempost = service.idempost();
    look(&idempost, &[]).ok();
    arrive(service.core(), 0..3);
    let log = idempost.home().join("log");
    let exec = r#"read -r email; case "$email" in *'"no 1"'*) echo out; [ -e fixed ] || exit 3;; esac
        case "$email" in *'"text"'*"$IDEMPOST_EMAIL_ID"*|*"$IDEMPOST_EMAIL_ID"*'"text"'*) echo "$IDEMPOST_EMAIL_ID" >> log;; esac"#;
    let ran = look(&idempost, &["--exec", exec]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "no 0\n"));
    assert!(
        ran.stderr.contains("exit status: 3") && ran.stderr.contains("starts with this email"),
        "{ran:?}"
    );
    std::fs::write(idempost.home().join("fixed"), "").unwrap();
    let ran = look(&idempost, &["--exec", exec]);
    assert!(ran.stderr.contains("out"), "the command's output goes to standard error: {ran:?}");
    assert_eq!(printed(ran), subjects(1..3));
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 3);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_exec_command_and_its_email_is_retried() {
    let service = Service::start();
    let idempost = service.idempost();
    look(&idempost, &[]).ok();
    arrive(service.core(), 0..1);
    let watching = Watching::start(&idempost, &["--exec", "echo $$ > pid; sleep 600; true"]);
    let file = idempost.home().join("pid");
    let mut pid = None;
    wait_until("the command runs", || {
        pid = std::fs::read_to_string(&file).ok().and_then(|id| id.trim().parse().ok());
        pid.is_some()
    });
    let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
    assert_eq!(watching.end(Signal::TERM), (Some(0), Vec::new()));
    wait_until("the command ends", || rustix::process::test_kill_process(pid).is_err());
    assert_eq!(printed(look(&idempost, &["--exec", "cat > /dev/null"])), subjects(0..1));
}
