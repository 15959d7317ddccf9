//! Tests of both stores through their public interface, with a keyring that can fail.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use idempost::auth::{LockedStore, RefreshPending, TokenRecord, TokenStore};
use secrecy::ExposeSecret as _;
use secrecy::zeroize::Zeroizing;

use super::keyring::backend::{SecretBackend, SecretBackendError};
use super::place::FileKind;
use super::stored::tests::login;
use super::*;

/// A keyring in memory, with an injected failure.
#[derive(Debug, Default)]
struct TestBackend {
    entries: Mutex<BTreeMap<String, String>>,
    failure: Mutex<Failure>,
    calls: Mutex<Vec<&'static str>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Failure {
    #[default]
    None,
    Locked,
    /// Reads succeed, writes fail.
    ReadOnly,
    /// Writes report success but are lost.
    Forgets,
    /// Writes succeed but report a timeout.
    SlowToAnswer,
}

impl TestBackend {
    fn failure(&self, failure: Failure) {
        *self.failure.lock().unwrap() = failure;
    }
}

impl SecretBackend for TestBackend {
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, SecretBackendError> {
        self.calls.lock().unwrap().push("get");
        match *self.failure.lock().unwrap() {
            Failure::Locked => Err(SecretBackendError::Locked),
            _ => Ok(self.entries.lock().unwrap().get(user).cloned().map(Zeroizing::new)),
        }
    }

    fn set(&self, user: &str, secret: &str) -> Result<(), SecretBackendError> {
        self.calls.lock().unwrap().push("set");
        let keep = || drop(self.entries.lock().unwrap().insert(user.to_owned(), secret.to_owned()));
        match *self.failure.lock().unwrap() {
            Failure::None => keep(),
            Failure::Locked | Failure::ReadOnly => return Err(SecretBackendError::Locked),
            Failure::Forgets => {}
            Failure::SlowToAnswer => {
                keep();
                return Err(SecretBackendError::Slow(Duration::from_secs(5)));
            }
        }
        Ok(())
    }

    fn delete(&self, user: &str) -> Result<(), SecretBackendError> {
        self.calls.lock().unwrap().push("delete");
        self.entries.lock().unwrap().remove(user);
        Ok(())
    }
}

/// A folder, a keyring, and a store over both.
struct Fixture {
    home: tempfile::TempDir,
    backend: Arc<TestBackend>,
    store: ProfileStore,
}

impl Fixture {
    fn new(kind: StoreKind) -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        let env = Env::from_pairs(&[
            ("IDEMPOST_CONFIG_DIR", &folder("config")),
            ("XDG_STATE_HOME", &folder("state")),
        ]);
        let backend = Arc::new(TestBackend::default());
        let place = Place::new(&env, Some("work")).unwrap();
        let store =
            ProfileStore { place, wanted: Some(kind), backend: backend.clone(), peeked: Arc::default() };
        Self { home, backend, store }
    }

    /// With a login of this generation in it.
    fn with(kind: StoreKind, generation: u64) -> Self {
        let fixture = Self::new(kind);
        fixture.locked(|store| write(store, &login(generation)).unwrap());
        fixture
    }

    fn file(&self, part: FileKind) -> PathBuf {
        self.store.place.file(part)
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Box<dyn LockedStore>) -> T) -> T {
        work(&mut now(self.store.lock(Duration::ZERO)).unwrap())
    }

    /// What the next process finds under the lock.
    fn found(&self) -> Result<Option<TokenRecord>, StoreError> {
        self.locked(read)
    }

    fn generation(&self) -> u64 {
        self.found().unwrap().unwrap().generation
    }

    /// Marks a refresh as pending, then saves it.
    fn renew(&self, from: u64) -> Result<(), StoreError> {
        self.locked(|store| {
            read(store)?;
            write(store, &pending_login(from))?;
            write(store, &login(from + 1))
        })
    }

    /// The names of all files except the lock.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.store.place.folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "work.lock").collect();
        names.sort();
        names
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn write(store: &mut Box<dyn LockedStore>, record: &TokenRecord) -> Result<(), StoreError> {
    now(store.write(record))
}

fn read(store: &mut Box<dyn LockedStore>) -> Result<Option<TokenRecord>, StoreError> {
    now(store.read())
}

