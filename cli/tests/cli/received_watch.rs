//! `received watch`: prints every email once, oldest first, whatever happens in between.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use idempost_reference_server::Service as Core;
use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;

use serde_json::json;

use crate::service::Service;
use crate::support::{
    CommandLine, Finish as _, Idempost, Lines, Ran, Running, concurrently, exit_code, has, lines, mode,
    shows, signal, wait_until,
};

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

/// A service, and the program that watches the received emails.
struct Mailbox {
    service: Service,
    idempost: Idempost,
}

impl Mailbox {
    fn new() -> Self {
        Self::of(Service::start())
    }

    fn of(service: Service) -> Self {
        Self { idempost: service.idempost(), service }
    }

    fn env(self, name: &str, value: &str) -> Self {
        Self { idempost: self.idempost.env(name, value), ..self }
    }

    fn arrive(&self, numbers: std::ops::Range<usize>) {
        arrive(self.service.core(), numbers);
    }

    fn look(&self, flags: &[&str]) -> Ran {
        look(&self.idempost, flags)
    }

    fn printed(&self, flags: &[&str]) -> Vec<String> {
        printed(self.look(flags))
    }

    fn watch(&self, flags: &[&str]) -> Watching {
        Watching::of(&self.idempost, &watch(flags))
    }
}

fn printed(ran: Ran) -> Vec<String> {
    ran.ok().lines().map(str::to_owned).collect()
}

#[test]
fn a_watch_prints_the_columns_of_the_list() {
    let service = Service::start();
    arrive(service.core(), 0..1);
    let listed = service.run(&["received", "list"]).ok();
    let watched = service.run(&["received", "watch", "--from-start", "--once"]).ok();
    assert!(listed.contains("no 0"), "{listed}");
    assert_eq!(watched, listed);
}

/// A running command that follows a list.
pub(crate) struct Watching {
    /// Its first message.
    pub(crate) note: String,
    child: Running,
    stdout: Lines,
    stderr: Lines,
}

impl Watching {
    pub(crate) fn of(idempost: &Idempost, line: &(impl CommandLine + ?Sized)) -> Self {
        let mut child = Running(idempost.spawn(line));
        let (stdout, mut stderr) = (lines(&mut child.stdout), lines(&mut child.stderr));
        let note = stderr.next().unwrap();
        shows(&note, &["stop with Ctrl-C"]);
        Self { note, child, stdout, stderr }
    }

    pub(crate) fn line(&mut self) -> String {
        self.stdout.next().unwrap()
    }

    fn says(&mut self) -> String {
        self.stderr.next().unwrap()
    }

    pub(crate) fn end(mut self, which: Signal) -> (Option<i32>, Vec<String>) {
        signal(&self.child, which);
        // Output written before the exit is in the pipe.
        let rest = self.stdout.by_ref().collect();
        (exit_code(&mut self.child), rest)
    }
}

#[test]
fn each_email_is_printed_once_oldest_first_over_several_watches() {
    let mailbox = Mailbox::new();
    mailbox.arrive(0..3);
    assert_eq!(mailbox.printed(&[]), [""; 0], "a first watch starts with new emails");
    mailbox.arrive(3..5);
    assert_eq!(mailbox.printed(&[]), subjects(3..5));
    assert_eq!(mailbox.printed(&[]), [""; 0]);
    assert_eq!(mailbox.printed(&["--from-start"]), subjects(0..5));
    mailbox.arrive(5..7);
    assert_eq!(mailbox.printed(&["--from-now"]), [""; 0]);
    mailbox.arrive(7..10);
    assert_eq!(mailbox.printed(&["--limit", "1"]), subjects(7..8));
    assert_eq!(mailbox.printed(&["--limit", "2"]), subjects(8..10));
    assert_eq!(mailbox.printed(&[]), [""; 0]);
}

#[test]
fn an_initially_empty_mailbox_does_not_lose_its_first_email() {
    let mailbox = Mailbox::new();
    mailbox.look(&[]).ok();
    mailbox.arrive(0..250);
    assert_eq!(mailbox.printed(&[]), subjects(0..250));
    assert_eq!(mailbox.printed(&[]), [""; 0]);
}

