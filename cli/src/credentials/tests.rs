//! Tests of both stores through their public interface, with a keyring that can fail.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use idempost::auth::{LockedStore, RefreshPending, TokenRecord, TokenStore};
use secrecy::ExposeSecret as _;
use secrecy::zeroize::Zeroizing;

use super::file::to_file;
use super::keyring::SecretBackend;
use super::place::{CRED, NEXT, TEMPORARY};
use super::stored::tests::{api_key, login};
use super::*;
use crate::diagnostics::Kind;

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

fn locked() -> StoreError {
    StoreError::unavailable("the keyring is locked")
}

impl SecretBackend for TestBackend {
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, StoreError> {
        self.calls.lock().unwrap().push("get");
        match *self.failure.lock().unwrap() {
            Failure::Locked => Err(locked()),
            _ => Ok(self.entries.lock().unwrap().get(user).cloned().map(Zeroizing::new)),
        }
    }

    fn set(&self, user: &str, secret: &str) -> Result<(), StoreError> {
        self.calls.lock().unwrap().push("set");
        let keep = || drop(self.entries.lock().unwrap().insert(user.to_owned(), secret.to_owned()));
        match *self.failure.lock().unwrap() {
            Failure::None => keep(),
            Failure::Locked | Failure::ReadOnly => return Err(locked()),
            Failure::Forgets => {}
            Failure::SlowToAnswer => {
                keep();
                return Err(StoreError::unavailable("the keyring didn't respond"));
            }
        }
        Ok(())
    }

    fn delete(&self, user: &str) -> Result<(), StoreError> {
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
        let env = Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", &folder("config"))]);
        let backend = Arc::new(TestBackend::default());
        let place = Place::new(&env, Some("work")).unwrap();
        let store = ProfileStore { place, wanted: Some(kind), backend: backend.clone() };
        Self { home, backend, store }
    }

    /// With a login of this generation in it.
    fn with_login(kind: StoreKind, generation: u64) -> Self {
        let fixture = Self::new(kind);
        fixture.with_lock(|store| write(store, &login(generation)).unwrap());
        fixture
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.store.place.file(extension)
    }

    fn with_lock<T>(&self, work: impl FnOnce(&mut Box<dyn LockedStore>) -> T) -> T {
        work(&mut now(self.store.lock(Duration::ZERO)).unwrap())
    }

    /// The credential that the next process finds under the lock.
    fn stored_record(&self) -> Result<Option<TokenRecord>, StoreError> {
        self.with_lock(read)
    }

    fn generation(&self) -> u64 {
        self.stored_record().unwrap().unwrap().generation
    }

    /// Marks a refresh as pending, then saves it.
    fn renew(&self, from: u64) -> Result<(), StoreError> {
        self.with_lock(|store| {
            read(store)?;
            write(store, &pending_login(from))?;
            write(store, &login(from + 1))
        })
    }

    /// Marks a refresh as pending, and dies.
    fn begin_renewal(&self, from: u64) {
        self.with_lock(|store| {
            read(store).unwrap();
            write(store, &pending_login(from)).unwrap();
        });
    }

    /// Leaves these bytes in `.next`.
    fn put_next(&self, bytes: &[u8]) {
        let (next, temporary) = (self.file(NEXT), self.file(TEMPORARY));
        private_file::replace(&next, &temporary, bytes, private_file::RESERVED_BYTES).unwrap();
    }

    /// The names of all files except the lock.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.store.place.folder).unwrap();
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
        assert!(fixture.stored_record().unwrap().is_none());
        fixture.with_lock(|store| write(store, &login(1)).unwrap());
        for generation in 1..50 {
            fixture.renew(generation).unwrap();
            let read = now(fixture.store.read()).unwrap().unwrap();
            assert_eq!(read.to_json(), login(generation + 1).to_json(), "{kind:?}");
        }
        assert_eq!(fixture.files(), ["work.cred"]);
        fixture.with_lock(|store| now(store.remove()).unwrap());
        assert!(fixture.stored_record().unwrap().is_none());
        assert!(fixture.files().is_empty() && fixture.backend.entries.lock().unwrap().is_empty());
    }
}

