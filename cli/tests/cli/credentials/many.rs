//! Many processes at once, none of which is at fault.

use std::process::Child;
use std::time::Duration;

use posthaste_reference_server::faults::Action;

use super::{House, only_ours};

fn all_end_well(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn processes_that_start_at_once_with_an_expired_token_renew_it_once() {
    // TOK-24
    let house = House::fresh();
    for round in 1..=4 {
        house.age();
        all_end_well((0..8).map(|_| house.start()).collect());
        assert_eq!((house.rotations(), house.shown()), (round, round));
    }
    assert_eq!((house.generation(), house.files()), (5, vec!["default.cred".to_owned()]));
}

#[test]
fn a_token_endpoint_that_is_slow_is_asked_once_all_the_same() {
    let house = House::expired();
    house.on_token(Action::Delay(Duration::from_secs(2)));
    all_end_well((0..6).map(|_| house.start()).collect());
    assert_eq!((house.rotations(), house.shown()), (1, 1));
}

#[test]
fn processes_whose_token_the_service_refuses_renew_it_once_and_repeat_their_calls() {
    let house = House::fresh();
    // The service's clock runs ahead of the program's.
    house.service.core().clock().advance(Duration::from_secs(1000));
    all_end_well((0..8).map(|_| house.start()).collect());
    assert_eq!((house.rotations(), house.shown()), (1, 1));
}

#[test]
fn a_fresh_login_is_used_without_a_look_at_the_lock() {
    let house = House::fresh();
    house.works();
    assert_eq!((house.files(), house.file("lock").exists()), (vec!["default.cred".to_owned()], false));
    assert_eq!(house.shown(), 0);
}

#[test]
fn what_needs_no_login_never_looks_at_one() {
    let house = House::fresh();
    // Whoever looks is refused.
    only_ours(&house.folder(), 0o777);
    house.posthaste.run(&["--version"]).ok();
    let mut keyed = house.command();
    keyed.env("POSTHASTE_API_KEY", "re_123456789");
    assert!(keyed.output().unwrap().status.success());
    assert!(house.posthaste.run(&super::CALL).fails(4).contains("chmod 700"));
}
