//! A process that dies at any step of a renewal: what is left, and what the next one makes of it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::{Arc, Mutex};

use posthaste_reference_server::TokenEventKind;

use super::House;

/// Runs the command until it dies at that point, as by `kill -9`.
fn dies(mut command: Command, point: &str) {
    let output = command.env("POSTHASTE_FAILPOINT", point).output().unwrap();
    assert_eq!(output.status.signal(), Some(9), "{point}: {output:?}");
}

/// Runs the call, and kills it when its refresh token has arrived at the service.
fn dies_while_the_service_acts(house: &House) {
    let pid = Arc::new(Mutex::new(None));
    let victim = Arc::clone(&pid);
    house.service.core().on_request(move |request| {
        if request.path == "/oauth/token"
            && let Some(pid) = victim.lock().unwrap().take()
        {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    });
    let mut guard = pid.lock().unwrap();
    let mut child = house.start();
    *guard = Some(i32::try_from(child.id()).unwrap());
    drop(guard);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
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
    assert!(said.contains("the answer to a renewal was lost"), "{said}");
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