#[test]
fn a_pending_refresh_is_visible_to_all_readers_until_it_is_cleared() {
    for kind in BOTH {
        let fixture = Fixture::with_login(kind, 1);
        fixture.with_lock(|store| {
            read(store).unwrap();
            write(store, &pending_login(1)).unwrap();
            // Reading again in between keeps the reserved space.
            assert!(read(store).unwrap().unwrap().pending.is_some());
            assert!(fixture.file(NEXT).exists());
        });
        let seen = now(fixture.store.read()).unwrap().unwrap();
        assert_eq!(seen.pending, pending_login(1).pending);
        // The process after a dead one finds the pending refresh, and unused reserved space.
        assert_eq!(fixture.stored_record().unwrap().unwrap().pending, pending_login(1).pending);
        assert!(!fixture.file(NEXT).exists());
        fixture.with_lock(|store| {
            read(store).unwrap();
            write(store, &pending_login(1)).unwrap();
            assert!(fixture.file(NEXT).exists());
            write(store, &login(1)).unwrap();
            assert!(!fixture.file(NEXT).exists(), "{kind:?}");
        });
        assert!(fixture.stored_record().unwrap().unwrap().pending.is_none());
    }
}

#[test]
fn a_record_and_the_next_one_have_16_kib_each_or_twice_the_size_of_a_long_record() {
    for token in [10, 20_000] {
        let fixture = Fixture::with_login(StoreKind::File, 1);
        let mut record = pending_login(1);
        record.access_token = Some(idempost::types::AccessToken::new("a".repeat(token)).unwrap());
        fixture.with_lock(|store| {
            write(store, &record).unwrap();
            let size = |part| std::fs::metadata(fixture.file(part)).unwrap().len();
            let (cred, next) = (size(CRED), size(NEXT));
            assert!(if token == 10 {
                (cred, next) == (16_384, 16_384)
            } else {
                cred > 20_000 && next == 2 * cred
            });
        });
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
            let mut fixture = Fixture::with_login(first, 7);
            fixture.store.wanted = Some(second);
            fixture.with_lock(|store| write(store, &login(generation)).unwrap());
            fixture.store.wanted = None;
            assert_eq!(fixture.generation(), generation);
            fixture.renew(generation).unwrap();
            assert_eq!(fixture.generation(), generation + 1);
            let stored = read_file(&fixture.store.place).unwrap().unwrap().store();
            assert_eq!(stored, second, "{first:?} {second:?}");
            assert_eq!(fixture.backend.entries.lock().unwrap().is_empty(), second == StoreKind::File);
        }
    }
}

#[test]
fn an_unreadable_file_is_reported_with_its_path_and_stays_until_a_login_replaces_it() {
    // E-01
    for kind in BOTH {
        let fixture = Fixture::with_login(kind, 1);
        let path = fixture.file(CRED);
        let whole = std::fs::read(&path).unwrap();
        for bad in [b"".to_vec(), b" \n".to_vec(), b"{bad".to_vec(), b"\xff".to_vec(), whole[..200].to_vec()]
        {
            std::fs::write(&path, &bad).unwrap();
            for error in [fixture.stored_record().unwrap_err(), now(fixture.store.read()).unwrap_err()] {
                assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            }
            assert_eq!(std::fs::read(&path).unwrap(), bad);
        }
        fixture.with_lock(|store| write(store, &login(1)).unwrap());
        assert_eq!(fixture.generation(), 1);
        std::fs::write(&path, "{bad").unwrap();
        fixture.with_lock(|store| now(store.remove()).unwrap());
        assert!(fixture.files().is_empty() && fixture.backend.entries.lock().unwrap().is_empty());
    }
}

/// The bytes that a writer of this step would have left in `.next`.
fn next_of(fixture: &Fixture, generation: u64, another_login: bool) -> Vec<u8> {
    let place = &fixture.store.place;
    let key = KeyEntry { place, backend: &*fixture.backend }.get().unwrap();
    let mut record = read_file(place).unwrap().unwrap().open(key.as_ref()).unwrap();
    if another_login {
        "another".clone_into(&mut record.login);
    }
    record.credential = StoredCredential::Login(Box::new(login(generation)));
    to_file(&record, key.as_ref()).unwrap().to_vec()
}