#[test]
fn a_backlog_of_thousands_is_printed_once_and_completely() {
    let mailbox = Mailbox::new();
    mailbox.arrive(0..1);
    mailbox.look(&["--from-now"]).ok();
    mailbox.arrive(1..3_001);
    let asked = mailbox.service.asked();
    assert_eq!(mailbox.printed(&[]), subjects(1..3_001));
    assert_eq!(mailbox.service.asked() - asked, 30, "a page has a hundred");
    assert_eq!(mailbox.printed(&[]), [""; 0]);
}

#[test]
fn emails_that_arrive_during_paging_are_appended() {
    let mailbox = Mailbox::new();
    mailbox.look(&[]).ok();
    mailbox.arrive(0..250);
    let (core, count) = (Arc::downgrade(mailbox.service.core()), AtomicUsize::new(250));
    mailbox.service.core().on_request(move |request| {
        let so_many = count.load(Ordering::SeqCst);
        if request.path == "/emails/receiving" && so_many < 1_000 {
            count.fetch_add(30, Ordering::SeqCst);
            arrive(&core.upgrade().unwrap(), so_many..so_many + 30);
        }
    });
    let mut all = mailbox.printed(&[]);
    for _ in 0..40 {
        all.extend(mailbox.printed(&[]));
    }
    assert_eq!(all, subjects(0..1_000));
}

#[test]
fn a_watch_stopped_by_a_signal_exits_with_0_and_is_resumed() {
    let mailbox = Mailbox::new();
    let mut next = 0;
    for which in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut watching = mailbox.watch(if next == 0 { &["--from-start"] } else { &[] });
        for _ in 0..3 {
            mailbox.arrive(next..next + 2);
            assert_eq!([watching.line(), watching.line()].as_slice(), subjects(next..next + 2), "{which:?}");
            next += 2;
        }
        assert_eq!(watching.end(which), (Some(0), vec![]), "{which:?}");
        mailbox.arrive(next..next + 1);
        assert_eq!(mailbox.printed(&[]), subjects(next..next + 1), "{which:?}");
        next += 1;
    }
}

#[test]
fn after_a_kill_during_a_backlog_no_email_is_missing() {
    let mailbox = Mailbox::new();
    mailbox.look(&[]).ok();
    mailbox.arrive(0..2_000);
    // Whole emails exceed the pipe's capacity, so the kill interrupts the watch.
    let whole = ["-o", "ndjson"];
    let subject = |line: String| {
        let row: serde_json::Value = serde_json::from_str(&line).unwrap();
        row["subject"].as_str().unwrap().to_owned()
    };
    let mut seen = Vec::new();
    for lines in [1, 137, 99, 3, 512] {
        let mut watching = mailbox.watch(&whole);
        let mut printed: Vec<_> = (0..lines).map(|_| watching.line()).collect();
        let (code, rest) = watching.end(Signal::KILL);
        assert_eq!(code, None);
        printed.extend(rest);
        assert!(printed.len() < 1_000, "it should have been killed earlier");
        seen.push(printed.into_iter().map(subject).collect());
    }
    seen.push(mailbox.printed(&whole).into_iter().map(subject).collect::<Vec<_>>());
    let mut next = 0;
    for run in &seen {
        let first: usize = run[0].strip_prefix("no ").unwrap().parse().unwrap();
        assert!(first <= next, "{next} is missing: the next watch started with {first}");
        assert_eq!(*run, subjects(first..first + run.len()), "a watch prints in order");
        next = next.max(first + run.len());
    }
    let all: BTreeSet<_> = seen.iter().flatten().cloned().collect();
    assert_eq!(all.len(), 2_000);
    assert_eq!(mailbox.printed(&[]), [""; 0]);
}