/// A login with a pending refresh.
fn pending_login(generation: u64) -> TokenRecord {
    let mut record = login(generation);
    let mark = serde_json::json!({"since": "2026-01-01T00:00:00Z", "attempts": 1});
    record.pending = serde_json::from_value::<Option<RefreshPending>>(mark).unwrap();
    record
}

const BOTH: [StoreKind; 2] = [StoreKind::File, StoreKind::Keyring];

#[test]
fn a_login_is_stored_refreshed_and_removed_without_leftovers() {
    // D-22
    for kind in BOTH {
        let fixture = Fixture::new(kind);
        assert!(fixture.found().unwrap().is_none());
        fixture.locked(|store| write(store, &login(1)).unwrap());
        for generation in 1..50 {
            fixture.renew(generation).unwrap();
            let read = now(fixture.store.read()).unwrap().unwrap();
            assert_eq!(read.to_json(), login(generation + 1).to_json(), "{kind:?}");
        }
        let expected: &[&str] = match kind {
            StoreKind::File => &["work.cred", "work.state"],
            StoreKind::Keyring => &["work.state"],
        };
        assert_eq!(fixture.files(), expected);
        fixture.locked(|store| now(store.remove()).unwrap());
        assert!(fixture.found().unwrap().is_none());
        assert!(fixture.files().is_empty() && fixture.backend.entries.lock().unwrap().is_empty());
    }
}

#[test]
fn a_pending_refresh_is_visible_to_all_readers_until_it_is_cleared() {
    for kind in BOTH {
        let fixture = Fixture::with(kind, 1);
        fixture.locked(|store| {
            read(store).unwrap();
            write(store, &pending_login(1)).unwrap();
            // Reading again in between keeps the reserved space.
            assert!(read(store).unwrap().unwrap().pending.is_some());
            assert!(fixture.file(FileKind::Next).exists());
        });
        let seen = now(fixture.store.read()).unwrap().unwrap();
        assert_eq!(seen.pending, pending_login(1).pending);
        // A process after one that died finds the pending refresh, and unused reserved space.
        assert_eq!(fixture.found().unwrap().unwrap().pending, pending_login(1).pending);
        assert!(!fixture.file(FileKind::Next).exists());
        fixture.locked(|store| {
            read(store).unwrap();
            write(store, &pending_login(1)).unwrap();
            assert!(fixture.file(FileKind::Next).exists());
            write(store, &login(1)).unwrap();
            assert!(!fixture.file(FileKind::Next).exists(), "{kind:?}");
        });
        assert!(fixture.found().unwrap().unwrap().pending.is_none());
    }
}

#[test]
fn a_record_and_the_next_one_have_16_kib_each_or_twice_the_size_of_a_long_record() {
    for token in [10, 20_000] {
        let fixture = Fixture::with(StoreKind::File, 1);
        let mut record = pending_login(1);
        record.access_token = Some(idempost::types::AccessToken::new("a".repeat(token)).unwrap());
        fixture.locked(|store| {
            write(store, &record).unwrap();
            let size = |part| std::fs::metadata(fixture.file(part)).unwrap().len();
            let (cred, next) = (size(FileKind::Cred), size(FileKind::Next));
            assert!(if token == 10 {
                (cred, next) == (16_384, 16_384)
            } else {
                cred > 20_000 && next == 2 * cred
            });
        });
    }
}

/// Another login of the first generation.
fn other_login() -> TokenRecord {
    let mut other = login(1);
    other.refresh_token = Some("rt_other".to_owned().into());
    other.scope = "emails:send".to_owned();
    other
}

#[test]
fn a_change_interrupted_between_the_keyring_and_its_state_is_completed_by_the_next_process() {
    for (changed, is_renewal) in [(other_login(), false), (login(2), false), (login(2), true)] {
        let fixture = Fixture::with(StoreKind::Keyring, 1);
        let state = std::fs::read(fixture.file(FileKind::State)).unwrap();
        if is_renewal {
            fixture.renew(1).unwrap();
        } else {
            fixture.locked(|store| write(store, &changed).unwrap());
        }
        std::fs::write(fixture.file(FileKind::State), state).unwrap();
        let known = || {
            let credentials = Credentials { place: fixture.store.place.clone(), peeked: Arc::default() };
            let metadata = credentials.overview().unwrap().unwrap().metadata;
            (metadata.generation, metadata.scope)
        };
        assert_eq!(known(), (1, String::new()));
        assert_eq!(fixture.found().unwrap().unwrap().to_json(), changed.to_json());
        assert_eq!(known(), (changed.generation, changed.scope));
    }
}