#[test]
fn a_next_record_is_adopted_if_it_continues_this_login_and_removed_if_not() {
    // E-03, E-07
    for kind in BOTH {
        let fixture = Fixture::with_login(kind, 3);
        fixture.begin_renewal(3);
        let good = next_of(&fixture, 4, false);
        let old = next_of(&fixture, 2, false);
        let far = next_of(&fixture, 5, false);
        let untrusted = next_of(&fixture, 4, true);
        let mut changed = good.clone();
        changed[good.len() / 2] ^= 1;
        for useless in [&old[..], &far, &untrusted, &changed, &good[..good.len() / 2]] {
            fixture.put_next(useless);
            assert_eq!(fixture.generation(), 3, "{kind:?}");
            assert!(!fixture.file(NEXT).exists());
        }
        fixture.put_next(&good);
        let found = fixture.stored_record().unwrap().unwrap();
        assert_eq!((found.generation, found.pending), (4, None));
        assert!(!fixture.file(NEXT).exists());
        fixture.renew(4).unwrap();
    }
}

#[test]
fn a_keyring_failure_during_a_refresh_loses_nothing() {
    // E-10
    for failure in [Failure::Locked, Failure::ReadOnly, Failure::Forgets] {
        let fixture = Fixture::with_login(StoreKind::Keyring, 1);
        fixture.with_lock(|store| {
            read(store).unwrap();
            fixture.backend.failure(failure);
            write(store, &pending_login(1)).unwrap();
            write(store, &login(2)).unwrap();
        });
        fixture.backend.failure(Failure::None);
        assert_eq!(fixture.generation(), 2, "{failure:?}");
        fixture.renew(2).unwrap();
    }
}

#[test]
fn a_locked_keyring_prevents_a_refresh_and_keeps_what_a_dead_writer_left() {
    // E-10
    let fixture = Fixture::with_login(StoreKind::Keyring, 1);
    let next = next_of(&fixture, 2, false);
    fixture.put_next(&next);
    fixture.backend.failure(Failure::Locked);
    assert!(fixture.renew(1).unwrap_err().to_string().contains("locked"));
    assert!(now(fixture.store.read()).unwrap_err().to_string().contains("locked"));
    fixture.backend.failure(Failure::None);
    assert_eq!(fixture.generation(), 2);
}

#[test]
fn a_keyring_that_cannot_store_the_key_fails_the_login() {
    // E-10
    for failure in [Failure::Locked, Failure::ReadOnly, Failure::Forgets, Failure::SlowToAnswer] {
        let fixture = Fixture::new(StoreKind::Keyring);
        fixture.backend.failure(failure);
        fixture.with_lock(|store| write(store, &login(1)).unwrap_err());
        assert!(fixture.files().is_empty(), "{failure:?}");
        fixture.backend.failure(Failure::None);
        fixture.with_lock(|store| write(store, &login(1)).unwrap());
        assert_eq!(fixture.generation(), 1);
    }
}

#[test]
fn a_keyring_without_the_key_reports_it_until_another_login() {
    // E-03, E-10
    let fixture = Fixture::with_login(StoreKind::Keyring, 1);
    let file = std::fs::read(fixture.file(CRED)).unwrap();
    for key in [None, Some("not a key".to_owned()), Some(key::Key::new().unwrap().to_text().to_string())] {
        let mut entries = fixture.backend.entries.lock().unwrap();
        let user = format!("work {}", fixture.store.place.store_id());
        entries.remove(&user);
        entries.extend(key.map(|key| (user, key)));
        drop(entries);
        for error in [fixture.renew(1).unwrap_err(), now(fixture.store.read()).unwrap_err()] {
            assert_eq!(store_failure(&error).message_and_hint().unwrap().1, Some(LOGIN));
            assert!(
                error.to_string().contains("the keyring") && error.to_string().contains("key"),
                "{error}"
            );
        }
        assert_eq!(std::fs::read(fixture.file(CRED)).unwrap(), file);
    }
    fixture.with_lock(|store| write(store, &login(1)).unwrap());
    fixture.renew(1).unwrap();
}

#[test]
fn a_keyring_restored_from_a_backup_keeps_the_login_unless_it_had_another_key() {
    // E-13
    let fixture = Fixture::with_login(StoreKind::Keyring, 1);
    let copy = fixture.backend.entries.lock().unwrap().clone();
    fixture.renew(1).unwrap();
    fixture.backend.entries.lock().unwrap().clone_from(&copy);
    assert_eq!(fixture.generation(), 2);
    fixture.with_lock(|store| now(store.remove()).unwrap());
    fixture.with_lock(|store| write(store, &login(1)).unwrap());
    *fixture.backend.entries.lock().unwrap() = copy;
    let error = fixture.stored_record().unwrap_err().to_string();
    assert!(error.contains("can't decrypt it") && error.contains("log in again"), "{error}");
}