#[test]
fn an_outage_is_survived_and_emails_from_it_are_printed() {
    let outages = [
        Action::http_response(503, "busy"),
        Action::http_response(500, "<html>"),
        Action::DropBefore,
        Action::Truncate(3),
        Action::TooMany { retry_after: Some("1".to_owned()) },
    ];
    concurrently(outages, |action| {
        let mailbox = Mailbox::of(Service::start()).env("IDEMPOST_RETRIES", "0");
        mailbox.arrive(0..1);
        let mut watching = mailbox.watch(&["--from-start"]);
        assert_eq!(watching.line(), "no 0");
        let before = mailbox.service.faults().pending();
        mailbox.service.faults().add(Rule::new(action.clone()).on_request(Method::GET, "/emails/receiving"));
        for note in ["retrying in 1 s", "responds again"] {
            shows(&watching.says(), &[note]);
        }
        assert_eq!(mailbox.service.faults().pending(), before);
        mailbox.arrive(1..2);
        assert_eq!(watching.line(), "no 1", "{action:?}");
    });
}

#[test]
fn a_permanent_failure_ends_the_watch_with_its_exit_code() {
    let mailbox = Mailbox::of(Service::start().unjudged()).env("IDEMPOST_RETRIES", "0");
    let refusals =
        [(401, "invalid_access_token", 4), (403, "invalid_api_key", 4), (451, "validation_error", 3)];
    for (status, name, code) in refusals {
        let rule = Rule::new(Action::error(status, name, "no")).on_request(Method::GET, "/emails/receiving");
        mailbox.service.faults().add(rule.skip_first(1));
        mailbox.idempost.run(&(WATCH, "--from-start")).exits(code);
    }
    mailbox.service.faults().add(Rule::new(Action::http_response(503, "busy")));
    mailbox.look(&[]).fails(7);
    let keyless = Idempost::new().env("IDEMPOST_BASE_URL", mailbox.service.base_url());
    keyless.run(&["received", "watch"]).fails(4);
    keyless.env("IDEMPOST_API_KEY", "xx_unknown").run(&["received", "watch", "-q"]).fails(4);
}

#[test]
fn two_watches_cannot_share_a_cursor() {
    let mailbox = Mailbox::new();
    let mut first = mailbox.watch(&["--from-start"]);
    mailbox.arrive(0..1);
    assert_eq!(first.line(), "no 0");
    let holder = format!("process {}", first.child.id());
    mailbox.idempost.run(&WATCH).fails_with(1, &[&holder, "--cursor FILE"]);
    let own = ["--cursor", "own.json", "--from-start"];
    assert_eq!(mailbox.printed(&own), subjects(0..1));
    for file in ["own.json", "own.json.lock"] {
        assert_eq!(mode(mailbox.idempost.home().join(file)), 0o600, "{file}");
    }
    drop(first);
    assert_eq!(mailbox.printed(&[]), [""; 0], "the lock was released with its holder");
}

#[test]
fn each_profile_and_each_service_has_its_own_cursor() {
    let (one, other) = (Service::start(), Service::start());
    let idempost = Idempost::at("", "sb_test").config("[profiles.work]\n[profiles.home]\n");
    arrive(one.core(), 0..2);
    arrive(other.core(), 0..3);
    let look = |service: &Service, profile: &str| {
        let flags = ["--profile", profile, "--base-url", &service.base_url(), "--from-start"];
        printed(look(&idempost, &flags)).len()
    };
    assert_eq!((look(&one, "work"), look(&other, "work"), look(&one, "home")), (2, 3, 2));
    let files: Vec<_> = idempost.home().join(".local/state/idempost/received").read_dir().unwrap().collect();
    assert_eq!(files.len(), 6, "three cursors with a lock each");
    let look_once = |service: &Service| {
        idempost.run(&((WATCH, "--once --cursor c.json --base-url"), [service.base_url()]))
    };
    look_once(&one).ok();
    look_once(&other).fails_with(2, &["this cursor belongs to"]);
}