#[test]
fn a_new_login_replaces_any_other_regardless_of_generation_and_store() {
    for (first, second) in [
        (StoreKind::File, StoreKind::Keyring),
        (StoreKind::Keyring, StoreKind::File),
        (StoreKind::File, StoreKind::File),
        (StoreKind::Keyring, StoreKind::Keyring),
    ] {
        for generation in [1, 8] {
            let mut fixture = Fixture::with(first, 7);
            fixture.store.wanted = Some(second);
            fixture.locked(|store| write(store, &login(generation)).unwrap());
            fixture.store.wanted = None;
            assert_eq!(fixture.generation(), generation);
            fixture.renew(generation).unwrap();
            assert_eq!(fixture.generation(), generation + 1);
            assert_eq!(
                fixture.file(FileKind::Cred).exists(),
                second == StoreKind::File,
                "{first:?} {second:?}"
            );
            assert_eq!(fixture.backend.entries.lock().unwrap().is_empty(), second == StoreKind::File);
        }
    }
}

#[test]
fn an_unreadable_file_is_reported_with_its_path_and_stays_until_a_login_replaces_it() {
    // E-01
    let fixture = Fixture::with(StoreKind::File, 1);
    let path = fixture.file(FileKind::Cred);
    let whole = std::fs::read(&path).unwrap();
    for bad in [b"".to_vec(), b" \n".to_vec(), b"{bad".to_vec(), b"\xff".to_vec(), whole[..200].to_vec()] {
        std::fs::write(&path, &bad).unwrap();
        for error in [fixture.found().unwrap_err(), now(fixture.store.read()).unwrap_err()] {
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), bad);
    }
    fixture.locked(|store| write(store, &login(1)).unwrap());
    assert_eq!(fixture.generation(), 1);
}

/// The bytes that a writer of this step would have left in `.next`.
fn next_of(fixture: &Fixture, kind: StoreKind, generation: u64, another_login: bool) -> Vec<u8> {
    let place = &fixture.store.place;
    let mut record = match kind {
        StoreKind::File => file::peek(place).unwrap().unwrap(),
        StoreKind::Keyring => {
            let state = state::State::read(place).unwrap().unwrap();
            KeyringStore { place, backend: &*fixture.backend }.peek(&state).unwrap().unwrap()
        }
    };
    if another_login {
        "another".clone_into(&mut record.login);
    }
    record.credential = StoredCredential::Login(Box::new(login(generation)));
    match kind {
        StoreKind::File => stored::to_file(&record).to_vec(),
        StoreKind::Keyring => {
            let entries = fixture.backend.entries.lock().unwrap();
            let key = entries.iter().find(|(user, _)| user.ends_with("key")).unwrap().1;
            let key = encrypted::Key::from_text(key).unwrap();
            encrypted::seal(&key, encrypted::Label::new(place, &record), &record.to_json()).unwrap()
        }
    }
}

#[test]
fn a_next_record_is_adopted_if_it_continues_this_login_and_removed_if_not() {
    // E-03, E-07
    for kind in BOTH {
        let fixture = Fixture::with(kind, 3);
        fixture.locked(|store| {
            read(store).unwrap();
            write(store, &pending_login(3)).unwrap();
        });
        let put = |bytes: &[u8]| {
            private_file::replace(
                &fixture.file(FileKind::Next),
                &fixture.file(FileKind::Temporary),
                bytes,
                private_file::RESERVED_BYTES,
            )
            .unwrap();
        };
        let good = next_of(&fixture, kind, 4, false);
        let old = next_of(&fixture, kind, 2, false);
        let far = next_of(&fixture, kind, 5, false);
        let untrusted = next_of(&fixture, kind, 4, true);
        let mut changed = good.clone();
        changed[good.len() / 2] ^= 1;
        for useless in [&old[..], &far, &untrusted, &changed, &good[..good.len() / 2]] {
            put(useless);
            assert_eq!(fixture.generation(), 3, "{kind:?}");
            assert!(!fixture.file(FileKind::Next).exists());
        }
        put(&good);
        let found = fixture.found().unwrap().unwrap();
        assert_eq!((found.generation, found.pending), (4, None));
        assert!(!fixture.file(FileKind::Next).exists());
        fixture.renew(4).unwrap();
    }
}

