//! The store in the operating system's keyring: one entry a profile, and the protocol that makes a rotating token safe there.
//!
//! A keyring has no compare-and-swap, may be slow, and may fail in the middle. So a renewed record is first written durably to the sealed
//! `NAME.next`, whose key is a second entry made at login; then to the entry; it is read back; then `.next` goes. Whoever takes the
//! lock and finds a whole `.next` with the next generation of the same login adopts it. Marks and ends are in the state file.
//! Some platforms keep no more than 1,280 UTF-16 units: beyond that the access token is sealed into a file, under a key that is in the entry.

pub(super) mod vault;

use posthaste::auth::StoreError;
use posthaste::types::AccessToken;
use secrecy::zeroize::Zeroizing;
use serde_json::Value;

use self::vault::Vault;
use super::StoreKind;
use super::failpoint::point;
use super::kept::{Kept, Record};
use super::lock::Lock;
use super::place::{Part, Place};
use super::sealed::{self, Key, Label};
use super::secure::{self, Coming};
use super::spill;
use super::state::State;

/// What the smallest of the platforms' keyrings takes, in UTF-16 units.
const MOST_UNITS: usize = 1280;
/// The field of an entry that opens the access token's file.
const TOKEN_KEY: &str = "access_token_key";

/// The keyring, as one holder of the lock sees it.
#[derive(Debug)]
pub(super) struct Ring<'a> {
    pub(super) place: &'a Place,
    pub(super) vault: &'a dyn Vault,
}

/// What a holder of the lock remembers between its steps.
#[derive(Default)]
pub(super) struct Turn {
    key: Option<Key>,
    coming: Option<Coming>,
    /// The record is in `.next` alone, because the entry can't be written.
    unsettled: bool,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("unsettled", &self.unsettled).finish_non_exhaustive()
    }
}

impl Turn {
    /// Whether a renewal is under way.
    pub(super) fn is_prepared(&self) -> bool {
        self.coming.is_some()
    }
}

