//! Signals and timeouts during a refresh: the command ends at once, and the refresh completes in a process of its own.

use std::process::Child;
use std::time::{Duration, Instant};

use posthaste_reference_server::faults::Action;
use rustix::process::Signal;

use super::{House, until};
use crate::support::signal;

/// A call whose refresh token is at the service, and whose answer takes a while.
fn renewing(house: &House) -> Child {
    house.on_token(Action::Delay(Duration::from_secs(2)));
    let before = house.shown();
    let child = house.start();
    until(|| house.shown() > before);
    child
}

fn saved(house: &House) {
    until(|| house.generation() == 2 && house.files().len() == 1);
    assert_eq!((house.rotations(), house.is_pending()), (1, false));
}

#[test]
fn a_signal_ends_the_command_at_once_and_the_refresh_completes() {
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let house = House::expired();
        let child = renewing(&house);
        let begun = Instant::now();
        signal(&child, which);
        // The helper shares no pipe that would have to close first.
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(begun.elapsed() < Duration::from_millis(1_500), "{:?}", begun.elapsed());
        saved(&house);
        house.works();
        assert_eq!(house.shown(), 1);
    }
}

/// A login whose refresh has lost its response: for a minute the refresh token is not sent again.
fn lost() -> House {
    let house = House::expired();
    house.on_token(Action::answer(500, "oops"));
    house.posthaste.run(&super::CALL).fails(7);
    assert!(house.is_pending());
    house
}

#[test]
fn a_timeout_ends_the_wait_for_a_lost_refresh() {
    let house = lost();
    let begun = Instant::now();
    let said = house.posthaste.run(&["--timeout", "1s", "emails", "list"]).fails(7);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(said.contains("timed out waiting for the login's refresh"), "{said}");
    assert_eq!(house.shown(), 1);
}

#[test]
fn a_signal_ends_the_wait_for_a_lost_refresh() {
    let house = lost();
    let child = house.start();
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(house.shown(), 1);
}

#[test]
fn without_a_renewal_a_signal_ends_the_program_at_once() {
    let house = House::fresh();
    house
        .service
        .core()
        .faults()
        .add(posthaste_reference_server::faults::Rule::new(Action::Delay(Duration::from_secs(20))));
    let begun = Instant::now();
    let child = house.start();
    until(|| house.service.asked() == 1);
    signal(&child, Signal::TERM);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_program_that_was_told_to_ignore_hangups_goes_on() {
    let house = House::expired();
    house.on_token(Action::Delay(Duration::from_secs(1)));
    let mut command = std::process::Command::new("nohup");
    let call = house.command();
    command.arg(call.get_program()).args(call.get_args()).env_clear();
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    until(|| house.shown() == 1);
    signal(&child, Signal::HUP);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    saved(&house);
}
