//! The file of a credential: its record, or its metadata with the encrypted record.

use idempost::auth::StoreError;
use secrecy::zeroize::Zeroizing;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::StoreKind;
use super::key::Key;
use super::metadata::CredentialMetadata;
use super::stored::{self, FORMAT_VERSION, Record, invalid_data};
use crate::output::hex;

const HEAD: &str = "{\"sha256\":\"";
const SEPARATOR: &str = "\",\"kept\":";

/// The contents of a file, whose hash is correct.
pub(super) enum Contents {
    Plain(Record),
    /// Only the keyring's key decrypts it. The metadata isn't authenticated before that.
    Sealed(Box<CredentialMetadata>, Sealed),
}

/// The serialized form of an encrypted record.
#[derive(Serialize, Deserialize)]
pub(super) struct Sealed {
    form: u32,
    login: String,
    metadata: Value,
    encrypted: String,
}

impl Sealed {
    /// The label that the encryption binds the record to.
    fn label(&self) -> Vec<u8> {
        serde_json::json!([self.form, self.login, self.metadata]).to_string().into_bytes()
    }
}

impl Contents {
    /// Parses the output of [`to_file`]; trailing spaces are reserved space.
    pub(super) fn from_file(bytes: &[u8]) -> Result<Self, StoreError> {
        let text = bytes.trim_ascii();
        if text.is_empty() {
            return Err(invalid_data("it is empty"));
        }
        let parts = || {
            let rest = text.strip_prefix(HEAD.as_bytes())?.strip_suffix(b"}")?;
            let (hash, rest) = rest.split_at_checked(64)?;
            Some((hash, rest.strip_prefix(SEPARATOR.as_bytes())?))
        };
        let (hash, content) =
            parts().ok_or_else(|| invalid_data("it has an unknown format or is incomplete"))?;
        if hex(&Sha256::digest(content)).as_bytes() != hash {
            return Err(invalid_data("its hash doesn't match"));
        }
        let value = stored::json(content)?;
        if value.get("encrypted").is_none() {
            return Record::from_value(value).map(Self::Plain);
        }
        let invalid = |_| invalid_data("`login`, `metadata` or `encrypted` is missing or invalid");
        let sealed: Sealed = serde_json::from_value(value).map_err(invalid)?;
        let metadata = serde_json::from_value(sealed.metadata.clone()).map_err(invalid)?;
        Ok(Self::Sealed(Box::new(metadata), sealed))
    }

    /// The store of the record's secrets.
    pub(super) fn store(&self) -> StoreKind {
        match self {
            Self::Plain(_) => StoreKind::File,
            Self::Sealed(..) => StoreKind::Keyring,
        }
    }

    /// The ID of the login and its metadata.
    pub(super) fn describe(self) -> (String, CredentialMetadata) {
        match self {
            Self::Plain(record) => {
                let metadata = CredentialMetadata::from_credential(&record.credential);
                (record.login, metadata)
            }
            Self::Sealed(metadata, sealed) => (sealed.login, *metadata),
        }
    }

    /// The record, decrypted with this key; a plain one has none.
    pub(super) fn open(self, key: Option<&Key>) -> Result<Record, StoreError> {
        match (self, key) {
            (Self::Plain(record), None) => Ok(record),
            (Self::Plain(_), Some(_)) => Err(invalid_data("it isn't encrypted")),
            (Self::Sealed(..), None) => Err(invalid_data("the keyring has no key for it; log in again")),
            (Self::Sealed(_, sealed), Some(key)) => {
                let text = key.open(&sealed.label(), &sealed.encrypted);
                let text =
                    text.ok_or_else(|| invalid_data("the keyring's key can't decrypt it; log in again"))?;
                Record::from_json(&text)
            }
        }
    }
}