#[test]
fn a_refreshed_record_that_cannot_be_saved_is_recovered_from_a_fallback_file() {
    // E-08
    for kind in BOTH {
        let fixture = Fixture::with(kind, 1);
        fixture.locked(|store| {
            read(store).unwrap();
            write(store, &pending_login(1)).unwrap();
            fixture.backend.failure(Failure::ReadOnly);
            // The folder is missing when the response arrives.
            let aside = fixture.home.path().join("aside");
            std::fs::rename(fixture.store.place.folder(), &aside).unwrap();
            write(store, &login(2)).unwrap();
            std::fs::rename(&aside, fixture.store.place.folder()).unwrap();
        });
        fixture.backend.failure(Failure::None);
        let spilled = || fixture.store.place.fallback_files().iter().any(|path| path.exists());
        assert!(spilled(), "{kind:?}");
        // Not through the file that is still open.
        std::fs::remove_file(fixture.file(FileKind::Next)).unwrap_or_default();
        assert_eq!(fixture.generation(), 2, "{kind:?}");
        assert!(!spilled());
        fixture.renew(2).unwrap();
    }
}

#[test]
fn a_fallback_file_of_an_earlier_generation_or_without_a_pending_refresh_is_not_adopted() {
    // E-08
    for kind in BOTH {
        let fixture = Fixture::with(kind, 1);
        let path = fixture.store.place.fallback_files().remove(0);
        private_file::folder(path.parent().unwrap()).unwrap();
        let outdated = [next_of(&fixture, kind, 1, false), next_of(&fixture, kind, 2, false)];
        fixture.renew(1).unwrap();
        fixture.renew(2).unwrap();
        for bytes in outdated {
            private_file::replace(&path, &path.with_extension("part"), &bytes, private_file::RESERVED_BYTES)
                .unwrap();
            fixture.locked(|store| {
                read(store).unwrap();
                write(store, &pending_login(3)).unwrap();
            });
            let found = fixture.found().unwrap().unwrap();
            assert_eq!((found.generation, found.pending.is_some()), (3, true), "{kind:?}");
        }
        fixture.locked(|store| {
            read(store).unwrap();
            write(store, &login(3)).unwrap();
        });
        let bytes = next_of(&fixture, kind, 4, false);
        private_file::replace(&path, &path.with_extension("part"), &bytes, private_file::RESERVED_BYTES)
            .unwrap();
        assert_eq!(fixture.generation(), 3, "{kind:?}");
        fixture.renew(3).unwrap();
    }
}

#[test]
fn a_keyring_failure_after_the_exchange_loses_nothing() {
    // E-10
    for failure in [Failure::Locked, Failure::ReadOnly, Failure::Forgets, Failure::SlowToAnswer] {
        let fixture = Fixture::with(StoreKind::Keyring, 1);
        fixture.locked(|store| {
            read(store).unwrap();
            write(store, &pending_login(1)).unwrap();
            fixture.backend.failure(failure);
            write(store, &login(2)).unwrap();
        });
        assert_eq!(fixture.file(FileKind::Next).exists(), failure != Failure::SlowToAnswer, "{failure:?}");
        // While it fails, the token in the file is used and never refreshed.
        if matches!(failure, Failure::ReadOnly | Failure::Forgets) {
            fixture.locked(|store| {
                assert_eq!(read(store).unwrap().unwrap().generation, 2);
                let error = write(store, &pending_login(2)).unwrap_err();
                assert!(error.to_string().contains("not written"), "{error}");
            });
            assert!(fixture.file(FileKind::Next).exists());
        }
        if failure == Failure::Locked {
            assert!(fixture.found().unwrap_err().to_string().contains("locked"));
            assert!(fixture.file(FileKind::Next).exists());
        }
        fixture.backend.failure(Failure::None);
        assert_eq!(fixture.generation(), 2, "{failure:?}");
        assert!(!fixture.file(FileKind::Next).exists());
        fixture.renew(2).unwrap();
    }
}

