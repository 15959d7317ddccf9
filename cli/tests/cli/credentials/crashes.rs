//! A process that dies at any step of a renewal: what is left, and what the next one makes of it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posthaste_reference_server::TokenEventKind;
use posthaste_reference_server::faults::Action;

use super::House;

/// Runs the command while whoever renews dies at that point, as by `kill -9`. What is saved by then is used.
fn dies(mut command: Command, point: &str) {
    let output = command.env("POSTHASTE_FAILPOINT", point).output().unwrap();
    let died = output.status.signal() == Some(9)
        || String::from_utf8_lossy(&output.stderr).contains("cut off (signal: 9");
    assert_eq!(died, !["C11", "C12"].contains(&point), "{point}: {output:?}");
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Runs the call, and kills whoever renews when the refresh token has arrived at the service.
fn dies_while_the_service_acts(house: &House) {
    let (lock, done) = (house.file("lock"), AtomicBool::new(false));
    house.service.core().on_request(move |request| {
        if request.path == "/oauth/token" && !done.swap(true, Ordering::SeqCst) {
            let holder: serde_json::Value = serde_json::from_slice(&std::fs::read(&lock).unwrap()).unwrap();
            kill(u32::try_from(holder["pid"].as_u64().unwrap()).unwrap());
        }
    });
    let said = house.posthaste.run(&super::CALL).fails(7);
    assert!(said.contains("cut off"), "{said}");
}

#[test]
fn a_command_that_is_killed_in_the_middle_of_a_renewal_loses_nothing() {
    // The table's C6 and C7, where the renewal is a process of its own.
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::HUP] {
        let house = House::expired();
        house.on_token(Action::Delay(Duration::from_secs(1)));
        let mut child = house.start();
        super::until(|| house.shown() == 1);
        let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(group, signal).unwrap();
        child.wait().unwrap();
        super::until(|| house.generation() == 2 && house.files().len() == 1);
        house.works();
        assert_eq!((house.rotations(), house.shown(), house.is_pending()), (1, 1, false));
    }
}

#[test]
fn before_the_mark_nothing_has_happened() {
    // C1 to C3 of the table of crash points.
    for point in ["C1", "C2", "C3"] {
        let house = House::expired();
        dies(house.command(), point);
        assert!(!house.is_pending() && house.shown() == 0, "{point}");
        house.works();
        assert_eq!((house.rotations(), house.generation(), house.files().len()), (1, 2, 1), "{point}");
    }
}

#[test]
fn after_the_mark_and_before_the_request_the_next_one_waits_and_then_asks() {
    // C4, C5
    let house = House::expired();
    dies(house.command(), "C4");
    assert!(house.is_pending() && house.shown() == 0);
    house.age();
    house.works();
    assert_eq!((house.rotations(), house.generation(), house.is_pending()), (1, 2, false));
}

#[test]
fn while_the_old_access_token_is_good_a_mark_stops_nobody() {
    let house = House::expired();
    dies(house.command(), "C4");
    let mut kept = house.kept();
    kept["tokens"]["obtained_at"] = serde_json::json!(jiff::Timestamp::now());
    house.write(&kept);
    house.works();
    assert_eq!(house.shown(), 0);
}

#[test]
fn an_answer_that_is_lost_ends_the_login_and_the_next_one_says_so_once() {
    // C6, C7: the one loss that no client can help.
    let house = House::expired();
    dies_while_the_service_acts(&house);
    super::until(|| house.events().len() == 1);
    assert!(house.is_pending());
    house.age();
    let said = house.posthaste.run(&super::CALL).fails(4);
    assert!(said.contains("the response to a refresh was lost"), "{said}");
    let events = house.events();
    assert!(
        matches!(events[..], [TokenEventKind::Rotated { .. }, TokenEventKind::Reused { .. }]),
        "{events:?}"
    );
    // TOK-28: what is over is over without a further question.
    for _ in 0..3 {
        assert_eq!(house.posthaste.run(&super::CALL).fails(4), said);
    }
    assert_eq!(house.shown(), 2);
    // The refresh that was lost is no news beside a login that has ended.
    let ran = house.posthaste.run(&["auth", "status"]);
    assert!(ran.code == Some(4) && !ran.stderr.contains("begun"), "{ran:?}");
}

#[test]
fn an_answer_that_was_read_is_never_lost() {
    // C8, C10, C11, C12
    for point in ["C8", "C10", "C11", "C12"] {
        let house = House::expired();
        dies(house.command(), point);
        assert_eq!(house.rotations(), 1, "{point}");
        house.works();
        assert_eq!((house.rotations(), house.shown(), house.generation()), (1, 1, 2), "{point}");
        assert_eq!((house.is_pending(), house.files().len()), (false, 1), "{point}");
    }
}

#[test]
fn a_next_record_that_the_disk_has_lost_half_of_is_not_taken() {
    // C9
    let house = House::expired();
    dies(house.command(), "C8");
    let whole = std::fs::read(house.file("next")).unwrap();
    let torn = [&whole[..300], &vec![0; whole.len() - 300]].concat();
    std::fs::write(house.file("next"), torn).unwrap();
    house.age();
    assert!(house.posthaste.run(&super::CALL).fails(4).contains("lost"));
    assert!(!house.file("next").exists());
}

#[test]
fn a_logout_that_is_cut_off_leaves_the_login_or_nothing() {
    // C13
    let house = House::fresh();
    let mut logout = house.posthaste.command();
    logout.args(["auth", "logout"]);
    dies(logout, "C13");
    assert!(house.file("cred").exists());
    house.posthaste.run(&["auth", "logout"]).ok();
    assert!(house.files().is_empty());
    assert!(house.posthaste.run(&super::CALL).fails(4).contains("log in"));
}
