//! The file store, on a disk whose steps fail or end the process.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Stdio},
    time::SystemTime,
};

use super::{
    super::files::tests::{Fault, Folder, set_fault},
    *,
};
use crate::auth::record::RefreshPending;

fn login(generation: u64) -> TokenRecord {
    let token = format!("rt_sentinel_{generation}");
    let mut record = TokenRecord::new("https://a.test", "https://a.test/oauth/token", "c", token.into());
    record.generation = generation;
    record
}

/// Returns a login whose refresh has started.
fn pending(generation: u64) -> TokenRecord {
    let mut record = login(generation);
    record.pending = Some(RefreshPending { since: SystemTime::UNIX_EPOCH, attempts: 1 });
    record
}

fn lock(store: &FileStore) -> Locked {
    store.take(Duration::ZERO, || false).unwrap()
}

/// Returns the generation that the next process finds under the lock, and whether its refresh is pending.
fn stored_state(store: &FileStore) -> Option<(u64, bool)> {
    lock(store).read().unwrap().map(|record| (record.generation, record.pending.is_some()))
}

/// Returns a store with a login of generation 1.
fn fixture() -> (Folder, FileStore) {
    let folder = Folder::new();
    let store = FileStore::new(folder.join("login"));
    lock(&store).write(&login(1)).unwrap();
    (folder, store)
}

#[tokio::test]
async fn a_store_without_a_path_is_rejected() {
    let store = FileStore::new("");
    let read = TokenStore::read(&store).await.unwrap_err();
    let locked = TokenStore::lock(&store, Duration::ZERO).await.map(drop).unwrap_err();
    for error in [read, locked] {
        assert!(error.to_string().contains("empty"), "{error}");
    }
    assert!(!Path::new(".lock").exists());
}

