//! The program at a terminal, with a user who reads and types.

use std::process::{Command, Stdio};

use idempost_drivers::rexpect::process::WaitStatus;
use idempost_drivers::rexpect::session::{PtySession, spawn_command};

use crate::service::Service;
use crate::support::{CommandLine, Idempost};

/// The program, its home folder, and its terminal.
pub(crate) struct Session {
    pub(crate) pty: PtySession,
    pub(crate) idempost: Idempost,
}

pub(crate) fn run(idempost: Idempost, line: &(impl CommandLine + ?Sized)) -> Session {
    let mut command = idempost.command();
    command.args(line.words());
    start(idempost, command)
}

/// Starts another command of this program.
pub(crate) fn start(idempost: Idempost, mut command: Command) -> Session {
    // The terminal serves as all three streams.
    command.env("TERM", "xterm").stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    Session { pty: spawn_command(command, Some(60_000)).unwrap(), idempost }
}

pub(crate) fn code(session: &Session) -> i32 {
    match session.pty.process().wait().unwrap() {
        WaitStatus::Exited(_, code) => code,
        other => panic!("{other:?}"),
    }
}

fn segment(service: &Service) -> String {
    service.run(&["segments", "create", "Readers"]).ok().trim().to_owned()
}

fn exists(service: &Service, id: &str) -> bool {
    service.run(&["segments", "list"]).ok().contains(id)
}

#[test]
fn a_deletion_is_confirmed_at_a_terminal() {
    let service = Service::start();
    let id = segment(&service);
    for (verb, answer, left, exit) in [("delete", "n", true, 130), ("rm", "y", false, 0)] {
        let mut session = run(service.idempost(), &["segments", verb, &id]);
        session.pty.exp_string(&format!("Delete segment {id}? [y/N] ")).unwrap();
        assert!(exists(&service, &id));
        session.pty.send_line(answer).unwrap();
        session.pty.exp_eof().unwrap();
        assert_eq!((code(&session), exists(&service, &id)), (exit, left), "{answer}");
    }
    let contact =
        run(service.idempost(), &["contacts", "rm", "ada@example.com"]).pty.exp_string("? [y/N] ").unwrap();
    assert!(contact.starts_with("As profile `default` with the credential of IDEMPOST_API_KEY"), "{contact}");
    assert!(contact.contains("\nDelete contact ada"), "{contact}");
}

#[test]
fn revoking_a_grant_is_confirmed_at_a_terminal() {
    let service = Service::start();
    let mut session = run(service.idempost(), &["auth", "grants", "revoke", "650e8400"]);
    session.pty.exp_string("Revoke grant 650e8400? The application will lose access [y/N] ").unwrap();
    let asked = service.asked();
    session.pty.send_line("n").unwrap();
    session.pty.exp_eof().unwrap();
    assert_eq!((code(&session), service.asked()), (130, asked));
}

#[test]
fn a_deletion_with_yes_no_input_quiet_json_or_in_ci_does_not_prompt() {
    let service = Service::start();
    for flag in ["--yes", "--no-input", "--quiet", "--json", "CI"] {
        let id = segment(&service);
        let mut arguments = vec!["segments", "delete", &id];
        let idempost = if flag == "CI" {
            service.idempost().env("CI", "true")
        } else {
            arguments.push(flag);
            service.idempost()
        };
        let mut session = run(idempost, &arguments);
        let printed = session.pty.exp_eof().unwrap();
        assert!(!printed.contains("[y/N]"), "{flag}: {printed}");
        assert_eq!((code(&session), exists(&service, &id)), (0, false), "{flag}");
    }
    let id = segment(&service);
    service.run(&["segments", "rm", &id]).ok();
    assert!(!exists(&service, &id));
}

