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
fn a_renewal_ahead_of_time_holds_up_no_call_and_ends_before_the_program() {
    // TOK-24: the answer would be lost with the process.
    let house = House::fresh();
    let mut kept = house.kept();
    let obtained = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(860);
    kept["tokens"]["obtained_at"] = serde_json::json!(obtained);
    house.write(&kept);
    house.on_token(Action::Delay(Duration::from_secs(2)));
    house.works();
    assert_eq!((house.rotations(), house.generation(), house.is_pending()), (1, 2, false));
    assert_eq!(house.files(), ["default.cred"]);
}

#[test]
fn a_logout_during_a_renewal_has_the_last_word() {
    let house = House::expired();
    house.on_token(Action::Delay(Duration::from_secs(2)));
    let renewing = house.start();
    super::until(|| house.shown() == 1);
    let logout = house.posthaste.command().args(["auth", "logout"]).spawn().unwrap();
    all_end_well(vec![renewing, logout]);
    assert!(house.files().is_empty());
    assert_eq!(house.rotations(), 1);
    house.posthaste.run(&super::CALL).fails(4);
}

#[test]
fn two_logins_at_once_leave_one_whole_login() {
    let house = House::expired();
    house.on_token(Action::Delay(Duration::from_secs(1)));
    let renewing = house.start();
    super::until(|| house.shown() == 1);
    let keys = ["sb_first", "sb_second"].map(|key| {
        let mut command = house.posthaste.command();
        command.args(["auth", "login", "--with-token", "--store", "file"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), key.as_bytes()).unwrap();
        child
    });
    all_end_well(vec![renewing]);
    all_end_well(keys.into());
    let kept = house.kept();
    assert!(
        kept["tokens"].is_null() && kept["api_key"]["key"].as_str().unwrap().starts_with("sb_"),
        "{kept}"
    );
    house.works();
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