#[test]
fn the_keyring_has_one_short_entry_that_a_refresh_neither_changes_nor_exceeds() {
    // E-10
    let fixture = Fixture::with_login(StoreKind::Keyring, 1);
    let before = fixture.backend.entries.lock().unwrap().clone();
    assert!(before.len() == 1 && before.values().all(|entry| entry.len() == 44), "{before:?}");
    let mut long = login(1);
    let token = "a".repeat(20_000);
    long.access_token = Some(idempost::types::AccessToken::new(token.clone()).unwrap());
    fixture.with_lock(|store| write(store, &long).unwrap());
    assert!(!String::from_utf8_lossy(&std::fs::read(fixture.file(CRED)).unwrap()).contains(&token));
    fixture.backend.calls.lock().unwrap().clear();
    let read = now(fixture.store.read()).unwrap().unwrap();
    assert_eq!(read.access_token.unwrap().expose(), token);
    assert_eq!(*fixture.backend.calls.lock().unwrap(), ["get"]);
    fixture.renew(1).unwrap();
    assert_eq!(*fixture.backend.entries.lock().unwrap(), before);
}

#[test]
fn an_api_key_is_not_a_login_and_a_login_replaces_it() {
    for kind in BOTH {
        let fixture = Fixture::new(kind);
        let mut locked_profile = now(fixture.store.lock_profile(Duration::ZERO)).unwrap();
        locked_profile.write(StoredCredential::ApiKey(api_key())).unwrap();
        drop(locked_profile);
        let Some(StoredCredential::ApiKey(read)) = fixture.store.peek().unwrap() else { panic!("no key") };
        assert_eq!(read.key.expose_secret(), "re_sentinel");
        assert!(fixture.stored_record().unwrap().is_none());
        fixture.with_lock(|store| write(store, &login(1)).unwrap());
        assert_eq!(fixture.generation(), 1);
    }
}

#[test]
fn an_overview_contains_no_secret_and_needs_no_keyring() {
    for kind in BOTH {
        let fixture = Fixture::with_login(kind, 4);
        fixture.backend.calls.lock().unwrap().clear();
        let overview = Credentials { place: fixture.store.place.clone() }.overview().unwrap().unwrap();
        assert_eq!((overview.metadata.generation, overview.store), (4, kind));
        assert_eq!(overview.metadata.origin, "https://a.test");
        assert!(!format!("{overview:?}").contains("sentinel"));
        assert!(fixture.backend.calls.lock().unwrap().is_empty());
    }
}

#[test]
fn a_reader_sees_the_old_or_the_new_record_and_never_a_mix() {
    // E-15
    let fixture = Fixture::with_login(StoreKind::File, 1);
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
        let fixture = Fixture::with_login(kind, 3);
        let folder = |name: &str| fixture.home.path().join(name).to_str().unwrap().to_owned();
        let env = Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", &folder("config"))]);
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
        assert!(fixture.stored_record().unwrap().is_none());
        assert_eq!(read_file(&place).unwrap().unwrap().store(), kind);
        assert_eq!(
            other_has().unwrap().refresh_token.as_ref().unwrap().expose(),
            login(3).refresh_token.as_ref().unwrap().expose()
        );
        assert!(now(fixture.store.copy_to(other())).unwrap().is_none());

        let unsettled = Fixture::with_login(kind, 3);
        unsettled.begin_renewal(3);
        assert!(now(unsettled.store.copy_to(other())).unwrap_err().to_string().contains("hasn't finished"));
    }
}

#[test]
fn a_failure_of_the_store_names_the_next_step() {
    let busy = store_failure(&StoreError::Busy { holder: None });
    let described = |fail: &Fail| (fail.kind(), fail.message_and_hint().unwrap().1.map(str::to_owned));
    assert_eq!(described(&busy), (Kind::Unavailable, Some("try again".to_owned())));
    let unreadable = store_failure(&StoreError::invalid_data("cut off"));
    assert_eq!(described(&unreadable), (Kind::Auth, Some(LOGIN.to_owned())));
    let unavailable = store_failure(&StoreError::unavailable("no space left"));
    assert_eq!(described(&unavailable), (Kind::Error, None));
}
