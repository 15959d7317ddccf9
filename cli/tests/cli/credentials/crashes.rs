//! A process that is killed at any step of a token refresh: what it leaves behind, and how the next process recovers.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use idempost_reference_server::TokenEventKind;
use rustix::process::{Signal, kill_process, kill_process_group};

use super::Setup;
use crate::support::{Finish as _, pid, wait_until};

/// Runs the command while the refreshing process is killed at this point. Tokens saved by then are used.
pub(super) fn killed_at(mut command: Command, point: &str) {
    let ran = command.env("IDEMPOST_FAILPOINT", point).finish();
    let died = ran.code.is_none() || ran.stderr.contains("interrupted (signal: 9");
    assert_eq!(died, !["C11", "C12"].contains(&point), "{point}: {ran:?}");
}

/// Runs the call, and kills the refreshing process when the refresh token has arrived at the service.
fn killed_while_the_service_responds(setup: &Setup) {
    let (lock, done) = (setup.file("lock"), AtomicBool::new(false));
    setup.service.core().on_request(move |request| {
        if request.path == "/oauth/token" && !done.swap(true, Ordering::SeqCst) {
            kill_process(pid(super::holder_of(&lock)), Signal::KILL).unwrap();
        }
    });
    setup.idempost.run(&super::CALL).fails_with(7, &["interrupted"]);
}

#[test]
fn a_command_killed_during_a_refresh_loses_nothing() {
    // E-09, F-02, F-05
    // C6 and C7 of the table, where the refresh runs in its own process.
    for signal in [Signal::KILL, Signal::HUP] {
        let setup = Setup::expired();
        let held = setup.service.hold("/oauth/token");
        // Like a shell's job, which ends with its terminal or is canceled as a whole.
        let mut child = setup.command().process_group(0).spawn().unwrap();
        held.wait();
        kill_process_group(pid(child.id()), signal).unwrap();
        child.wait().unwrap();
        drop(held);
        setup.wait_until_saved();
        setup.works();
        assert_eq!((setup.rotations(), setup.shown(), setup.is_pending()), (1, 1, false));
    }
}

#[test]
fn a_crash_before_the_pending_mark_has_no_effect() {
    // F-01
    // C1 to C3 of the table of crash points.
    for point in ["C1", "C2", "C3"] {
        let setup = Setup::expired();
        killed_at(setup.command(), point);
        assert!(!setup.is_pending() && setup.shown() == 0, "{point}");
        setup.works();
        assert_eq!((setup.rotations(), setup.generation(), setup.files().len()), (1, 2, 1), "{point}");
    }
}

#[test]
fn after_a_crash_between_mark_and_request_the_next_process_waits_and_refreshes() {
    // F-01
    // C4, C5
    let setup = Setup::expired();
    killed_at(setup.command(), "C4");
    assert!(setup.is_pending() && setup.shown() == 0);
    setup.age();
    setup.works();
    assert_eq!((setup.rotations(), setup.generation(), setup.is_pending()), (1, 2, false));
}

#[test]
fn a_pending_mark_does_not_block_commands_while_the_access_token_is_valid() {
    let setup = Setup::expired();
    killed_at(setup.command(), "C4");
    let mut kept = setup.kept();
    kept["tokens"]["obtained_at"] = serde_json::json!(jiff::Timestamp::now());
    setup.write(&kept);
    setup.works();
    assert_eq!(setup.shown(), 0);
}

#[test]
fn a_lost_response_ends_the_login_and_is_reported_once() {
    // D-03, F-01, F-02
    // C6, C7: the one loss that no client can prevent.
    let setup = Setup::expired();
    killed_while_the_service_responds(&setup);
    wait_until("the token endpoint responds", || setup.events().len() == 1);
    assert!(setup.is_pending());
    setup.age();
    let stderr = setup.idempost.run(&super::CALL).fails_with(4, &["the response to a refresh was lost"]);
    let events = setup.events();
    assert!(
        matches!(events[..], [TokenEventKind::Rotated { .. }, TokenEventKind::Reused { .. }]),
        "{events:?}"
    );
    // TOK-28: an ended login sends no further request.
    for _ in 0..3 {
        assert_eq!(setup.idempost.run(&super::CALL).fails(4), stderr);
    }
    assert_eq!(setup.shown(), 2);
    // Once the login has ended, the lost refresh isn't reported again.
    let ran = setup.idempost.run(&["auth", "status"]);
    assert!(ran.code == Some(4) && !ran.stderr.contains("begun"), "{ran:?}");
}

#[test]
fn a_received_response_is_never_lost() {
    // E-07, F-01
    // C8, C10, C11, C12
    for point in ["C8", "C10", "C11", "C12"] {
        let setup = Setup::expired();
        killed_at(setup.command(), point);
        assert_eq!(setup.rotations(), 1, "{point}");
        setup.works();
        assert_eq!((setup.rotations(), setup.shown(), setup.generation()), (1, 1, 2), "{point}");
        assert_eq!((setup.is_pending(), setup.files().len()), (false, 1), "{point}");
    }
}

#[test]
fn a_truncated_next_record_is_not_adopted() {
    // E-07, F-01
    // C9
    let setup = Setup::expired();
    killed_at(setup.command(), "C8");
    let whole = std::fs::read(setup.file("next")).unwrap();
    let torn = [&whole[..300], &vec![0; whole.len() - 300]].concat();
    std::fs::write(setup.file("next"), torn).unwrap();
    setup.age();
    setup.idempost.run(&super::CALL).fails_with(4, &["lost"]);
    assert!(!setup.file("next").exists());
}

#[test]
fn an_interrupted_logout_leaves_the_login_or_nothing() {
    // F-01
    // C13
    let setup = Setup::fresh();
    let mut logout = setup.idempost.command();
    logout.args(["auth", "logout"]);
    killed_at(logout, "C13");
    assert!(setup.file("cred").exists());
    setup.idempost.run(&["auth", "logout"]).ok();
    assert!(setup.files().is_empty());
    setup.idempost.run(&super::CALL).fails_with(4, &["log in"]);
}