#[test]
fn only_a_long_table_at_a_terminal_is_paged() {
    let service = Service::start();
    for n in 0..30 {
        service.run(&["segments", "create", &format!("Segment {n}")]).ok();
    }
    let printed = |idempost: Idempost, arguments: &[&str]| {
        let mut session = run(idempost, arguments);
        let printed = session.pty.exp_eof().unwrap();
        assert_eq!(code(&session), 0, "{printed}");
        printed
    };
    let with = |name: &str, command: &str| service.idempost().env(name, command);
    let list = ["segments", "list", "--all"];
    let paged = printed(with("PAGER", "sed s/^/paged:/"), &list);
    assert_eq!(paged.matches("paged:").count(), 31, "{paged}");
    let first = with("PAGER", "false").env("IDEMPOST_PAGER", "sed s/^/first:/");
    assert!(printed(first, &list).contains("first:"));
    assert!(printed(with("PAGER", "no-such-pager"), &list).contains("Segment 29"), "printed without it");
    for direct in [&["segments", "list", "--limit", "3"][..], &["segments", "list", "--all", "--no-pager"]] {
        let shown = printed(with("PAGER", "sed s/^/paged:/"), direct);
        assert!(!shown.contains("paged:") && shown.contains("Segment 29"), "{shown}");
    }
    let in_ci = with("PAGER", "sed s/^/paged:/").env("CI", "1");
    assert!(!printed(in_ci, &list).contains("paged:"));
    let piped = with("PAGER", "sed s/^/paged:/").run(&list).ok();
    assert!(!piped.contains("paged:") && piped.lines().count() == 30, "{piped}");
}

#[test]
fn ctrl_c_reaches_the_open_pager() {
    let service = Service::start();
    for n in 0..30 {
        service.run(&["segments", "create", &format!("Segment {n}")]).ok();
    }
    let pager = "trap 'echo trapped; ended=1' INT; cat > /dev/null; echo open; \
                 while [ -z \"$ended\" ]; do sleep 0.1; done; echo closed";
    let mut session = run(service.idempost().env("PAGER", pager), &["segments", "list", "--all"]);
    session.pty.exp_string("open").unwrap();
    session.pty.send_control('c').unwrap();
    session.pty.exp_string("trapped").unwrap();
    session.pty.exp_string("closed").unwrap();
    session.pty.exp_eof().unwrap();
    assert_eq!(code(&session), 0);
}

#[test]
fn json_is_colored_at_a_terminal() {
    let service = Service::start();
    service.run(&["segments", "create", "a \"quoted\": name"]).ok();
    let list = ["segments", "list", "--json"];
    let colored = run(service.idempost(), &list).pty.exp_eof().unwrap();
    assert!(colored.contains("\u{1b}[1m\u{1b}[34m\"name\"\u{1b}[0m: \u{1b}[32m\"a"), "{colored:?}");
    assert!(colored.contains("\u{1b}[33mfalse"), "{colored:?}");
    for plain in [
        run(service.idempost().env("NO_COLOR", "1"), &list).pty.exp_eof().unwrap(),
        run(service.idempost(), &(list, "--color never")).pty.exp_eof().unwrap(),
        service.run(&list).ok(),
    ] {
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
        let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value["data"][0]["name"], "a \"quoted\": name");
    }
}

#[test]
fn metrics_have_bars_at_a_terminal() {
    let service = Service::start();
    service.run(&crate::support::SEND).ok();
    let metrics = ["emails", "metrics", "--dimensions", "domain", "--metrics", "sent,open_rate"];
    let mut session = run(service.idempost(), &metrics);
    session.pty.exp_string("DOMAIN").unwrap();
    session.pty.exp_string("acme.test").unwrap();
    // The session reads bytes as Latin-1.
    let block: String = "█".bytes().map(char::from).collect();
    session.pty.exp_string(&block.repeat(24)).unwrap();
    session.pty.exp_eof().unwrap();
    assert_eq!(code(&session), 0);
    let piped = service.run(&metrics).ok();
    assert_eq!(piped, "acme.test\t1\t0.0\n");
}
