//! Stress tests of the guarantees. The long versions are run manually:
//! `cargo test -p idempost-cli --test cli credentials::stress -- --ignored --nocapture --test-threads 1`.

use std::time::Duration;

use idempost_reference_server::faults::Action;
use sha2::{Digest as _, Sha256};

use super::{Setup, all_succeed, refreshed_once};
use crate::support::{kill, wait_until};

/// A deterministic pseudorandom generator.
struct Dice(u64);

impl Dice {
    /// A number below this bound.
    fn below(&mut self, most: u64) -> u64 {
        self.0 += 1;
        let hash = Sha256::digest(self.0.to_le_bytes());
        hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte)) % most
    }
}

/// Kills the program at random moments of its token refreshes.
fn killed(times: usize) {
    let (mut dice, setup) = (Dice(0), Setup::fresh());
    for _ in 0..times {
        setup.age();
        let before = setup.shown();
        // At a random moment of the whole call, or just after the request has arrived.
        let mut child = setup.start();
        if dice.below(2) == 0 {
            wait_until("the refresh token is sent", || setup.shown() > before);
            std::thread::sleep(Duration::from_micros(dice.below(6_000)));
        } else {
            std::thread::sleep(Duration::from_micros(dice.below(60_000)));
        }
        kill(&mut child);
        setup.age();
        setup.works();
        setup.rotations();
    }
}

#[test]
fn a_command_killed_at_any_moment_loses_no_login() {
    // F-02
    killed(15);
}

#[test]
#[ignore = "takes minutes"]
fn twenty_processes_a_hundred_times() {
    refreshed_once(20, 100);
}

#[test]
#[ignore = "takes minutes"]
fn twenty_processes_and_a_token_endpoint_that_takes_20_seconds() {
    let setup = Setup::expired();
    setup.on_token(Action::Delay(Duration::from_secs(20)));
    all_succeed((0..20).map(|_| setup.start()).collect());
    assert_eq!((setup.rotations(), setup.shown()), (1, 1));
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills() {
    killed(200);
}
