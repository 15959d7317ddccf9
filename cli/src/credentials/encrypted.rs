//! Records in files that only the keyring's owner can decrypt: AES-256-GCM, bound to location and generation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idempost::auth::StoreError;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::zeroize::Zeroizing;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::stored::Record;

const FORMAT_VERSION: u32 = 1;

/// A key, as stored in the keyring.
#[derive(Clone)]
pub(super) struct Key(Zeroizing<[u8; 32]>);

/// Associated data: readable, but protected against changes by the encryption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Label {
    form: u32,
    store: String,
    profile: String,
    origin: String,
    pub(super) login: String,
    pub(super) generation: u64,
}

#[derive(Serialize, Deserialize)]
struct Written {
    label: Label,
    nonce: String,
    sealed: String,
}

impl Key {
    /// Generates a key.
    pub(super) fn new() -> Result<Self, StoreError> {
        let mut bytes = Zeroizing::new([0; 32]);
        SystemRandom::new()
            .fill(&mut *bytes)
            .map_err(|_| StoreError::unavailable("the system provides no random numbers"))?;
        Ok(Self(bytes))
    }

    pub(super) fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(*self.0))
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &*self.0).ok().map(LessSafeKey::new)
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(STANDARD.decode(text).ok()?);
        Some(Self(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
    }
}

impl Label {
    pub(super) fn new(place: &Place, record: &Record) -> Self {
        Self {
            form: FORMAT_VERSION,
            store: place.store_id(),
            profile: place.profile().to_owned(),
            origin: record.credential.origin().to_owned(),
            login: record.login.clone(),
            generation: record.credential.generation(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Encrypts bytes under a label.
pub(super) fn seal(key: &Key, label: Label, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let failed = || StoreError::unavailable("couldn't encrypt the record");
    let mut text = Zeroizing::new(bytes.to_vec());
    // A random nonce is safe for fewer than 2^32 records per key (NIST SP 800-38D, 8.3).
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).map_err(|_| failed())?;
    let (unique, aad) = (Nonce::assume_unique_for_key(nonce), Aad::from(label.bytes()));
    key.cipher()
        .ok_or_else(failed)?
        .seal_in_place_append_tag(unique, aad, &mut *text)
        .map_err(|_| failed())?;
    let written = Written { nonce: STANDARD.encode(nonce), sealed: STANDARD.encode(&*text), label };
    Ok(serde_json::to_vec(&written).unwrap_or_default())
}

/// The label of an encrypted file, not yet authenticated; `None` if the file is damaged.
pub(super) fn label(file: &[u8]) -> Option<Label> {
    serde_json::from_slice::<Written>(file.trim_ascii()).ok().map(|written| written.label)
}

/// Decrypts a file whose label equals this one; `None` if it is damaged or belongs elsewhere.
pub(super) fn open(key: &Key, expected: &Label, file: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let written: Written = serde_json::from_slice(file.trim_ascii()).ok()?;
    if written.label != *expected {
        return None;
    }
    let nonce: [u8; NONCE_LEN] = STANDARD.decode(written.nonce).ok()?.try_into().ok()?;
    let mut text = Zeroizing::new(STANDARD.decode(written.sealed).ok()?);
    let (nonce, aad) = (Nonce::assume_unique_for_key(nonce), Aad::from(expected.bytes()));
    let length = key.cipher()?.open_in_place(nonce, aad, &mut text).ok()?.len();
    text.truncate(length);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::stored::{StoredCredential, tests::login};
    use crate::settings::env::Env;

    #[test]
    fn a_file_decrypts_only_if_intact_with_its_key_and_label() {
        // E-03
        let home = tempfile::tempdir().unwrap();
        let env = Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", home.path().to_str().unwrap())]);
        let place = Place::new(&env, Some("work")).unwrap();
        let record = Record::after(None, StoredCredential::Login(Box::new(login(2))));
        let of = |place: &Place| Label::new(place, &record);
        let key = Key::from_text(&Key::new().unwrap().to_text()).unwrap();
        let file = seal(&key, of(&place), &record.to_json()).unwrap();
        assert!(!String::from_utf8_lossy(&file).contains("sentinel"));
        assert_eq!(label(&file).unwrap().origin, record.credential.origin());
        assert!(record.credential.origin().starts_with("https://"));
        assert_eq!(*open(&key, &of(&place), &[&file[..], b"    "].concat()).unwrap(), *record.to_json());

        assert!(open(&Key::new().unwrap(), &of(&place), &file).is_none());
        assert!(open(&key, &of(&Place::new(&env, Some("other")).unwrap()), &file).is_none());
        let mut later = of(&place);
        later.generation = 3;
        assert!(open(&key, &later, &file).is_none());
        // A label that was changed to the next generation.
        let forged = String::from_utf8(file.clone()).unwrap().replace("\"generation\":2", "\"generation\":3");
        assert!(open(&key, &later, forged.as_bytes()).is_none());
        assert!(open(&key, &of(&place), forged.as_bytes()).is_none());
        for end in 0..file.len() {
            assert!(open(&key, &of(&place), &file[..end]).is_none(), "{end}");
        }
    }
}