#[tokio::test]
async fn a_login_is_stored_refreshed_and_removed_without_leftovers() {
    // D-22
    let folder = Folder::new();
    let store = FileStore::new(folder.join("new/login"));
    assert!(TokenStore::read(&store).await.unwrap().is_none());
    let mut locked = TokenStore::lock(&store, Duration::ZERO).await.unwrap();
    assert!(locked.read().await.unwrap().is_none());
    locked.write(&login(1)).await.unwrap();
    for generation in 1..20 {
        locked.write(&pending(generation)).await.unwrap();
        assert!(TokenStore::read(&store).await.unwrap().unwrap().pending.is_some());
        assert!(locked.read().await.unwrap().unwrap().pending.is_some());
        locked.write(&login(generation + 1)).await.unwrap();
        let read = TokenStore::read(&store).await.unwrap().unwrap();
        assert_eq!(read.to_json(), {
            let mut expected = login(generation + 1);
            expected.obtained_at = read.obtained_at;
            expected.to_json()
        });
    }
    let names = || {
        let entries = fs::read_dir(folder.join("new")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["login", "login.lock"]);
    locked.remove().await.unwrap();
    assert!(TokenStore::read(&store).await.unwrap().is_none());
    locked.remove().await.unwrap();
    assert_eq!(names(), ["login.lock"]);
}

#[cfg(unix)]
#[test]
fn a_pending_refresh_has_the_disk_space_for_its_result() {
    use std::os::unix::fs::MetadataExt as _;
    for token in [10, 20_000] {
        let (folder, store) = fixture();
        let mut locked = lock(&store);
        let mut record = pending(1);
        record.access_token = Some(crate::types::AccessToken::new("a".repeat(token)).unwrap());
        locked.write(&record).unwrap();
        let next = fs::metadata(folder.join("login.next")).unwrap();
        let least = (2 * token as u64).max(RESERVED_BYTES as u64);
        assert!(next.len() >= least && next.mode() & 0o777 == 0o600, "{next:?}");
        // Anything that needs a new file fails.
        let blocked = folder.join("login.tmp");
        fs::create_dir(&blocked).unwrap();
        locked.write(&login(2)).unwrap();
        fs::remove_dir(blocked).unwrap();
        drop(locked);
        assert_eq!(stored_state(&store), Some((2, false)));
    }
}

/// Runs a write in which the process ends before each step in turn. Returns what the next process found each time.
fn ended_at_each_step(before: &[TokenRecord], record: &TokenRecord) -> Vec<Option<(u64, bool)>> {
    let mut results = Vec::new();
    loop {
        let (_folder, store) = fixture();
        let mut locked = lock(&store);
        for record in before {
            locked.write(record).unwrap();
        }
        set_fault(Fault::EndsAt(results.len()));
        let ended = catch_unwind(AssertUnwindSafe(|| locked.write(record).unwrap())).is_err();
        set_fault(Fault::None);
        drop(locked);
        // Readers without the lock always find a login, too.
        store.read_file().unwrap().unwrap();
        let first = stored_state(&store);
        assert_eq!(stored_state(&store), first, "reading again changes nothing");
        if !ended {
            return results;
        }
        results.push(first);
    }
}

#[test]
fn a_process_that_ends_at_any_step_leaves_the_old_or_the_new_record() {
    // E-07, F-01
    let marks = ended_at_each_step(&[], &pending(1));
    let old = marks.iter().take_while(|found| **found == Some((1, false))).count();
    assert!(old >= 5 && marks[old..].iter().all(|found| *found == Some((1, true))), "{marks:?}");

    let saves = ended_at_each_step(&[pending(1)], &login(2));
    let old = saves.iter().take_while(|found| **found == Some((1, true))).count();
    assert_eq!(old, 1, "a complete record in `.next` is adopted: {saves:?}");
    assert!(saves.len() >= 4 && saves[old..].iter().all(|found| *found == Some((2, false))), "{saves:?}");

    let logins = ended_at_each_step(&[], &login(7));
    let old = logins.iter().take_while(|found| **found == Some((1, false))).count();
    assert!(old >= 4 && logins[old..].iter().all(|found| *found == Some((7, false))), "{logins:?}");
}

#[test]
fn a_disk_that_is_full_from_any_step_on_keeps_the_record_and_prevents_the_refresh() {
    // E-06
    let (folder, store) = fixture();
    set_fault(Fault::None);
    lock(&store).write(&pending(1)).unwrap();
    let steps = set_fault(Fault::None);
    lock(&store).write(&login(1)).unwrap();
    for from in 0..steps {
        let mut locked = lock(&store);
        set_fault(Fault::FullFrom(from));
        let error = locked.write(&pending(1)).unwrap_err();
        set_fault(Fault::None);
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert!(error.to_string().contains("idempost-store-"), "{error}");
        drop(locked);
        let found = stored_state(&store);
        // The last step makes the rename durable.
        assert!(
            found == Some((1, false)) || from + 1 == steps && found == Some((1, true)),
            "{from}: {found:?}"
        );
        lock(&store).write(&login(1)).unwrap();
    }
    assert!(steps >= 8, "{steps}");
    assert_eq!(folder.names(), ["login", "login.lock"]);
}

#[test]
fn refreshed_tokens_that_cannot_be_renamed_stay_on_the_disk_however_often_the_save_is_repeated() {
    // E-06
    let (_folder, store) = fixture();
    let mut locked = lock(&store);
    locked.write(&pending(1)).unwrap();
    let refreshed = login(2);
    // The new file is complete after two steps.
    set_fault(Fault::FullFrom(2));
    for _ in 0..3 {
        locked.write(&refreshed).unwrap_err();
    }
    set_fault(Fault::None);
    drop(locked);
    assert_eq!(stored_state(&store), Some((2, false)));
}

#[test]
fn a_damaged_file_is_an_error_and_never_a_missing_login() {
    // E-01
    let (folder, store) = fixture();
    let path = folder.join("login");
    let whole = fs::read(&path).unwrap();
    let text = whole.trim_ascii_end();
    let mut damaged: Vec<Vec<u8>> = (0..text.len()).step_by(7).map(|end| text[..end].to_vec()).collect();
    damaged.extend((0..text.len()).step_by(7).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    }));
    damaged.extend([b"{}".to_vec(), b" \n".to_vec(), vec![0xff; 200], vec![0; RESERVED_BYTES]]);
    for bytes in damaged {
        fs::write(&path, &bytes).unwrap();
        for error in [store.read_file().unwrap_err(), lock(&store).read().unwrap_err()] {
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(path.to_str().unwrap()) && !shown.contains("sentinel"), "{shown}");
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    lock(&store).write(&login(1)).unwrap();
    assert_eq!(stored_state(&store), Some((1, false)));
}

