//! Signals during a renewal: it ends first, and then the program does.

use std::process::{Child, Output};
use std::time::Duration;

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

fn saved(house: &House, output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert_eq!((house.rotations(), house.generation(), house.is_pending()), (1, 2, false));
    assert_eq!(house.files().len(), 1);
}

#[test]
fn a_signal_waits_until_the_new_token_is_saved() {
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let house = House::expired();
        let child = renewing(&house);
        signal(&child, which);
        saved(&house, &child.wait_with_output().unwrap(), code);
        house.works();
        assert_eq!(house.shown(), 1);
    }
}

#[test]
fn whoever_asks_again_is_told_what_is_going_on() {
    let house = House::expired();
    let child = renewing(&house);
    for _ in 0..3 {
        signal(&child, Signal::INT);
        std::thread::sleep(Duration::from_millis(150));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("finishing the renewal of the login, at most 30 s").count(), 2, "{said}");
    saved(&house, &output, 130);
}

#[test]
fn without_a_renewal_a_signal_ends_the_program_at_once() {
    let house = House::fresh();
    house
        .service
        .core()
        .faults()
        .add(posthaste_reference_server::faults::Rule::new(Action::Delay(Duration::from_secs(20))));
    let begun = std::time::Instant::now();
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
    saved(&house, &child.wait_with_output().unwrap(), 0);
}
