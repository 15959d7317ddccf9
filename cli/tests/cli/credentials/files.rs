//! What stands where a login's files should be, and what the program makes of it.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{CALL, House, only_ours};

/// The call is refused before anything is sent, and says why.
#[track_caller]
fn refused(house: &House, words: &str) {
    let ran = house.posthaste.run(&CALL);
    assert!(matches!(ran.code, Some(1 | 4)) && ran.stdout.is_empty(), "{ran:?}");
    assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    assert!(!ran.stderr.contains("bug in posthaste"), "{ran:?}");
    assert_eq!(house.service.asked(), 0, "{ran:?}");
}

#[test]
fn a_file_that_is_not_what_it_should_be_is_refused_by_its_path_and_stays() {
    let house = House::expired();
    let path = house.file("cred");
    let whole = std::fs::read(&path).unwrap();
    let cut = &whole[..whole.len() / 2];
    let newer =
        String::from_utf8(whole.clone()).unwrap().replace("\"form\":1,\"login\"", "\"form\":2,\"login\"");
    for bad in [&b""[..], b"  \n", b"{bad", b"\xff\xfe", cut, newer.as_bytes()] {
        std::fs::write(&path, bad).unwrap();
        refused(&house, "default.cred");
        assert_eq!(std::fs::read(&path).unwrap(), bad);
    }
    std::fs::write(&path, &whole).unwrap();
    house.works();
}

#[test]
fn a_file_that_others_can_read_is_refused_with_what_to_do() {
    let house = House::expired();
    for mode in [0o644, 0o660, 0o666, 0o604] {
        only_ours(&house.file("cred"), mode);
        refused(&house, "chmod 600");
    }
    only_ours(&house.file("cred"), 0o600);
    only_ours(&house.folder(), 0o777);
    refused(&house, "chmod 700");
    only_ours(&house.folder(), 0o700);
    house.works();
}

#[test]
fn links_are_not_followed() {
    let aside = tempfile::tempdir().unwrap();
    for ending in ["cred", "lock", "next"] {
        let house = House::expired();
        let (path, target) = (house.file(ending), aside.path().join(ending));
        if path.exists() {
            std::fs::rename(&path, &target).unwrap();
        } else {
            std::fs::write(&target, "").unwrap();
            only_ours(&target, 0o600);
        }
        symlink(&target, &path).unwrap();
        refused(&house, "is a link");
    }
    let house = House::expired();
    std::fs::hard_link(house.file("cred"), aside.path().join("second")).unwrap();
    refused(&house, "hard link");

    let house = House::expired();
    std::fs::rename(house.folder(), aside.path().join("folder")).unwrap();
    symlink(aside.path().join("folder"), house.folder()).unwrap();
    refused(&house, "link");
}

#[test]
fn what_is_no_file_is_refused_and_does_not_hang() {
    let house = House::expired();
    let path = house.file("cred");
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg("-m600").arg(&path).status().unwrap().success());
    refused(&house, "not a file");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused(&house, "default.cred");
    std::fs::remove_dir(&path).unwrap();
    std::fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
    only_ours(&path, 0o600);
    refused(&house, "larger than 1 MiB");
}

#[test]
fn a_login_of_another_profile_is_none_of_the_others_business() {
    let house = House::expired();
    std::fs::write(house.folder().join("other.cred"), "{bad").unwrap();
    house.works();
    assert_eq!(std::fs::read(house.folder().join("other.cred")).unwrap(), b"{bad");
}

#[test]
fn a_folder_that_cannot_be_written_stops_a_renewal_before_anything_is_sent() {
    if rustix::process::geteuid().is_root() {
        // Modes mean nothing to root: a file where the lock should be made is as good.
        let house = House::expired();
        std::fs::create_dir(house.file("lock")).unwrap();
        refused(&house, "default.lock");
    } else {
        let house = House::expired();
        only_ours(&house.folder(), 0o500);
        refused(&house, "credentials");
        only_ours(&house.folder(), 0o700);
    }
}