#[test]
fn a_keyring_failure_before_the_exchange_prevents_it() {
    // E-10
    let fixture = Fixture::with(StoreKind::Keyring, 1);
    let written = fixture.locked(|store| {
        read(store).unwrap();
        fixture.backend.failure(Failure::Locked);
        write(store, &pending_login(1))
    });
    assert!(written.unwrap_err().to_string().contains("locked"));
    fixture.backend.failure(Failure::None);
    assert!(fixture.found().unwrap().unwrap().pending.is_none());
}

#[test]
fn a_keyring_without_the_key_of_the_encrypted_files_prevents_a_refresh() {
    // E-03, E-10
    let fixture = Fixture::with(StoreKind::Keyring, 1);
    fixture.backend.entries.lock().unwrap().retain(|user, _| !user.ends_with("key"));
    assert_eq!(fixture.generation(), 1, "the access token can still be used");
    let error = fixture.renew(1).unwrap_err().to_string();
    assert!(error.contains("lacks the key") && error.contains("log in again"), "{error}");
    assert!(fixture.found().unwrap().unwrap().pending.is_none() && !fixture.file(FileKind::Next).exists());
    // Another login has another key, even if its generation is the same.
    fixture.locked(|store| write(store, &other_login()).unwrap());
    fixture.locked(|store| {
        let mut pending = read(store).unwrap().unwrap();
        pending.pending = pending_login(1).pending;
        write(store, &pending).unwrap();
    });
}

#[test]
fn an_entry_that_disappears_during_a_refresh_loses_no_token() {
    // E-10
    let fixture = Fixture::with(StoreKind::Keyring, 1);
    fixture.locked(|store| {
        read(store).unwrap();
        write(store, &pending_login(1)).unwrap();
        // Another program deletes all entries while the response is in flight.
        fixture.backend.entries.lock().unwrap().clear();
        write(store, &login(2)).unwrap();
    });
    assert_eq!(fixture.generation(), 2);
}

#[test]
fn a_keyring_restored_from_a_backup_is_rejected() {
    // E-13
    let fixture = Fixture::with(StoreKind::Keyring, 1);
    let copy = fixture.backend.entries.lock().unwrap().clone();
    fixture.renew(1).unwrap();
    *fixture.backend.entries.lock().unwrap() = copy;
    let error = fixture.found().unwrap_err().to_string();
    assert!(error.contains("generation 1") && error.contains("log in again"), "{error}");
}

#[test]
fn a_long_access_token_is_written_to_an_encrypted_file_and_the_entry_stays_short() {
    // E-10
    let fixture = Fixture::with(StoreKind::Keyring, 1);
    let mut long = login(1);
    let token = "a".repeat(2000);
    long.access_token = Some(idempost::types::AccessToken::new(token.clone()).unwrap());
    // Of the same generation: a response that contained only an access token.
    fixture.locked(|store| write(store, &long).unwrap());
    for entry in fixture.backend.entries.lock().unwrap().values() {
        assert!(entry.encode_utf16().count() <= 1280 && !entry.contains(&token));
    }
    let file = std::fs::read(fixture.file(FileKind::Token)).unwrap();
    assert!(!String::from_utf8_lossy(&file).contains(&token));
    fixture.backend.calls.lock().unwrap().clear();
    let read = now(fixture.store.read()).unwrap().unwrap();
    assert_eq!(read.access_token.unwrap().expose(), token);
    assert_eq!(*fixture.backend.calls.lock().unwrap(), ["get"]);
    // Without the file only the access token is missing.
    std::fs::remove_file(fixture.file(FileKind::Token)).unwrap();
    assert!(fixture.found().unwrap().unwrap().access_token.is_none());
}

#[test]
fn an_api_key_is_not_a_login_and_a_login_replaces_it() {
    for kind in BOTH {
        let fixture = Fixture::new(kind);
        let key = StoredKey {
            origin: "https://a.test".to_owned(),
            key: SecretString::from("re_sentinel"),
            since: Timestamp::UNIX_EPOCH,
        };
        let mut locked_profile = now(fixture.store.lock_profile(Duration::ZERO)).unwrap();
        locked_profile.write(StoredCredential::ApiKey(key)).unwrap();
        drop(locked_profile);
        let Some(StoredCredential::ApiKey(read)) = fixture.store.peek().unwrap() else { panic!("no key") };
        assert_eq!(read.key.expose_secret(), "re_sentinel");
        assert!(fixture.found().unwrap().is_none());
        fixture.locked(|store| write(store, &login(1)).unwrap());
        assert_eq!(fixture.generation(), 1);
    }
}

