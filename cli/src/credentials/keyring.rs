//! The store in the system keyring: one entry per profile, and the protocol that makes a rotating token safe there.
//!
//! A keyring has no compare-and-swap, may be slow, and may fail halfway. So a refreshed record is first written durably to the encrypted
//! `NAME.next`, whose key is a second entry created at login; then to the entry; then it is read back; then `.next` is removed. A holder of the
//! lock that finds a complete `.next` with the next generation of the same login adopts it. Pending refreshes and ended logins are recorded in the
//! state file. Some platforms store at most 1,280 UTF-16 units: for longer entries, the access token is encrypted into a file, with its key in the entry.

pub(super) mod backend;

use idempost::auth::StoreError;
use idempost::auth::files::FileLock;
use idempost::types::AccessToken;
use secrecy::zeroize::Zeroizing;
use serde_json::Value;

use self::backend::SecretBackend;
use super::StoreKind;
use super::encrypted::{self, Key, Label};
use super::failpoint::point;
use super::fallback_file;
use super::place::{FileKind, Place};
use super::private_file::{self, StagedFile};
use super::state::State;
use super::stored::{Record, StoredCredential};

/// The smallest limit of the platforms' keyrings, in UTF-16 units.
const MAX_ENTRY_UNITS: usize = 1280;
/// The field of an entry with the key of the access token's file.
const TOKEN_KEY: &str = "access_token_key";

/// The keyring, for one holder of the lock.
#[derive(Debug)]
pub(super) struct KeyringStore<'a> {
    pub(super) place: &'a Place,
    pub(super) backend: &'a dyn SecretBackend,
}

/// The state of one holder of the lock between its steps.
#[derive(Default)]
pub(super) struct LockState {
    key: Option<Key>,
    staged: Option<StagedFile>,
    /// The record is only in `.next`, because the entry can't be written.
    unsettled: bool,
}

impl std::fmt::Debug for LockState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockState").field("unsettled", &self.unsettled).finish_non_exhaustive()
    }
}

impl LockState {
    /// Whether a refresh is pending.
    pub(super) fn is_prepared(&self) -> bool {
        self.staged.is_some()
    }
}