#[test]
fn a_refreshed_token_that_cannot_be_saved_has_an_exit_code_of_its_own() {
    for command in [&CALL[..], &["auth", "token"]] {
        let house = House::expired();
        let (folder, home) = (house.folder(), house.posthaste.home().to_owned());
        house.service.core().on_request(move |request| {
            if request.path == "/oauth/token" {
                // While the response is on its way, every place for the new token goes.
                std::fs::rename(&folder, home.join("aside")).unwrap();
                std::fs::write(&folder, "in the way").unwrap();
                std::fs::create_dir_all(home.join(".local/state")).unwrap();
                std::fs::write(home.join(".local/state/posthaste"), "in the way").unwrap();
            }
        });
        let error = house.posthaste.run(&[command, &["--json"]].concat()).error(11);
        assert_eq!((&error["kind"], &error["retryable"]), (&"credential_not_saved".into(), &false.into()));
        let message = error["message"].as_str().unwrap();
        assert!(
            message.matches("not available").count() == 1
                && message.contains("could not be saved")
                && message.contains("credentials/default."),
            "{error}"
        );
        assert!(error["hint"].as_str().unwrap().contains("posthaste auth login"), "{error}");
        assert_eq!(house.shown(), 1);
    }
}

#[test]
fn too_large_a_limit_on_files_stops_a_renewal_before_anything_is_sent() {
    let house = House::expired();
    let before = std::fs::read(house.file("cred")).unwrap();
    // No file may grow beyond 4 KiB: as good as a full disk.
    let output = shell(&house, "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"");
    assert!(!output.status.success());
    assert_eq!((house.shown(), std::fs::read(house.file("cred")).unwrap()), (0, before), "{output:?}");
    house.works();
}

#[test]
fn files_are_their_owners_alone_whatever_the_mask() {
    for mask in ["000", "077", "777"] {
        let house = House::expired();
        let output = shell(&house, &format!("umask {mask}; exec \"$0\" \"$@\""));
        assert!(output.status.success(), "{mask}: {output:?}");
        let mode = std::fs::metadata(house.file("cred")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mask}");
        only_ours(&house.file("lock"), 0o600);
        house.works();
        assert_eq!(house.shown(), 1);
    }
}

#[test]
fn a_login_that_was_copied_from_another_machine_is_not_renewed_here() {
    let house = House::expired();
    let mut kept = house.kept();
    kept["host"] = "another".into();
    house.write(&kept);
    if std::fs::read_to_string("/etc/machine-id").is_ok_and(|id| !id.trim().is_empty()) {
        refused(&house, "copied from another machine");
    } else {
        // A machine without an ID cannot recognize the copy.
        house.works();
    }
}

#[test]
fn a_login_is_for_its_own_service_alone() {
    let house = House::expired();
    let other = crate::service::Service::start();
    let mut command = house.command();
    let output = command.env("POSTHASTE_BASE_URL", other.base_url()).output().unwrap();
    assert_eq!((output.status.code(), other.asked(), house.service.asked()), (Some(4), 0, 0));
}

#[test]
fn with_hardly_any_open_files_it_ends_cleanly() {
    let house = House::expired();
    let output = shell(&house, "ulimit -n 16; exec \"$0\" \"$@\"");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code().is_some_and(|code| code != 101) && !said.contains("bug in"), "{output:?}");
    house.age();
    house.works();
}

#[test]
fn ten_thousand_renewals_would_leave_no_more_than_these_did() {
    let house = House::fresh();
    let before = std::fs::metadata(house.file("cred")).unwrap().len();
    for _ in 0..10 {
        house.age();
        house.works();
    }
    let after = std::fs::metadata(house.file("cred")).unwrap().len();
    assert!(before < after && after == 16 * 1024, "{before} {after}");
    assert_eq!((house.rotations(), house.files()), (10, vec!["default.cred".to_owned()]));
}

/// The call, by way of a shell that prepares its surroundings.
fn shell(house: &House, script: &str) -> std::process::Output {
    let call = house.command();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).arg(call.get_program()).args(call.get_args()).env_clear();
    shell.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(std::process::Stdio::null()).output().unwrap()
}
