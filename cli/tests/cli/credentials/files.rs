//! Unexpected files in place of a login's files, and how the program handles them.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{CALL, Setup};
use crate::support::{Finish as _, has, mode, set_mode};

/// Asserts that the call is rejected before anything is sent, with these words in the message.
#[track_caller]
fn refused(setup: &Setup, words: &str) {
    let ran = setup.idempost.run(&CALL).says(&[words]).hides(&["bug in idempost"]);
    assert!(matches!(ran.code, Some(1 | 4)) && ran.stdout.is_empty(), "{ran:?}");
    assert_eq!(setup.service.asked(), 0, "{ran:?}");
}

#[test]
fn a_malformed_file_is_refused_with_its_path_and_left_unchanged() {
    // E-01
    let setup = Setup::expired();
    let path = setup.file("cred");
    let whole = std::fs::read(&path).unwrap();
    let cut = &whole[..whole.len() / 2];
    let newer =
        String::from_utf8(whole.clone()).unwrap().replace("\"form\":1,\"login\"", "\"form\":2,\"login\"");
    for bad in [&b""[..], b"  \n", b"{bad", b"\xff\xfe", cut, newer.as_bytes()] {
        std::fs::write(&path, bad).unwrap();
        refused(&setup, "default.cred");
        assert_eq!(std::fs::read(&path).unwrap(), bad);
    }
    std::fs::write(&path, &whole).unwrap();
    setup.works();
}

#[test]
fn a_file_readable_by_others_is_refused_with_a_hint() {
    // E-04
    let setup = Setup::expired();
    for mode in [0o644, 0o660, 0o666, 0o604] {
        set_mode(setup.file("cred"), mode);
        refused(&setup, "chmod 600");
    }
    set_mode(setup.file("cred"), 0o600);
    set_mode(setup.folder(), 0o777);
    refused(&setup, "(mode 777); run: chmod 700");
    set_mode(setup.folder(), 0o700);
    if rustix::process::geteuid().is_root() {
        // As with sudo in another user's home folder. Only root can give files away; the SDK's `files.rs` proves the rule for every user.
        for path in [setup.file("cred"), setup.folder()] {
            std::os::unix::fs::chown(&path, Some(1), None).unwrap();
            refused(&setup, "belongs to user 1");
            std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        }
    }
    setup.works();
}

#[test]
fn a_home_folder_whose_path_is_not_text_is_used() {
    // E-11
    use std::os::unix::ffi::OsStringExt as _;
    let setup = Setup::expired();
    let odd = setup.idempost.home().join(std::ffi::OsString::from_vec(b"h\xffme".to_vec()));
    std::fs::create_dir(&odd).unwrap();
    std::fs::rename(setup.idempost.home().join(".config"), odd.join(".config")).unwrap();
    setup.command().env("HOME", &odd).finish().ok();
    assert_eq!(setup.shown(), 1);
}

#[test]
fn links_are_not_followed() {
    // E-05
    let aside = tempfile::tempdir().unwrap();
    for ending in ["cred", "lock", "next"] {
        let setup = Setup::expired();
        let (path, target) = (setup.file(ending), aside.path().join(ending));
        if path.exists() {
            std::fs::rename(&path, &target).unwrap();
        } else {
            std::fs::write(&target, "").unwrap();
            set_mode(&target, 0o600);
        }
        symlink(&target, &path).unwrap();
        refused(&setup, "is a link");
    }
    let setup = Setup::expired();
    std::fs::hard_link(setup.file("cred"), aside.path().join("second")).unwrap();
    refused(&setup, "hard link");

    let setup = Setup::expired();
    std::fs::rename(setup.folder(), aside.path().join("folder")).unwrap();
    symlink(aside.path().join("folder"), setup.folder()).unwrap();
    refused(&setup, "link");
}

#[test]
fn a_special_file_is_refused_without_blocking() {
    // E-01
    let setup = Setup::expired();
    let path = setup.file("cred");
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg("-m600").arg(&path).status().unwrap().success());
    refused(&setup, "isn't a regular file");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused(&setup, "default.cred");
    std::fs::remove_dir(&path).unwrap();
    std::fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
    set_mode(&path, 0o600);
    refused(&setup, "larger than 1 MiB");
}

#[test]
fn a_malformed_login_does_not_affect_other_profiles() {
    // E-02
    let setup = Setup::expired();
    std::fs::write(setup.folder().join("other.cred"), "{bad").unwrap();
    setup.works();
    assert_eq!(std::fs::read(setup.folder().join("other.cred")).unwrap(), b"{bad");
}