impl KeyringStore<'_> {
    fn user(&self) -> String {
        format!("{} {}", self.place.profile(), self.place.store_id())
    }

    fn user_of_key(&self) -> String {
        format!("{} key", self.user())
    }

    /// Writes, reads and deletes a dummy entry.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let user = format!("{} probe {}", self.user(), uuid::Uuid::new_v4().simple());
        let secret = Key::new()?.to_text();
        self.backend.set(&user, &secret)?;
        let same = self.backend.get(&user)?.is_some_and(|read| *read == *secret);
        self.backend.delete(&user)?;
        if same {
            Ok(())
        } else {
            Err(StoreError::unavailable("the keyring returned a different value than was written"))
        }
    }

    /// Reads the record without the lock; the state decides whether it is valid.
    pub(super) fn peek(&self, state: &State) -> Result<Option<Record>, StoreError> {
        let Some(mut record) = self.entry()? else { return Ok(None) };
        if record.login != state.login {
            // The login was interrupted after writing its entry, which is newer than the state.
            return Ok(Some(record));
        }
        let (stored, known) = (record.credential.generation(), state.metadata.generation);
        if stored < known {
            return Err(StoreError::unreadable(format!(
                "the keyring has generation {stored}, but {known} was written last: it may have been restored from a backup; log in again"
            )));
        }
        if stored == known
            && let StoredCredential::Login(tokens) = &mut record.credential
        {
            tokens.pending.clone_from(&state.metadata.pending);
            tokens.ended.clone_from(&state.metadata.ended);
        }
        Ok(Some(record))
    }

    /// Reads the record under the lock, after recovering what a dead writer left behind.
    pub(super) fn read(
        &self,
        state: &State,
        lock_state: &mut LockState,
    ) -> Result<Option<Record>, StoreError> {
        let next = self.place.file(FileKind::Next);
        private_file::remove_quietly(&self.place.file(FileKind::Temporary));
        if let Some(bytes) = private_file::read(&next)? {
            match self.adoptable(state, &bytes, lock_state)? {
                Some(record) => {
                    // It may never have been synced to disk.
                    private_file::sync(&next)?;
                    lock_state.unsettled = self.settle(&record).is_err();
                    fallback_file::remove(self.place)?;
                    return Ok(Some(record));
                }
                None => private_file::remove(&next)?,
            }
        }
        if state.metadata.pending.is_some() && state.metadata.ended.is_none() {
            let found = fallback_file::read(self.place).into_iter();
            let mut best: Option<Record> = None;
            for (_, bytes) in found {
                best = self.adoptable(state, &bytes, lock_state)?.or(best);
            }
            if let Some(record) = best {
                self.settle(&record)?;
                fallback_file::remove(self.place)?;
                return Ok(Some(record));
            }
        }
        let record = self.peek(state)?;
        if let Some(record) = &record
            && (record.login != state.login || record.credential.generation() != state.metadata.generation)
        {
            State::new(StoreKind::Keyring, record).write(self.place)?;
        }
        Ok(record)
    }

    /// The record in an encrypted file, if it is the next generation of the login named by the state.
    fn adoptable(
        &self,
        state: &State,
        bytes: &[u8],
        lock_state: &mut LockState,
    ) -> Result<Option<Record>, StoreError> {
        let Some(label) = encrypted::label(bytes) else { return Ok(None) };
        let next = state.metadata.generation.checked_add(1);
        if label.login != state.login || Some(label.generation) != next {
            return Ok(None);
        }
        // An unavailable keyring is no reason to delete the only copy of a token.
        let Some(key) = self.key(lock_state)? else { return Ok(None) };
        let Some(text) = encrypted::open(&key, &label, bytes) else { return Ok(None) };
        let Ok(record) = Record::from_json(&text) else { return Ok(None) };
        Ok((Label::new(self.place, &record) == label).then_some(record))
    }

    /// Moves a record that is safe in `.next` to the entry.
    fn settle(&self, record: &Record) -> Result<(), StoreError> {
        self.put(record)?;
        point("C11");
        State::new(StoreKind::Keyring, record).write(self.place)?;
        point("C12");
        private_file::remove(&self.place.file(FileKind::Next))
    }

    /// Writes the record, and reserves space for the next one if a refresh is pending.
    pub(super) fn write(
        &self,
        lock: &FileLock,
        before: Option<&Record>,
        record: &Record,
        lock_state: &mut LockState,
    ) -> Result<(), StoreError> {
        let same_step = |before: &&Record| {
            before.login == record.login && before.credential.generation() == record.credential.generation()
        };
        if before.is_some_and(|before| record.follows(&before.login, before.credential.generation())) {
            return self.save(record, lock_state);
        }
        lock.still_holds()?;
        if let Some(before) = before.filter(same_step) {
            // A response may contain only an access token.
            if bare(before).to_json() != bare(record).to_json() {
                self.put(record)?;
            }
            return self.mark_pending(lock, record, lock_state);
        }
        // A new login. The key first: without it, no refresh could be saved.
        if self.key(lock_state)?.is_none() {
            let key = Key::new()?;
            self.set(&self.user_of_key(), &key.to_text())?;
            lock_state.key = Some(key);
        }
        point("C13");
        private_file::remove(&self.place.file(FileKind::Next))?;
        fallback_file::remove(self.place)?;
        self.put(record)?;
        State::new(StoreKind::Keyring, record).write(self.place)
    }

    /// Records the progress of a refresh. The tokens stay unchanged.
    fn mark_pending(
        &self,
        lock: &FileLock,
        record: &Record,
        lock_state: &mut LockState,
    ) -> Result<(), StoreError> {
        let next = self.place.file(FileKind::Next);
        let announces = record.credential.is_pending();
        if announces {
            if lock_state.unsettled {
                return Err(StoreError::unavailable(
                    "the keyring can be read but not written; the last refreshed tokens are still in a file beside it",
                ));
            }
            point("C2");
            if self.key(lock_state)?.is_none() {
                return Err(StoreError::unreadable(
                    "the keyring lacks the key that encrypts refreshed tokens; log in again",
                ));
            }
            lock_state.staged = None;
            lock_state.staged = Some(StagedFile::reserve(&next, private_file::RESERVED_BYTES)?);
            point("C3");
        }
        lock.still_holds()?;
        State::new(StoreKind::Keyring, record).write(self.place)?;
        if announces {
            point("C4");
        } else if !lock_state.unsettled {
            lock_state.staged = None;
            private_file::remove_quietly(&next);
        }
        Ok(())
    }

    /// Saves a refreshed record: from here on the old one is useless.
    fn save(&self, record: &Record, lock_state: &mut LockState) -> Result<(), StoreError> {
        let next = self.place.file(FileKind::Next);
        let Some(key) = self.key(lock_state)? else {
            return Err(StoreError::unavailable("the keyring lacks the key that encrypts the login"));
        };
        let bytes = encrypted::seal(&key, Label::new(self.place, record), &record.to_json())?;
        let staged = lock_state.staged.take();
        let saved = || {
            let mut file = match staged {
                Some(file) => file,
                None => StagedFile::reserve(&next, private_file::RESERVED_BYTES)?,
            };
            file.fill(&next, &bytes)?;
            point("C8");
            file.sync(&next)?;
            private_file::sync_folder_of(&next)
        };
        if let Err(error) = saved() {
            private_file::remove_quietly(&next);
            // The entry itself is better than any fallback file.
            return match self.settle(record) {
                Ok(()) => Ok(()),
                Err(_) => fallback_file::write(self.place, &bytes, error),
            };
        }
        point("C10");
        // The record is safe. The next holder of the lock completes this.
        lock_state.unsettled = self.settle(record).is_err();
        Ok(())
    }

    /// Removes the entries and all files except the lock.
    pub(super) fn remove(&self) -> Result<(), StoreError> {
        // First the files from which the record could be recovered.
        private_file::remove(&self.place.file(FileKind::Next))?;
        fallback_file::remove(self.place)?;
        point("C13");
        self.backend.delete(&self.user())?;
        self.backend.delete(&self.user_of_key())?;
        private_file::remove(&self.place.file(FileKind::Token))
    }

    fn key(&self, lock_state: &mut LockState) -> Result<Option<Key>, StoreError> {
        if lock_state.key.is_none() {
            let text = self.backend.get(&self.user_of_key())?;
            lock_state.key = text.and_then(|text| Key::from_text(&text));
        }
        Ok(lock_state.key.clone())
    }

    fn entry(&self) -> Result<Option<Record>, StoreError> {
        let Some(text) = self.backend.get(&self.user())? else { return Ok(None) };
        let mut record = Record::from_json(text.as_bytes()).map_err(|error| match error {
            StoreError::Unreadable { reason } => StoreError::unreadable(format!(
                "the keyring's entry of profile `{}`: {reason}; the entry is unchanged",
                self.place.profile()
            )),
            other => other,
        })?;
        let key = serde_json::from_str::<Value>(&text)
            .ok()
            .and_then(|entry| entry.get(TOKEN_KEY).and_then(Value::as_str).and_then(Key::from_text));
        if let (Some(key), label) = (key, Label::new(self.place, &record))
            && let StoredCredential::Login(tokens) = &mut record.credential
        {
            // It is optional: without it, the access token is refreshed earlier.
            let file = private_file::read(&self.place.file(FileKind::Token)).ok().flatten();
            let token = file.and_then(|file| encrypted::open(&key, &label, &file));
            let token = token.and_then(|token| String::from_utf8(token.to_vec()).ok());
            tokens.access_token = token.and_then(|token| AccessToken::new(token).ok());
        }
        Ok(Some(record))
    }

    /// Writes the entry and reads it back.
    fn put(&self, record: &Record) -> Result<(), StoreError> {
        let mut short = bare(record);
        let whole = short.to_json();
        if units(&whole) <= MAX_ENTRY_UNITS {
            self.set(&self.user(), &String::from_utf8_lossy(&whole))?;
            private_file::remove_quietly(&self.place.file(FileKind::Token));
            return Ok(());
        }
        let mut token = None;
        if let StoredCredential::Login(tokens) = &mut short.credential {
            token = tokens.access_token.take();
        }
        let Some(token) = token else {
            return self.set(&self.user(), &String::from_utf8_lossy(&whole));
        };
        let key = Key::new()?;
        let file = encrypted::seal(&key, Label::new(self.place, record), token.expose().as_bytes())?;
        private_file::replace(
            &self.place.file(FileKind::Token),
            &self.place.file(FileKind::Temporary),
            &file,
            private_file::RESERVED_BYTES,
        )?;
        let mut entry: Value = serde_json::from_slice(&short.to_json()).unwrap_or_default();
        entry[TOKEN_KEY] = Value::String(key.to_text().to_string());
        let entry = Zeroizing::new(entry.to_string());
        self.set(&self.user(), &entry)
    }

    fn set(&self, user: &str, secret: &str) -> Result<(), StoreError> {
        let set = self.backend.set(user, secret);
        // A call that timed out may have succeeded, so compare the stored value.
        match self.backend.get(user)? {
            Some(read) if *read == *secret => Ok(()),
            _ => {
                set?;
                Err(StoreError::unavailable("the keyring returned a different value than was written"))
            }
        }
    }
}

/// The record without the parts stored in the state.
fn bare(record: &Record) -> Record {
    let mut bare = record.clone();
    if let StoredCredential::Login(tokens) = &mut bare.credential {
        tokens.pending = None;
        tokens.ended = None;
    }
    bare
}

fn units(json: &[u8]) -> usize {
    String::from_utf8_lossy(json).encode_utf16().count()
}
