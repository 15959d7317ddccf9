//! The program at a terminal, with a person who reads and types.

use std::process::Stdio;

use rexpect::process::WaitStatus;
use rexpect::session::{PtySession, spawn_command};

use crate::service::Service;
use crate::support::Posthaste;

/// The program with its home folder, and the terminal it runs at.
pub(crate) struct Session {
    pub(crate) pty: PtySession,
    _posthaste: Posthaste,
}

pub(crate) fn run(posthaste: Posthaste, arguments: &[&str]) -> Session {
    let posthaste = posthaste.env("TERM", "xterm");
    let mut command = posthaste.command();
    // The terminal takes the place of all three streams.
    command.args(arguments).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    Session { pty: spawn_command(command, Some(10_000)).unwrap(), _posthaste: posthaste }
}

pub(crate) fn code(session: &Session) -> i32 {
    match session.pty.process().wait().unwrap() {
        WaitStatus::Exited(_, code) => code,
        other => panic!("{other:?}"),
    }
}

fn segment(service: &Service) -> String {
    service.posthaste().run(&["segments", "create", "Readers"]).ok().trim().to_owned()
}

fn exists(service: &Service, id: &str) -> bool {
    service.posthaste().run(&["segments", "list"]).ok().contains(id)
}

#[test]
fn a_deletion_is_confirmed_at_a_terminal() {
    let service = Service::start();
    let id = segment(&service);
    for (verb, answer, left, exit) in [("delete", "n", true, 130), ("rm", "y", false, 0)] {
        let mut session = run(service.posthaste(), &["segments", verb, &id]);
        session.pty.exp_string(&format!("delete segment {id}? [y/N] ")).unwrap();
        assert!(exists(&service, &id));
        session.pty.send_line(answer).unwrap();
        session.pty.exp_eof().unwrap();
        assert_eq!((code(&session), exists(&service, &id)), (exit, left), "{answer}");
    }
    let contact =
        run(service.posthaste(), &["contacts", "rm", "ada@example.com"]).pty.exp_string("? [y/N] ").unwrap();
    assert!(contact.starts_with("delete contact ada"), "{contact}");
}

#[test]
fn a_deletion_with_yes_no_input_quiet_json_or_in_ci_asks_nothing() {
    let service = Service::start();
    for flag in ["--yes", "--no-input", "--quiet", "--json", "CI"] {
        let id = segment(&service);
        let mut arguments = vec!["segments", "delete", &id];
        let posthaste = if flag == "CI" {
            service.posthaste().env("CI", "true")
        } else {
            arguments.push(flag);
            service.posthaste()
        };
        let mut session = run(posthaste, &arguments);
        let printed = session.pty.exp_eof().unwrap();
        assert!(!printed.contains("[y/N]"), "{flag}: {printed}");
        assert_eq!((code(&session), exists(&service, &id)), (0, false), "{flag}");
    }
    let id = segment(&service);
    service.posthaste().run(&["segments", "rm", &id]).ok();
    assert!(!exists(&service, &id));
}