#[test]
fn an_overview_contains_no_secret_and_needs_no_keyring() {
    for kind in BOTH {
        let fixture = Fixture::with(kind, 4);
        fixture.backend.calls.lock().unwrap().clear();
        let overview = Credentials { place: fixture.store.place.clone(), peeked: Arc::default() }
            .overview()
            .unwrap()
            .unwrap();
        assert_eq!((overview.metadata.generation, overview.store), (4, kind));
        assert_eq!(overview.metadata.origin, "https://a.test");
        assert!(!format!("{overview:?}").contains("sentinel"));
        assert!(fixture.backend.calls.lock().unwrap().is_empty());
    }
}

#[test]
fn a_reader_sees_the_old_or_the_new_record_and_never_a_mix() {
    // E-15
    let fixture = Fixture::with(StoreKind::File, 1);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0_u32;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let Some(StoredCredential::Login(record)) = fixture.store.peek().unwrap() else {
                    panic!("no login")
                };
                assert_eq!(
                    record.refresh_token.as_ref().unwrap().expose(),
                    format!("rt_sentinel_{}", record.generation)
                );
                looks += 1;
            }
            looks
        });
        (1..40).for_each(|generation| fixture.renew(generation).unwrap());
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().unwrap() > 10);
    });
}

#[test]
fn credentials_are_copied_within_their_store_and_removed_under_the_same_lock() {
    for kind in [StoreKind::File, StoreKind::Keyring] {
        let fixture = Fixture::with(kind, 3);
        let folder = |name: &str| fixture.home.path().join(name).to_str().unwrap().to_owned();
        let env = Env::from_pairs(&[
            ("IDEMPOST_CONFIG_DIR", &folder("config")),
            ("XDG_STATE_HOME", &folder("state")),
        ]);
        let place = Place::new(&env, Some("acme")).unwrap();
        let other = || ProfileStore { place: place.clone(), wanted: None, ..fixture.store.clone() };
        let other_has = || now(other().lock(Duration::ZERO)).and_then(|mut store| now(store.read())).unwrap();

        fixture.backend.failure(Failure::ReadOnly);
        let refused = now(fixture.store.copy_to(other())).is_err();
        fixture.backend.failure(Failure::None);
        if kind == StoreKind::Keyring {
            assert!(refused && other_has().is_none() && fixture.generation() == 3);
        } else {
            now(other().lock(Duration::ZERO)).and_then(|mut store| now(store.remove())).unwrap();
        }
        let copied = now(fixture.store.copy_to(other())).unwrap().unwrap();
        assert!(matches!(now(fixture.store.lock(Duration::ZERO)), Err(StoreError::Busy { .. })));
        now(copied.remove()).unwrap();
        assert!(fixture.found().unwrap().is_none());
        assert_eq!(read_recorded(&place).unwrap().unwrap().0, kind);
        assert_eq!(
            other_has().unwrap().refresh_token.as_ref().unwrap().expose(),
            login(3).refresh_token.as_ref().unwrap().expose()
        );
        assert!(now(fixture.store.copy_to(other())).unwrap().is_none());

        let unsettled = Fixture::with(kind, 3);
        unsettled.locked(|store| {
            read(store).unwrap();
            write(store, &pending_login(3)).unwrap();
        });
        assert!(now(unsettled.store.copy_to(other())).unwrap_err().to_string().contains("hasn't finished"));
    }
}

#[test]
fn a_failure_of_the_store_names_the_next_step() {
    let busy = store_failure(&StoreError::Busy { holder: None });
    assert!(matches!(busy, Fail::Unavailable { hint: Some(hint), .. } if hint == "try again"));
    let unreadable = store_failure(&StoreError::unreadable("cut off"));
    assert!(matches!(unreadable, Fail::Auth { hint: Some(hint), .. } if hint == LOGIN));
    let unavailable = store_failure(&StoreError::unavailable("no space left"));
    assert!(matches!(unavailable, Fail::Local { hint: None, .. }));
}
