//! Signals and timeouts during a token refresh: the command exits immediately, and the refresh completes in its own process.

use std::process::{Child, Command, Stdio};

use idempost_reference_server::faults::{Action, Rule};
use rustix::process::{Pid, Signal, kill_process};

use super::Setup;
use crate::service::Held;
use crate::support::{Finish as _, lines, pid, signal, wait_until};

/// A call whose refresh token is at the service, and whose response is held.
fn renewing(setup: &Setup) -> (Child, Held) {
    let held = setup.service.hold("/oauth/token");
    let child = setup.start();
    held.wait();
    (child, held)
}

fn saved(setup: &Setup) {
    setup.wait_until_saved();
    assert_eq!((setup.rotations(), setup.is_pending()), (1, false));
}

#[test]
fn a_signal_ends_the_command_at_once_and_the_refresh_completes() {
    // F-03
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let setup = Setup::expired();
        let (child, held) = renewing(&setup);
        signal(&child, which);
        // The helper inherits no pipe that would have to be closed first.
        child.finish().exits(code);
        assert!(setup.is_pending(), "the command waited for the refresh");
        drop(held);
        saved(&setup);
        setup.works();
        assert_eq!(setup.shown(), 1);
    }
}

#[test]
fn repeated_signals_do_not_interrupt_a_refresh() {
    // F-04
    let setup = Setup::expired();
    let (child, held) = renewing(&setup);
    let helper = setup.lock_holder();
    for which in [Signal::INT, Signal::INT, Signal::TERM, Signal::HUP, Signal::INT] {
        // The command may have exited after the first.
        let _ = kill_process(pid(child.id()), which);
        kill_process(pid(helper), which).unwrap();
    }
    child.finish();
    drop(held);
    saved(&setup);
    setup.works();
    assert_eq!(setup.shown(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn the_refreshing_process_has_no_token_in_its_arguments_and_leaves_no_core_dump() {
    // C-16, E-16
    let setup = Setup::expired();
    let (child, held) = renewing(&setup);
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
    drop(held);
    child.finish().ok();
}

#[test]
fn a_stopped_process_keeps_its_lock_and_the_session() {
    // E-09
    let setup = Setup::expired();
    let (child, held) = renewing(&setup);
    let helper = setup.lock_holder();
    kill_process(pid(helper), Signal::STOP).unwrap();
    let stderr = setup.idempost.run("--timeout 1s emails list").fails(7);
    assert!(stderr.contains("timed out") || stderr.contains(&helper.to_string()), "{stderr}");
    assert_eq!((setup.generation(), setup.is_pending()), (1, true));
    let status = setup.idempost.run(&["--json", "auth", "status"]).json();
    let refreshing = status["renewed_by"].as_str().unwrap_or_default();
    assert!(refreshing.starts_with(&format!("process {helper} (idempost), for ")), "{status}");
    kill_process(pid(helper), Signal::CONT).unwrap();
    drop(held);
    child.finish().ok();
    saved(&setup);
    assert_eq!(setup.shown(), 1);
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
    setup
        .idempost
        .run(&["--timeout", "1s", "emails", "list"])
        .fails_with(7, &["timed out waiting for the token refresh"]);
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
    child.finish().exits(130);
    assert_eq!(setup.shown(), 1);
}

#[test]
fn without_a_refresh_a_signal_ends_the_program_at_once() {
    // F-03
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let setup = Setup::fresh();
        setup.service.faults().add(Rule::new(Action::Stall));
        let child = setup.start();
        wait_until("the service has the request", || setup.service.asked() == 1);
        signal(&child, which);
        child.finish().exits(code);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_continues_after_a_signal_that_it_was_started_to_ignore() {
    // F-05
    for (name, which) in [("HUP", Signal::HUP), ("INT", Signal::INT)] {
        let setup = Setup::expired();
        let held = setup.service.hold("/oauth/token");
        // Like nohup, or like a script that starts a background job.
        let script = format!("trap '' {name}; exec \"$0\" \"$@\"");
        let child = setup.idempost.through(&script).args(super::CALL).spawn().unwrap();
        held.wait();
        signal(&child, which);
        drop(held);
        child.finish().ok();
        saved(&setup);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_script_s_background_job_ends_by_sigterm_only() {
    // F-05
    let setup = Setup::fresh();
    setup.service.faults().add(Rule::new(Action::Stall));
    let script = "\"$0\" \"$@\" & echo $!; wait $!";
    let mut shell = setup.idempost.through(script).args(super::CALL).spawn().unwrap();
    let job = Pid::from_raw(lines(&mut shell.stdout).next().unwrap().parse().unwrap()).unwrap();
    wait_until("the service has the request", || setup.service.asked() == 1);
    for which in [Signal::INT, Signal::TERM] {
        kill_process(job, which).unwrap();
    }
    shell.finish().exits(143);
}

#[cfg(target_os = "linux")]
#[test]
fn tests_that_were_started_to_ignore_signals_send_them_to_the_program() {
    let ends = "credentials::signals::without_a_refresh_a_signal_ends_the_program_at_once";
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT QUIT TERM; exec \"$0\" --exact \"$1\""]);
    command.arg(std::env::current_exe().unwrap()).arg(ends).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.finish().ok_with(&["1 passed"]);
}
