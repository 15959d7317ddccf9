//! The key of a profile's encrypted file (AES-256-GCM): the only thing that the keyring stores, so that an entry is short and never changes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idempost::auth::StoreError;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::zeroize::Zeroizing;

use super::keyring::SecretBackend;
use super::place::Place;

#[derive(Clone)]
pub(super) struct Key(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Generates a key.
    pub(super) fn new() -> Result<Self, StoreError> {
        let mut bytes = Zeroizing::new([0; 32]);
        random(&mut *bytes)?;
        Ok(Self(bytes))
    }

    pub(super) fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(*self.0))
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(STANDARD.decode(text).ok()?);
        Some(Self(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &*self.0).ok().map(LessSafeKey::new)
    }

    /// Encrypts bytes, and binds them to a readable label.
    pub(super) fn seal(&self, label: &[u8], bytes: &[u8]) -> Result<String, StoreError> {
        let failed = || StoreError::unavailable("couldn't encrypt the record");
        // A random nonce is safe for fewer than 2^32 records per key (NIST SP 800-38D, 8.3).
        let mut nonce = [0; NONCE_LEN];
        random(&mut nonce)?;
        let mut text = Zeroizing::new(bytes.to_vec());
        self.cipher()
            .ok_or_else(failed)?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(label), &mut *text)
            .map_err(|_| failed())?;
        Ok(STANDARD.encode([&nonce[..], &text].concat()))
    }

    /// Decrypts the output of [`seal`](Self::seal); `None` if it was sealed with another key or label, or is damaged.
    pub(super) fn open(&self, label: &[u8], sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
        let sealed = STANDARD.decode(sealed).ok()?;
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut text = Zeroizing::new(text.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.cipher()?.open_in_place(nonce, Aad::from(label), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

fn random(bytes: &mut [u8]) -> Result<(), StoreError> {
    let failed = |_| StoreError::unavailable("the system provides no random numbers");
    SystemRandom::new().fill(bytes).map_err(failed)
}

/// The keyring's entry for a profile's key.
pub(super) struct KeyEntry<'a> {
    pub(super) place: &'a Place,
    pub(super) backend: &'a dyn SecretBackend,
}

impl KeyEntry<'_> {
    fn user(&self) -> String {
        format!("{} {}", self.place.profile, self.place.store_id())
    }

    /// Reads the key; `None` if the keyring has none.
    pub(super) fn get(&self) -> Result<Option<Key>, StoreError> {
        Ok(self.backend.get(&self.user())?.and_then(|text| Key::from_text(&text)))
    }

    /// Reads the key, or creates it for the first login.
    pub(super) fn get_or_create(&self) -> Result<Key, StoreError> {
        if let Some(key) = self.get()? {
            return Ok(key);
        }
        let key = Key::new()?;
        self.set(&self.user(), &key)?;
        Ok(key)
    }

    pub(super) fn delete(&self) -> Result<(), StoreError> {
        self.backend.delete(&self.user())
    }

    /// Writes, reads and deletes another entry.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let user = format!("{} probe {}", self.user(), uuid::Uuid::new_v4().simple());
        self.set(&user, &Key::new()?)?;
        self.backend.delete(&user)
    }

    fn set(&self, user: &str, key: &Key) -> Result<(), StoreError> {
        let text = key.to_text();
        self.backend.set(user, &text)?;
        match self.backend.get(user)? {
            Some(read) if *read == *text => Ok(()),
            _ => Err(StoreError::unavailable("the keyring returned a different value than was written")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_decrypts_only_if_intact_with_its_key_and_label() {
        // E-03
        let key = Key::from_text(&Key::new().unwrap().to_text()).unwrap();
        let sealed = key.seal(b"label", b"sentinel").unwrap();
        assert!(!STANDARD.decode(&sealed).unwrap().windows(8).any(|part| part == b"sentinel"));
        assert_eq!(*key.open(b"label", &sealed).unwrap(), *b"sentinel");
        assert!(Key::new().unwrap().open(b"label", &sealed).is_none());
        assert!(key.open(b"Label", &sealed).is_none());
        for end in 0..sealed.len() {
            assert!(key.open(b"label", &sealed[..end]).is_none(), "{end}");
        }
        assert_ne!(key.seal(b"label", b"sentinel").unwrap(), sealed, "every text has its own nonce");
    }
}