#[test]
fn a_next_record_is_adopted_only_if_it_completes_the_pending_refresh() {
    // E-07
    let (folder, store) = fixture();
    let next = folder.join("login.next");
    let put = |record: &TokenRecord| files::replace(&next, &folder.join("part"), &encode(record), 9).unwrap();
    put(&login(2));
    assert_eq!(stored_state(&store), Some((1, false)), "no refresh is pending");
    lock(&store).write(&pending(1)).unwrap();
    let mut elsewhere = login(2);
    elsewhere.client_id = "other".to_owned();
    for wrong in [login(1), login(3), elsewhere] {
        put(&wrong);
        assert_eq!(stored_state(&store), Some((1, true)));
        assert!(!next.exists());
    }
    put(&login(2));
    assert_eq!(stored_state(&store), Some((2, false)));
    assert_eq!(folder.names(), ["login", "login.lock"]);
}

#[cfg(unix)]
#[test]
fn a_login_that_others_can_read_is_rejected_until_its_mode_is_corrected() {
    // E-04, E-05
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let (folder, store) = fixture();
    let path = folder.join("login");
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o640);
    for error in [store.read_file().unwrap_err(), lock(&store).read().unwrap_err()] {
        assert!(
            matches!(&error, StoreError::Unreadable { reason } if reason.contains("chmod 600")),
            "{error:?}"
        );
    }
    mode(0o600);
    assert_eq!(stored_state(&store), Some((1, false)));
    fs::rename(&path, folder.join("elsewhere")).unwrap();
    symlink(folder.join("elsewhere"), &path).unwrap();
    assert!(store.read_file().unwrap_err().to_string().contains("is a link"));
}

#[tokio::test]
async fn a_second_holder_is_rejected_after_the_timeout_with_the_process_of_the_first() {
    // E-09
    let (_folder, store) = fixture();
    let held = TokenStore::lock(&store, Duration::ZERO).await.unwrap();
    let other = FileStore::new(store.path.clone());
    let Err(error) = TokenStore::lock(&other, Duration::from_millis(60)).await else { panic!("two holders") };
    let holder =
        if cfg!(windows) { "another process".to_owned() } else { format!("process {}", std::process::id()) };
    assert!(matches!(&error, StoreError::Busy { holder: Some(by) } if *by == holder), "{error:?}");
    let waiting =
        tokio::spawn(async move { TokenStore::lock(&other, Duration::from_mins(1)).await.map(drop) });
    drop(held);
    waiting.await.unwrap().unwrap();
}

/// Holds the lock of this store with a pending refresh, until the process is killed.
fn hold(path: std::ffi::OsString) {
    let mut locked = lock(&FileStore::new(path));
    locked.write(&pending(1)).unwrap();
    writeln!(std::io::stdout(), "\nheld").unwrap();
    std::thread::sleep(Duration::from_mins(10));
    std::process::exit(0);
}

#[test]
fn a_lock_excludes_other_processes_and_ends_with_its_holder() {
    // E-09
    // This test also serves as the other process.
    std::env::var_os("IDEMPOST_TEST_STORE").into_iter().for_each(hold);
    let (_folder, store) = fixture();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "auth::store::file::tests::a_lock_excludes_other_processes_and_ends_with_its_holder",
        ])
        .arg("--nocapture")
        .env("IDEMPOST_TEST_STORE", &store.path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap() == "held"));
    let busy = store.take(Duration::ZERO, || false).unwrap_err();
    assert!(cfg!(windows) || busy.to_string().contains(&format!("process {}", child.id())), "{busy}");
    assert!(store.read_file().unwrap().unwrap().pending.is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(stored_state(&store), Some((1, true)), "the mark survives its process");
}

#[tokio::test]
async fn a_write_whose_caller_is_gone_is_completed_before_the_lock_is_released() {
    // D-14
    let (_folder, store) = fixture();
    let mut locked = TokenStore::lock(&store, Duration::ZERO).await.unwrap();
    let mut generation = 1;
    loop {
        locked.write(&pending(generation)).await.unwrap();
        generation += 1;
        let record = login(generation);
        // On a busy machine, a write can end before its first poll.
        if futures_util::poll!(locked.write(&record)).is_pending() {
            break;
        }
        assert!(generation < 100, "no write is pending");
    }
    drop(locked);
    let mut next = TokenStore::lock(&store, Duration::from_mins(1)).await.unwrap();
    assert_eq!(next.read().await.unwrap().unwrap().generation, generation);
}
