//! Signals and timeouts during a token refresh: the command exits at once, and the refresh completes in its own process.

use std::process::Child;
use std::time::{Duration, Instant};

use idempost_reference_server::faults::Action;
use rustix::process::{Pid, Signal};

use super::{Setup, until};
use crate::support::signal;

/// How long a test of the helper lets the service take.
const RESPONSE: Duration = Duration::from_secs(2);

/// A call whose refresh token is at the service, and whose response is delayed.
fn renewing(setup: &Setup, delay: Duration) -> Child {
    setup.on_token(Action::Delay(delay));
    let before = setup.shown();
    let child = setup.start();
    until(|| setup.shown() > before);
    child
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

fn saved(setup: &Setup) {
    until(|| setup.generation() == 2 && setup.files().len() == 1);
    assert_eq!((setup.rotations(), setup.is_pending()), (1, false));
}

#[test]
fn a_signal_ends_the_command_at_once_and_the_refresh_completes() {
    // F-03
    std::thread::scope(|scope| {
        for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
            scope.spawn(move || {
                let setup = Setup::expired();
                let child = renewing(&setup, Duration::from_secs(6));
                signal(&child, which);
                // The helper inherits no pipe that would have to be closed first.
                let output = child.wait_with_output().unwrap();
                assert_eq!(output.status.code(), Some(code), "{output:?}");
                assert!(setup.is_pending(), "the command waited for the refresh");
                saved(&setup);
                setup.works();
                assert_eq!(setup.shown(), 1);
            });
        }
    });
}

#[test]
fn repeated_signals_do_not_interrupt_a_refresh() {
    // F-04
    let setup = Setup::expired();
    let child = renewing(&setup, RESPONSE);
    let helper = setup.lock_holder();
    for which in [Signal::INT, Signal::INT, Signal::TERM, Signal::HUP, Signal::INT] {
        // The command may have exited after the first.
        let _ = rustix::process::kill_process(pid(child.id()), which);
        rustix::process::kill_process(pid(helper), which).unwrap();
    }
    child.wait_with_output().unwrap();
    saved(&setup);
    setup.works();
    assert_eq!(setup.shown(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn the_refreshing_process_has_no_token_in_its_arguments_and_leaves_no_core_dump() {
    // C-16, E-16
    let setup = Setup::expired();
    let child = renewing(&setup, RESPONSE);
    let read = |name: &str| {
        let bytes = std::fs::read(format!("/proc/{}/{name}", setup.lock_holder())).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (arguments, environment, limits) = (read("cmdline"), read("environ"), read("limits"));
    let tokens = setup.tokens();
    for secret in ["access_token", "refresh_token"].map(|name| tokens[name].as_str().unwrap()) {
        assert!(!arguments.contains(secret) && !environment.contains(secret), "{arguments}");
    }
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().collect::<Vec<_>>()[4..6], ["0", "0"], "{core}");
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_stopped_process_keeps_its_lock_and_the_session() {
    // E-09
    let setup = Setup::expired();
    let child = renewing(&setup, RESPONSE);
    let helper = setup.lock_holder();
    rustix::process::kill_process(pid(helper), Signal::STOP).unwrap();
    let stderr = setup.idempost.run(&["--timeout", "1s", "emails", "list"]).fails(7);
    assert!(stderr.contains("timed out") || stderr.contains(&helper.to_string()), "{stderr}");
    assert_eq!((setup.shown(), setup.generation(), setup.is_pending()), (1, 1, true));
    let status = setup.idempost.run(&["--json", "auth", "status"]).json();
    let refreshing = status["renewed_by"].as_str().unwrap_or_default();
    assert!(refreshing.starts_with(&format!("process {helper} (idempost), for ")), "{status}");
    rustix::process::kill_process(pid(helper), Signal::CONT).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    saved(&setup);
}

/// A login whose refresh lost its response: for a minute the refresh token isn't sent again.
fn lost() -> Setup {
    let setup = Setup::expired();
    setup.on_token(Action::answer(500, "oops"));
    setup.idempost.run(&super::CALL).fails(7);
    assert!(setup.is_pending());
    setup
}

#[test]
fn a_timeout_ends_the_wait_for_a_lost_refresh() {
    let setup = lost();
    let begun = Instant::now();
    let stderr = setup.idempost.run(&["--timeout", "1s", "emails", "list"]).fails(7);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(stderr.contains("timed out waiting for the token refresh"), "{stderr}");
    assert_eq!(setup.shown(), 1);
}

#[test]
fn a_signal_ends_the_wait_for_a_lost_refresh() {
    // F-03
    let setup = lost();
    let child = setup.start();
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(setup.shown(), 1);
}

#[test]
fn without_a_refresh_a_signal_ends_the_program_at_once() {
    // F-03
    let setup = Setup::fresh();
    setup
        .service
        .core()
        .faults()
        .add(idempost_reference_server::faults::Rule::new(Action::Delay(Duration::from_secs(20))));
    let begun = Instant::now();
    let child = setup.start();
    until(|| setup.service.asked() == 1);
    signal(&child, Signal::TERM);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_program_started_with_nohup_continues_after_a_hangup() {
    // F-05
    let setup = Setup::expired();
    setup.on_token(Action::Delay(Duration::from_secs(1)));
    let mut command = std::process::Command::new("nohup");
    let call = setup.command();
    command.arg(call.get_program()).args(call.get_args()).env_clear();
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    until(|| setup.shown() == 1);
    signal(&child, Signal::HUP);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    saved(&setup);
}