#[test]
fn the_position_moves_with_a_renamed_profile() {
    let service = Service::start();
    let idempost = Idempost::at("", "sb_test").config("[profiles.work]\nretries = 1\n[profiles.home]\n");
    let look = |profile: &str| look(&idempost, &["--profile", profile, "--base-url", &service.base_url()]);
    arrive(service.core(), 0..1);
    for profile in ["work", "home"] {
        assert_eq!(printed(look(profile)), [""; 0]);
    }
    arrive(service.core(), 1..3);
    idempost.run("auth rename work acme").ok();
    assert_eq!(printed(look("acme")), subjects(1..3));
    assert_eq!(printed(look("home")), subjects(1..3));
}

#[test]
fn the_position_of_another_account_is_rejected() {
    let mailbox = Mailbox::new();
    let core = mailbox.service.core();
    core.receive("sb_other", &["in@acme.test"], "Subject: theirs\r\n\r\nHello\r\n").unwrap();
    mailbox.arrive(0..2);
    assert_eq!(mailbox.printed(&["--from-start"]), subjects(0..2));
    let with_key = |key: &str, flags: &str| {
        mailbox
            .idempost
            .command()
            .args((&watch(&["--once"]), flags).words())
            .env("IDEMPOST_API_KEY", key)
            .finish()
    };
    // Their email is older than the last printed one, and would never be printed.
    with_key("sb_other", "").fails_with(2, &["was stored with another credential", "--cursor FILE"]);
    with_key("sb_other", "--cursor theirs.json --from-start").ok_with(&[]);
    // Another key of the same account continues.
    mailbox.arrive(2..3);
    let rotated = mailbox.service.done("api-keys create --name Rotated");
    assert_eq!(printed(with_key(&rotated, "")), subjects(2..3));
    assert_eq!(mailbox.printed(&[]), Vec::<String>::new());
}

#[test]
fn the_position_of_another_account_s_empty_mailbox_is_rejected() {
    let mailbox = Mailbox::new();
    let other = Idempost::at(mailbox.service.base_url(), "sb_other");
    let theirs = other.home().join("c.json");
    let cursor = ["--cursor", theirs.to_str().unwrap()];
    look(&other, &cursor).ok_with(&[]);
    mailbox.look(&cursor).ok_with(&[]);
    mailbox.arrive(0..2);
    mailbox.look(&cursor).fails_with(2, &["was stored with another credential", "--from-start"]);
    assert_eq!(mailbox.printed(&[&cursor[..], &["--from-start"]].concat()), subjects(0..2));
}

#[test]
fn emails_deleted_by_the_service_do_not_make_others_lost() {
    let mailbox = Mailbox::of(Service::start().unjudged());
    mailbox.arrive(0..5);
    assert_eq!(mailbox.printed(&["--from-start"]), subjects(0..5));
    mailbox.service.core().reset();
    assert_eq!(mailbox.printed(&[]), [""; 0]);
    mailbox.arrive(5..155);
    let ran = mailbox.look(&[]).says(&["no longer lists the last printed emails"]);
    assert_eq!(printed(ran), subjects(5..155));
    assert_eq!(printed(mailbox.look(&[]).hides(&["forgotten"])), [""; 0]);
}

#[test]
fn an_unreadable_cursor_is_reported_and_not_overwritten() {
    let mailbox = Mailbox::new();
    mailbox.arrive(0..1);
    mailbox.idempost.write("c.json", "{");
    mailbox.look(&["--cursor", "c.json"]).fails_with(1, &["couldn't read the cursor", "--from-now"]);
    assert_eq!(mailbox.idempost.read("c.json"), "{");
    assert_eq!(mailbox.printed(&["--cursor", "c.json", "--from-start"]), subjects(0..1));
    assert_eq!(mailbox.printed(&["--cursor", "c.json"]), [""; 0]);
}

#[test]
fn a_line_lost_in_a_closed_pipe_is_printed_again() {
    let mailbox = Mailbox::new();
    mailbox.arrive(0..300);
    let mut child = mailbox.idempost.spawn(&(WATCH, "--from-start"));
    // The reader exits immediately.
    drop(child.stdout.take());
    assert_eq!(exit_code(&mut child), Some(0));
    assert_eq!(mailbox.printed(&[]), subjects(0..300));
}

