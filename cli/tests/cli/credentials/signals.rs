//! Signals and timeouts during a token refresh: the command exits immediately, and the refresh completes in its own process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use idempost_reference_server::faults::Action;
use rustix::process::{Pid, Signal};

use super::Setup;
use crate::support::{Finish as _, Limited, signal, wait_until};

/// How long the service takes in tests of the helper process.
const RESPONSE: Duration = Duration::from_secs(5);

/// A call whose refresh token is at the service, and whose response is delayed.
fn renewing(setup: &Setup, delay: Duration) -> Child {
    setup.on_token(Action::Delay(delay));
    let before = setup.shown();
    let child = setup.start();
    wait_until("the refresh token is sent", || setup.shown() > before);
    child
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

fn saved(setup: &Setup) {
    setup.wait_until_saved();
    assert_eq!((setup.rotations(), setup.is_pending()), (1, false));
}

#[test]
fn a_signal_ends_the_command_at_once_and_the_refresh_completes() {
    // F-03
    std::thread::scope(|scope| {
        for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
            scope.spawn(move || {
                let setup = Setup::expired();
                let child = renewing(&setup, Duration::from_secs(10));
                signal(&child, which);
                // The helper inherits no pipe that would have to be closed first.
                let output = child.finish();
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
    child.finish();
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
    assert!(child.finish().status.success());
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
    assert!(child.finish().status.success());
    saved(&setup);
}

/// A login whose refresh lost its response: for a minute the refresh token isn't sent again.
fn lost() -> Setup {
    let setup = Setup::expired();
    setup.on_token(Action::http_response(500, "oops"));
    setup.idempost.run(&super::CALL).fails(7);
    assert!(setup.is_pending());
    setup
}

#[test]
fn a_timeout_ends_the_wait_for_a_lost_refresh() {
    let setup = lost();
    let stderr = setup.idempost.run(&["--timeout", "1s", "emails", "list"]).fails(7);
    assert!(stderr.contains("timed out waiting for the token refresh"), "{stderr}");
    assert_eq!(setup.shown(), 1);
}

#[test]
fn a_signal_ends_the_wait_for_a_lost_refresh() {
    // F-03
    let setup = lost();
    std::fs::write(setup.file("lock"), "").unwrap();
    let child = setup.start();
    wait_until("the command takes the lock", || {
        std::fs::read(setup.file("lock")).is_ok_and(|holder| !holder.is_empty())
    });
    signal(&child, Signal::INT);
    let output = child.finish();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert_eq!(setup.shown(), 1);
}

#[test]
fn without_a_refresh_a_signal_ends_the_program_at_once() {
    // F-03
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let setup = Setup::fresh();
        setup.service.core().faults().add(idempost_reference_server::faults::Rule::new(Action::Stall));
        let child = setup.start();
        wait_until("the service has the request", || setup.service.asked() == 1);
        signal(&child, which);
        assert_eq!(child.finish().status.code(), Some(code));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_continues_after_a_signal_that_it_was_started_to_ignore() {
    // F-05
    for (name, which) in [("HUP", Signal::HUP), ("INT", Signal::INT)] {
        let setup = Setup::expired();
        setup.on_token(Action::Delay(Duration::from_secs(1)));
        // Like nohup, or like a script that starts a background job.
        let script = format!("trap '' {name}; exec \"$0\" \"$@\"");
        let call = setup.command();
        let mut command = setup.idempost.wrapped("sh");
        let child =
            command.args(["-c", &script]).arg(call.get_program()).args(call.get_args()).spawn().unwrap();
        wait_until("the refresh token is sent", || setup.shown() == 1);
        signal(&child, which);
        let output = child.finish();
        assert!(output.status.success(), "{output:?}");
        saved(&setup);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_script_s_background_job_ends_by_sigterm_only() {
    // F-05
    let setup = Setup::fresh();
    setup.service.core().faults().add(idempost_reference_server::faults::Rule::new(Action::Stall));
    let call = setup.command();
    let script = "\"$0\" \"$@\" & echo $!; wait $!";
    let mut command = setup.idempost.wrapped("sh");
    let mut shell =
        command.args(["-c", script]).arg(call.get_program()).args(call.get_args()).spawn().unwrap();
    let mut id = String::new();
    BufReader::new(Limited(shell.stdout.take().unwrap())).read_line(&mut id).unwrap();
    let job = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
    wait_until("the service has the request", || setup.service.asked() == 1);
    for which in [Signal::INT, Signal::TERM] {
        rustix::process::kill_process(job, which).unwrap();
    }
    assert_eq!(shell.finish().status.code(), Some(143));
}

#[cfg(target_os = "linux")]
#[test]
fn tests_that_were_started_to_ignore_signals_send_them_to_the_program() {
    let ends = "credentials::signals::without_a_refresh_a_signal_ends_the_program_at_once";
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT QUIT TERM; exec \"$0\" --exact \"$1\""]);
    let ran = command.arg(std::env::current_exe().unwrap()).arg(ends).stdout(Stdio::piped()).finish();
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
}
