//! Stress tests of the guarantees. The long versions are run manually:
//! `cargo test -p idempost-cli --test cli credentials::stress -- --ignored --nocapture --test-threads 1`.

use std::time::Duration;

use idempost_reference_server::faults::Action;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::{Setup, all_succeed, refreshed_once};
use crate::support::{kill, wait_until};

/// Kills the program at random moments of its token refreshes.
fn killed(times: usize) {
    let (mut random, setup) = (StdRng::seed_from_u64(0), Setup::fresh());
    for _ in 0..times {
        setup.age();
        let before = setup.shown();
        // At a random moment of the whole call, or just after the request has arrived.
        let mut child = setup.start();
        if random.gen_bool(0.5) {
            wait_until("the refresh token is sent", || setup.shown() > before);
            std::thread::sleep(Duration::from_micros(random.gen_range(0..6_000)));
        } else {
            std::thread::sleep(Duration::from_micros(random.gen_range(0..60_000)));
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