#[test]
fn a_watch_without_new_emails_ends_with_its_reader() {
    let mailbox = Mailbox::new();
    for line in ["received watch", "emails tail", "logs tail"] {
        let mut child = mailbox.idempost.spawn(&(line, "--interval 1h"));
        drop(child.stdout.take());
        assert_eq!(exit_code(&mut child), Some(0), "{line}");
    }
    let position = mailbox.idempost.home().join(".local/state/idempost/received");
    assert!(position.exists());
}

#[test]
fn emails_are_printed_as_json_lines() {
    let mailbox = Mailbox::new();
    mailbox.arrive(0..2);
    let lines = printed(mailbox.idempost.run("received watch --from-start --once -o ndjson"));
    assert_eq!(lines.len(), 2);
    let row = serde_json::from_str(&lines[1]).unwrap();
    has(&row, &json!({"subject": "no 1", "to": ["in@acme.test"]}));
    let filtered = mailbox.idempost.run("received watch --from-start --once --json --jq .subject");
    assert_eq!(printed(filtered), subjects(0..2));
    assert_eq!(printed(mailbox.idempost.run(&["--sandbox", "received", "watch", "--once"])), [""; 0]);
}

#[test]
fn an_untrusted_email_cannot_control_the_terminal_or_forge_a_line() {
    // G-01
    let mailbox = Mailbox::of(Service::start()).env("IDEMPOST_FORCE_TTY", "80").env("NO_COLOR", "1");
    let mail = "From: ada@example.com\r\nTo: in@acme.test\r\n\
        Subject: =?utf-8?Q?a=1B]52;c;ZXZpbA=3D=3D=07=0Aforged=0D=E2=80=AEb=C2=9B2J?=\r\n\r\nHello\r\n";
    mailbox.service.core().receive("sb_test", &["in@acme.test"], mail).unwrap();
    let watch = ["received", "watch", "--from-start", "--once"];
    for flags in [&[][..], &["--columns", "subject"], &["-o", "tsv"], &["--json"], &["-o", "ndjson"]] {
        let shown = mailbox.idempost.run(&(&watch, flags)).ok_with(&["forged"]);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\r', '\u{9b}', '\u{202e}']), "{flags:?} {shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("forged")), "{flags:?} {shown:?}");
    }
}

#[test]
fn exec_runs_for_every_email_and_a_failed_email_is_retried_by_the_next_watch() {
    let mailbox = Mailbox::new();
    mailbox.look(&[]).ok();
    mailbox.arrive(0..3);
    let exec = r#"read -r email; case "$email" in *'"no 1"'*) echo out; [ -e fixed ] || exit 3;; esac
        case "$email" in *'"text"'*"$IDEMPOST_EMAIL_ID"*|*"$IDEMPOST_EMAIL_ID"*'"text"'*) echo "$IDEMPOST_EMAIL_ID" >> log;; esac"#;
    let ran = mailbox.look(&["--exec", exec]).exits(1).says(&["exit status: 3", "starts with this email"]);
    assert_eq!(ran.stdout, "no 0\n");
    mailbox.idempost.write("fixed", "");
    // The command's output goes to standard error.
    let ran = mailbox.look(&["--exec", exec]).says(&["out"]);
    assert_eq!(printed(ran), subjects(1..3));
    assert_eq!(mailbox.idempost.read("log").lines().count(), 3);
}

#[test]
fn a_signal_ends_the_exec_command_and_its_email_is_retried() {
    let mailbox = Mailbox::new();
    mailbox.look(&[]).ok();
    mailbox.arrive(0..1);
    let watching = mailbox.watch(&["--exec", "echo $$ > pid; sleep 600; true"]);
    let file = mailbox.idempost.home().join("pid");
    let mut pid = None;
    wait_until("the command runs", || {
        pid = std::fs::read_to_string(&file).ok().and_then(|id| id.trim().parse().ok());
        pid.is_some()
    });
    let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
    assert_eq!(watching.end(Signal::TERM), (Some(0), Vec::new()));
    wait_until("the command ends", || rustix::process::test_kill_process(pid).is_err());
    assert_eq!(mailbox.printed(&["--exec", "cat > /dev/null"]), subjects(0..1));
}