/// Serializes the record, encrypted if there is a key, after its hash, which reveals a torn or edited file.
pub(super) fn to_file(record: &Record, key: Option<&Key>) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let mut json = record.to_json();
    if let Some(key) = key {
        let metadata = CredentialMetadata::from_credential(&record.credential);
        let metadata = serde_json::to_value(metadata).unwrap_or_default();
        let login = record.login.clone();
        let mut sealed = Sealed { form: FORMAT_VERSION, login, metadata, encrypted: String::new() };
        sealed.encrypted = key.seal(&sealed.label(), &json)?;
        json = Zeroizing::new(serde_json::to_vec(&sealed).unwrap_or_default());
    }
    let mut text = Zeroizing::new(Vec::with_capacity(json.len() + 100));
    text.extend_from_slice(HEAD.as_bytes());
    text.extend_from_slice(hex(&Sha256::digest(&*json)).as_bytes());
    text.extend_from_slice(SEPARATOR.as_bytes());
    text.extend_from_slice(&json);
    text.push(b'}');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::stored::StoredCredential;
    use crate::credentials::stored::tests::login;

    #[test]
    fn a_truncated_or_changed_file_is_refused_without_a_secret_in_the_message() {
        // E-01
        let record = Record::successor(None, StoredCredential::Login(Box::new(login(3))));
        for key in [None, Some(Key::new().unwrap())] {
            let whole = to_file(&record, key.as_ref()).unwrap();
            let open = |bytes: &[u8]| Contents::from_file(bytes).and_then(|found| found.open(key.as_ref()));
            let read = open(&[&whole[..], b"   \n"].concat()).unwrap();
            assert_eq!(read.to_json().as_slice(), record.to_json().as_slice());
            let refused = |bytes: &[u8]| {
                let error = open(bytes).unwrap_err();
                assert!(!format!("{error} {error:?}").contains("sentinel"), "{error}");
            };
            (0..whole.len()).for_each(|end| refused(&whole[..end]));
            for at in 0..whole.len() {
                let mut changed = whole.to_vec();
                changed[at] ^= 0x11;
                refused(&changed);
            }
            for other in [&b""[..], b" \n", b"{bad", b"\xff\xfe", b"null", b"[]", &[0; 64]] {
                refused(other);
            }
        }
    }

    #[test]
    fn an_encrypted_file_shows_no_secret_and_its_metadata_cannot_be_changed() {
        // E-03
        let mut tokens = login(2);
        tokens.obtained_at = std::time::SystemTime::now();
        let record = Record::successor(None, StoredCredential::Login(Box::new(tokens)));
        let key = Key::new().unwrap();
        let file = to_file(&record, Some(&key)).unwrap();
        let text = String::from_utf8(file.to_vec()).unwrap();
        assert!(!text.contains("sentinel") && text.contains("https://a.test"), "{text}");
        assert!(Contents::from_file(&file).unwrap().open(Some(&key)).is_ok());
        for other in [None, Some(&Key::new().unwrap())] {
            let error = Contents::from_file(&file).unwrap().open(other).unwrap_err().to_string();
            assert!(error.contains("key") && error.contains("log in again"), "{error}");
        }
        let content = text.strip_suffix('}').unwrap().split_once(SEPARATOR).unwrap().1;
        for (from, to) in [
            ("https://a.test", "https://b.test"),
            ("\"generation\":2", "\"generation\":3"),
            (&*record.login, "x"),
        ] {
            let changed = content.replacen(from, to, 1);
            assert_ne!(changed, content);
            let hash = hex(&Sha256::digest(&changed));
            let forged = format!("{HEAD}{hash}{SEPARATOR}{changed}}}");
            assert!(Contents::from_file(forged.as_bytes()).unwrap().open(Some(&key)).is_err(), "{from}");
        }
        // A plain record isn't accepted in place of an encrypted one.
        let plain = to_file(&record, None).unwrap();
        assert!(Contents::from_file(&plain).unwrap().open(Some(&key)).is_err());
    }
}