#[test]
fn an_unwritable_folder_stops_a_refresh_before_anything_is_sent() {
    // E-06
    let setup = Setup::expired();
    std::fs::create_dir(setup.file("lock")).unwrap();
    refused(&setup, "default.lock");
    // Another login wouldn't help.
    let error = setup.idempost.run(&(&CALL[..], "--json")).error(1);
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("authentication failed: the token store is unavailable: "), "{error}");
    // Modes don't restrict root.
    if !rustix::process::geteuid().is_root() {
        let setup = Setup::expired();
        set_mode(setup.folder(), 0o500);
        refused(&setup, "credentials");
        set_mode(setup.folder(), 0o700);
    }
}

#[test]
fn a_refreshed_token_that_cannot_be_saved_has_its_own_exit_code() {
    // E-06, E-08
    for command in [&CALL[..], &["auth", "token"]] {
        let setup = Setup::expired();
        let (folder, home) = (setup.folder(), setup.idempost.home().to_owned());
        setup.service.core().on_request(move |request| {
            if request.path == "/oauth/token" {
                // While the response is in flight, the folder for the new token is replaced.
                std::fs::rename(&folder, home.join("aside")).unwrap();
                std::fs::write(&folder, "in the way").unwrap();
            }
        });
        let error = setup.idempost.run(&(command, "--json")).error(11);
        has(&error, &json!({"kind": "credential_not_saved", "retryable": false}));
        let message = error["message"].as_str().unwrap();
        assert!(
            message.matches("unavailable").count() == 1
                && message.contains("couldn't be saved")
                && message.contains("credentials/default."),
            "{error}"
        );
        assert!(error["hint"].as_str().unwrap().contains("idempost auth login"), "{error}");
        assert_eq!(setup.shown(), 1);
    }
}

#[test]
fn a_file_size_limit_stops_a_refresh_before_anything_is_sent() {
    // E-06
    let setup = Setup::expired();
    let before = std::fs::read(setup.file("cred")).unwrap();
    // No file may grow beyond 4 KiB: like a full disk.
    let ran = setup.through("trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"");
    assert_ne!(ran.code, Some(0));
    assert_eq!((setup.shown(), std::fs::read(setup.file("cred")).unwrap()), (0, before), "{ran:?}");
    setup.works();
}

#[test]
fn files_are_private_regardless_of_the_umask() {
    // E-14
    for mask in ["000", "077", "777"] {
        let setup = Setup::expired();
        setup.through(&format!("umask {mask}; exec \"$0\" \"$@\"")).ok();
        assert_eq!(mode(setup.file("cred")), 0o600, "{mask}");
        set_mode(setup.file("lock"), 0o600);
        setup.works();
        assert_eq!(setup.shown(), 1);
    }
}

#[test]
fn the_lock_names_its_holder_by_its_command_up_to_the_first_flag() {
    let setup = Setup::fresh();
    for (arguments, command) in [
        (&["auth", "logout", "--json"][..], "idempost auth logout"),
        (&["--json", "auth", "logout"], "idempost"),
    ] {
        setup.log_in();
        setup.idempost.run(arguments).ok();
        let holder: Value = serde_json::from_slice(&std::fs::read(setup.file("lock")).unwrap()).unwrap();
        assert_eq!(holder["command"], command);
    }
}

#[test]
fn a_login_copied_from_another_machine_is_not_refreshed() {
    // E-03
    let setup = Setup::expired();
    let mut kept = setup.kept();
    kept["host"] = "another".into();
    setup.write(&kept);
    if std::fs::read_to_string("/etc/machine-id").is_ok_and(|id| !id.trim().is_empty()) {
        refused(&setup, "copied from another machine");
    } else {
        // A machine without an ID can't recognize the copy; `stored.rs` proves the rule for every machine.
        setup.works();
    }
}

#[test]
fn with_few_file_descriptors_it_fails_cleanly() {
    // F-08
    let setup = Setup::expired();
    let ran = setup.through("ulimit -n 16; exec \"$0\" \"$@\"").hides(&["bug in"]);
    assert!(ran.code.is_some_and(|code| code != 101), "{ran:?}");
    setup.age();
    setup.works();
}

#[test]
fn a_revoked_login_that_cannot_be_removed_has_ended_and_the_next_logout_removes_it() {
    let setup = Setup::fresh();
    let held = setup.service.hold("/oauth/revoke");
    let logout = setup.idempost.spawn("auth logout");
    held.wait();
    // A folder can't be removed like a file.
    std::fs::create_dir(setup.file("next")).unwrap();
    drop(held);
    let reported = ["the grant is revoked, but its record stays: couldn't remove ", "idempost auth logout"];
    logout.finish().fails_with(1, &reported);
    let ended = ["it was logged out and revoked at 20", "idempost auth login"];
    setup.idempost.run("auth status").exits(4).says(&ended);
    std::fs::remove_dir(setup.file("next")).unwrap();
    let asked = setup.service.asked();
    setup.idempost.run(&CALL).fails_with(4, &ended);
    setup.idempost.run("auth logout").ok_with(&["logged out of profile `default`\n"]);
    assert_eq!(setup.service.asked(), asked);
    assert!(setup.files().is_empty());
}
