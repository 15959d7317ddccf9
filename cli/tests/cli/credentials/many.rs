//! Several concurrent processes, none of which fails.

use std::time::Duration;

use idempost_reference_server::faults::Action;

use super::{Setup, all_succeed, refreshed_once};
use crate::support::{Finish as _, wait_until};

#[test]
fn concurrent_processes_refresh_an_expired_token_once() {
    // TOK-24, D-01
    refreshed_once(8, 4);
}

#[test]
fn an_early_refresh_delays_no_call_and_finishes_before_the_program_exits() {
    // TOK-24: otherwise the response would be lost with the process.
    let setup = Setup::fresh();
    let mut kept = setup.kept();
    let obtained = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(860);
    kept["tokens"]["obtained_at"] = serde_json::json!(obtained);
    setup.write(&kept);
    setup.on_token(Action::Delay(Duration::from_secs(2)));
    setup.works();
    assert_eq!((setup.rotations(), setup.generation(), setup.is_pending()), (1, 2, false));
    assert_eq!(setup.files(), ["default.cred"]);
}

#[test]
fn a_logout_during_a_refresh_wins() {
    // D-20
    let setup = Setup::expired();
    setup.on_token(Action::Delay(Duration::from_secs(2)));
    let renewing = setup.start();
    wait_until("the refresh token is sent", || setup.shown() == 1);
    all_succeed(vec![setup.idempost.spawn(&["auth", "logout"])]);
    // Its refresh is complete; whether it still finds the login depends on which of the two is first.
    let renewed = renewing.finish();
    assert!(matches!(renewed.code, Some(0 | 4)), "{renewed:?}");
    assert!(setup.files().is_empty());
    assert_eq!(setup.rotations(), 1);
    setup.idempost.run(&super::CALL).fails(4);
}

#[test]
fn two_concurrent_logins_leave_one_complete_login() {
    // D-20
    let setup = Setup::expired();
    setup.on_token(Action::Delay(Duration::from_secs(1)));
    let renewing = setup.start();
    wait_until("the refresh token is sent", || setup.shown() == 1);
    let keys = ["sb_first", "sb_second"].map(|key| {
        let mut command = setup.idempost.command();
        command.args(["auth", "login", "--with-token", "--store", "file"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), key.as_bytes()).unwrap();
        child
    });
    // A login may replace the new tokens before the command reads them.
    let ran = renewing.finish();
    if ran.code != Some(0) {
        ran.fails_with(4, &["not logged in"]);
    }
    all_succeed(keys.into());
    let kept = setup.kept();
    assert!(
        kept["tokens"].is_null() && kept["api_key"]["key"].as_str().unwrap().starts_with("sb_"),
        "{kept}"
    );
    setup.works();
}

#[test]
fn processes_with_a_rejected_token_refresh_it_once_and_retry_their_calls() {
    // D-02
    let setup = Setup::fresh();
    // The service's clock is ahead of the program's.
    setup.service.core().clock().advance(Duration::from_secs(1000));
    all_succeed((0..8).map(|_| setup.start()).collect());
    assert_eq!((setup.rotations(), setup.shown()), (1, 1));
}

#[test]
fn a_fresh_login_is_used_without_the_lock() {
    let setup = Setup::fresh();
    setup.works();
    assert_eq!((setup.files(), setup.file("lock").exists()), (vec!["default.cred".to_owned()], false));
    assert_eq!(setup.shown(), 0);
}