impl Ring<'_> {
    fn user(&self) -> String {
        format!("{} {}", self.place.profile(), self.place.store_id())
    }

    fn user_of_key(&self) -> String {
        format!("{} key", self.user())
    }

    /// Writes, reads and deletes an entry that means nothing.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let user = format!("{} probe {}", self.user(), uuid::Uuid::new_v4().simple());
        let secret = Key::new()?.to_text();
        self.vault.set(&user, &secret)?;
        let same = self.vault.get(&user)?.is_some_and(|read| *read == *secret);
        self.vault.delete(&user)?;
        if same {
            Ok(())
        } else {
            Err(StoreError::unavailable("the keyring doesn't give back what it was given"))
        }
    }

    /// Reads the record as it stands; the state decides what of it counts.
    pub(super) fn look(&self, state: &State) -> Result<Option<Record>, StoreError> {
        let Some(mut record) = self.entry()? else { return Ok(None) };
        if record.login != state.login {
            // A login was cut off between its entry and its state: the entry is the newer one.
            return Ok(Some(record));
        }
        let (kept, known) = (record.kept.generation(), state.facts.generation);
        if kept < known {
            return Err(StoreError::unreadable(format!(
                "the keyring has generation {kept}, and {known} was written last: was it restored from a copy? Log in again"
            )));
        }
        if kept == known
            && let Kept::Login(tokens) = &mut record.kept
        {
            tokens.pending.clone_from(&state.facts.pending);
            tokens.ended.clone_from(&state.facts.ended);
        }
        Ok(Some(record))
    }

    /// Reads the record under the lock, after taking in what a writer that died has left.
    pub(super) fn read(&self, state: &State, turn: &mut Turn) -> Result<Option<Record>, StoreError> {
        let next = self.place.file(Part::Next);
        secure::remove_quietly(&self.place.file(Part::Mark));
        if let Some(bytes) = secure::read(&next)? {
            match self.adoptable(state, &bytes, turn)? {
                Some(record) => {
                    // It may never have reached the disk.
                    let done = std::fs::File::open(&next).and_then(|file| file.sync_all());
                    done.map_err(|error| secure::failed("write", &next, error))?;
                    turn.unsettled = self.settle(&record).is_err();
                    spill::remove(self.place)?;
                    return Ok(Some(record));
                }
                None => secure::remove(&next)?,
            }
        }
        if state.facts.pending.is_some() && state.facts.ended.is_none() {
            let found = spill::read(self.place).into_iter();
            let mut best: Option<Record> = None;
            for (_, bytes) in found {
                best = self.adoptable(state, &bytes, turn)?.or(best);
            }
            if let Some(record) = best {
                self.settle(&record)?;
                spill::remove(self.place)?;
                return Ok(Some(record));
            }
        }
        let record = self.look(state)?;
        if let Some(record) = &record
            && (record.login != state.login || record.kept.generation() != state.facts.generation)
        {
            State::of(StoreKind::Keyring, record).write(self.place)?;
        }
        Ok(record)
    }

    /// The record in a sealed file, if it is the next step of the login that the state names.
    fn adoptable(&self, state: &State, bytes: &[u8], turn: &mut Turn) -> Result<Option<Record>, StoreError> {
        let Some(label) = sealed::label(bytes) else { return Ok(None) };
        let next = state.facts.generation.checked_add(1);
        if label.login != state.login || Some(label.generation) != next {
            return Ok(None);
        }
        // A keyring that can't be asked is no reason to sweep away the only copy of a token.
        let Some(key) = self.key(turn)? else { return Ok(None) };
        let Some(text) = sealed::open(&key, &label, bytes) else { return Ok(None) };
        let Ok(record) = Record::from_json(&text) else { return Ok(None) };
        Ok((Label::of(self.place, &record) == label).then_some(record))
    }

    /// Brings a record that is safe in `.next` to where it belongs.
    fn settle(&self, record: &Record) -> Result<(), StoreError> {
        self.put(record)?;
        point("C11");
        State::of(StoreKind::Keyring, record).write(self.place)?;
        point("C12");
        secure::remove(&self.place.file(Part::Next))
    }

    /// Writes the record, and makes room for the one that comes after it if it announces one.
    pub(super) fn write(
        &self,
        lock: &Lock,
        before: Option<&Record>,
        record: &Record,
        turn: &mut Turn,
    ) -> Result<(), StoreError> {
        let same_step = |before: &&Record| {
            before.login == record.login && before.kept.generation() == record.kept.generation()
        };
        if before.is_some_and(|before| record.follows(&before.login, before.kept.generation())) {
            return self.save(record, turn);
        }
        lock.still_holds()?;
        if let Some(before) = before.filter(same_step) {
            // An answer may bring an access token alone.
            if bare(before).to_json() != bare(record).to_json() {
                self.put(record)?;
            }
            return self.mark(lock, record, turn);
        }
        // A new login. Its key first: without it no renewal could ever be saved.
        if self.key(turn)?.is_none() {
            let key = Key::new()?;
            self.set(&self.user_of_key(), &key.to_text())?;
            turn.key = Some(key);
        }
        point("C13");
        secure::remove(&self.place.file(Part::Next))?;
        spill::remove(self.place)?;
        self.put(record)?;
        State::of(StoreKind::Keyring, record).write(self.place)
    }

    /// Notes how far the renewal is. The tokens stay as they are.
    fn mark(&self, lock: &Lock, record: &Record, turn: &mut Turn) -> Result<(), StoreError> {
        let next = self.place.file(Part::Next);
        let announces = record.kept.is_pending();
        if announces {
            if turn.unsettled {
                return Err(StoreError::unavailable(
                    "the keyring can be read and not written; the last renewal is still in a file beside it",
                ));
            }
            point("C2");
            if self.key(turn)?.is_none() {
                return Err(StoreError::unreadable(
                    "the key that seals the login's renewals is gone from the keyring; log in again",
                ));
            }
            turn.coming = None;
            turn.coming = Some(Coming::reserve(&next, secure::ROOM)?);
            point("C3");
        }
        lock.still_holds()?;
        State::of(StoreKind::Keyring, record).write(self.place)?;
        if announces {
            point("C4");
        } else if !turn.unsettled {
            turn.coming = None;
            secure::remove_quietly(&next);
        }
        Ok(())
    }

    /// Saves a renewed record: from here on the old one is spent.
    fn save(&self, record: &Record, turn: &mut Turn) -> Result<(), StoreError> {
        let next = self.place.file(Part::Next);
        let Some(key) = self.key(turn)? else {
            return Err(StoreError::unavailable("the key that seals the login is gone from the keyring"));
        };
        let bytes = sealed::seal(&key, Label::of(self.place, record), &record.to_json())?;
        let coming = turn.coming.take();
        let saved = || {
            let mut file = match coming {
                Some(file) => file,
                None => Coming::reserve(&next, secure::ROOM)?,
            };
            file.fill(&next, &bytes)?;
            point("C8");
            file.sync(&next)?;
            secure::sync_folder_of(&next)
        };
        if let Err(error) = saved() {
            secure::remove_quietly(&next);
            // Its own entry is as good a place as any file, and the better one.
            return match self.settle(record) {
                Ok(()) => Ok(()),
                Err(_) => spill::write(self.place, &bytes, error),
            };
        }
        point("C10");
        // The record is safe. What the keyring can't do now, the next holder of the lock does.
        turn.unsettled = self.settle(record).is_err();
        Ok(())
    }

    /// Removes the entries and everything around them but the lock.
    pub(super) fn remove(&self) -> Result<(), StoreError> {
        // First what could bring the record back.
        secure::remove(&self.place.file(Part::Next))?;
        spill::remove(self.place)?;
        point("C13");
        self.vault.delete(&self.user())?;
        self.vault.delete(&self.user_of_key())?;
        secure::remove(&self.place.file(Part::Token))
    }

    fn key(&self, turn: &mut Turn) -> Result<Option<Key>, StoreError> {
        if turn.key.is_none() {
            let text = self.vault.get(&self.user_of_key())?;
            turn.key = text.and_then(|text| Key::from_text(&text));
        }
        Ok(turn.key.clone())
    }

    fn entry(&self) -> Result<Option<Record>, StoreError> {
        let Some(text) = self.vault.get(&self.user())? else { return Ok(None) };
        let mut record = Record::from_json(text.as_bytes()).map_err(|error| match error {
            StoreError::Unreadable { reason } => StoreError::unreadable(format!(
                "the keyring's entry of profile `{}`: {reason}; it was left as it is",
                self.place.profile()
            )),
            other => other,
        })?;
        let key = serde_json::from_str::<Value>(&text)
            .ok()
            .and_then(|entry| entry.get(TOKEN_KEY).and_then(Value::as_str).and_then(Key::from_text));
        if let (Some(key), label) = (key, Label::of(self.place, &record))
            && let Kept::Login(tokens) = &mut record.kept
        {
            // Without it the login is whole: its access token is renewed sooner.
            let file = secure::read(&self.place.file(Part::Token)).ok().flatten();
            let token = file.and_then(|file| sealed::open(&key, &label, &file));
            let token = token.and_then(|token| String::from_utf8(token.to_vec()).ok());
            tokens.access_token = token.and_then(|token| AccessToken::new(token).ok());
        }
        Ok(Some(record))
    }

    /// Writes the entry and reads it back.
    fn put(&self, record: &Record) -> Result<(), StoreError> {
        let mut short = bare(record);
        let whole = short.to_json();
        if units(&whole) <= MOST_UNITS {
            self.set(&self.user(), &String::from_utf8_lossy(&whole))?;
            secure::remove_quietly(&self.place.file(Part::Token));
            return Ok(());
        }
        let mut token = None;
        if let Kept::Login(tokens) = &mut short.kept {
            token = tokens.access_token.take();
        }
        let Some(token) = token else {
            return self.set(&self.user(), &String::from_utf8_lossy(&whole));
        };
        let key = Key::new()?;
        let file = sealed::seal(&key, Label::of(self.place, record), token.expose().as_bytes())?;
        secure::replace(&self.place.file(Part::Token), &self.place.file(Part::Mark), &file, secure::ROOM)?;
        let mut entry: Value = serde_json::from_slice(&short.to_json()).unwrap_or_default();
        entry[TOKEN_KEY] = Value::String(key.to_text().to_string());
        let entry = Zeroizing::new(entry.to_string());
        self.set(&self.user(), &entry)
    }

    fn set(&self, user: &str, secret: &str) -> Result<(), StoreError> {
        let set = self.vault.set(user, secret);
        // A call that ran out of time may have been carried out; what is there now tells.
        match self.vault.get(user)? {
            Some(read) if *read == *secret => Ok(()),
            _ => {
                set?;
                Err(StoreError::unavailable("the keyring doesn't give back what it was given"))
            }
        }
    }
}

/// The record without what is kept in the state.
fn bare(record: &Record) -> Record {
    let mut bare = record.clone();
    if let Kept::Login(tokens) = &mut bare.kept {
        tokens.pending = None;
        tokens.ended = None;
    }
    bare
}

fn units(json: &[u8]) -> usize {
    String::from_utf8_lossy(json).encode_utf16().count()
}
