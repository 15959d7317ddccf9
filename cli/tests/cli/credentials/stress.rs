//! The promises in numbers. The long versions are run by hand:
//! `cargo test -p posthaste-cli --test cli credentials::stress -- --ignored --nocapture --test-threads 1`.

use std::process::Child;
use std::time::Duration;

use posthaste_reference_server::TokenEventKind;
use posthaste_reference_server::faults::Action;
use sha2::{Digest as _, Sha256};

use super::House;

/// Numbers that look like chance, and are the same in each run.
struct Dice(u64);

impl Dice {
    /// A number below this one.
    fn below(&mut self, most: u64) -> u64 {
        self.0 += 1;
        let hash = Sha256::digest(self.0.to_le_bytes());
        hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte)) % most
    }
}

fn all_end_well(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

fn at_once(processes: usize, rounds: usize) {
    let house = House::fresh();
    for round in 1..=rounds {
        house.age();
        all_end_well((0..processes).map(|_| house.start()).collect());
        assert_eq!((house.rotations(), house.shown()), (round, round));
    }
}

/// Kills the program at random moments of its renewals, and returns how many logins were lost.
fn killed(times: usize) -> usize {
    let (mut dice, mut house, mut lost) = (Dice(0), House::fresh(), 0);
    for n in 0..times {
        house.age();
        let before = (house.generation(), house.shown());
        // At a random moment of the whole call, or just after the request has arrived.
        let mut child = house.start();
        if dice.below(2) == 0 {
            let begun = std::time::Instant::now();
            while house.shown() == before.1 && begun.elapsed() < Duration::from_secs(10) {
                std::hint::spin_loop();
            }
            std::thread::sleep(Duration::from_micros(dice.below(6_000)));
        } else {
            std::thread::sleep(Duration::from_micros(dice.below(40_000)));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Whatever was on its way has arrived.
        std::thread::sleep(Duration::from_millis(30));

        let rotated = matches!(house.events().last(), Some(TokenEventKind::Rotated { generation }) if *generation > before.0);
        let next = std::fs::read(house.file("next")).unwrap_or_default();
        let saved = house.generation() > before.0
            || !next.trim_ascii().is_empty() && next.trim_ascii().ends_with(b"}");
        let marked = house.is_pending();
        house.age();
        let ran = house.posthaste.run(&super::CALL);
        if ran.code == Some(0) {
            continue;
        }
        // Lost only where the service had acted and its answer was nowhere on this side.
        assert!(
            ran.code == Some(4) && ran.stderr.contains("the answer to a renewal was lost"),
            "{n}: {ran:?}"
        );
        assert!(rotated && marked && !saved, "{n}: {rotated} {marked} {saved} {:?}", house.events());
        lost += 1;
        house = House::fresh();
    }
    lost
}

#[test]
fn a_kill_at_any_moment_loses_a_login_only_with_its_answer() {
    killed(15);
}

#[test]
#[ignore = "takes minutes"]
fn twenty_processes_a_hundred_times() {
    at_once(20, 100);
}

#[test]
#[ignore = "takes minutes"]
fn twenty_processes_and_a_token_endpoint_that_takes_20_seconds() {
    let house = House::expired();
    house.on_token(Action::Delay(Duration::from_secs(20)));
    all_end_well((0..20).map(|_| house.start()).collect());
    assert_eq!((house.rotations(), house.shown()), (1, 1));
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills() {
    eprintln!("{} of 200 logins were lost, each with its answer", killed(200));
}
