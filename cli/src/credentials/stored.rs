//! The stored credential of a profile: the tokens of a login, or an API key, with its origin.

use idempost::auth::{StoreError, TokenRecord};
use jiff::Timestamp;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::place::host_id;

/// The version of the format. A later version is rejected and left unchanged.
pub(super) const FORMAT_VERSION: u32 = 1;

/// The stored credential of a profile.
#[derive(Debug, Clone)]
pub(crate) enum StoredCredential {
    /// A login with tokens that are refreshed.
    Login(Box<TokenRecord>),
    ApiKey(StoredKey),
}

/// An API key and its origin.
#[derive(Debug, Clone)]
pub(crate) struct StoredKey {
    /// The only origin that the key may be sent to.
    pub(crate) origin: String,
    pub(crate) key: SecretString,
    /// When it was stored.
    pub(crate) since: Timestamp,
}

/// A stored credential with the ID of its login, which stays the same while its tokens are refreshed.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) credential: StoredCredential,
    pub(super) login: String,
    host: Option<String>,
}

/// The serialized form of a record.
#[derive(Deserialize)]
struct Written {
    login: String,
    host: Option<String>,
    tokens: Option<Value>,
    api_key: Option<WrittenKey>,
}

#[derive(Deserialize)]
struct WrittenKey {
    origin: String,
    key: String,
    since: Timestamp,
}

impl StoredCredential {
    /// The generation of its tokens; 0 for an API key.
    pub(super) fn generation(&self) -> u64 {
        match self {
            Self::Login(record) => record.generation,
            Self::ApiKey(_) => 0,
        }
    }

    /// Whether a started refresh has no recorded outcome and may still succeed.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self, Self::Login(record) if record.pending.is_some() && record.ended.is_none())
    }
}

impl Record {
    /// The record to write over `before`: the next generation of the same login, or another login.
    pub(super) fn successor(before: Option<&Self>, credential: StoredCredential) -> Self {
        let exposed =
            |record: &TokenRecord| record.refresh_token.as_ref().map(|token| token.expose().to_owned());
        let goes_on = |before: &&Self| match (&before.credential, &credential) {
            (StoredCredential::Login(old), StoredCredential::Login(new)) => {
                let same = exposed(old) == exposed(new);
                old.origin == new.origin
                    && old.client_id == new.client_id
                    && (new.generation == old.generation + 1 || (new.generation == old.generation && same))
            }
            _ => false,
        };
        let login = before
            .filter(goes_on)
            .map_or_else(|| uuid::Uuid::new_v4().simple().to_string(), |before| before.login.clone());
        Self { credential, login, host: host_id() }
    }

    /// Whether this is the next generation of the same login.
    pub(super) fn is_successor_of(&self, before: &Self) -> bool {
        self.login == before.login
            && before.credential.generation().checked_add(1) == Some(self.credential.generation())
    }

    pub(super) fn to_json(&self) -> Zeroizing<Vec<u8>> {
        let (field, credential) = match &self.credential {
            StoredCredential::Login(record) => ("tokens", serde_json::to_value(record).unwrap_or_default()),
            StoredCredential::ApiKey(StoredKey { origin, key, since }) => {
                ("api_key", json!({ "origin": origin, "key": key.expose_secret(), "since": since }))
            }
        };
        let written =
            json!({ "form": FORMAT_VERSION, "login": self.login, "host": self.host, field: credential });
        Zeroizing::new(written.to_string().into_bytes())
    }

    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, StoreError> {
        Self::from_value(json(bytes)?)
    }

    pub(super) fn from_value(value: Value) -> Result<Self, StoreError> {
        let written: Written = serde_json::from_value(value)
            .map_err(|_| invalid_data("`login`, `tokens` or `api_key` is missing or invalid"))?;
        let credential = match (written.tokens, written.api_key) {
            (Some(tokens), None) => {
                let bytes = Zeroizing::new(serde_json::to_vec(&tokens).unwrap_or_default());
                StoredCredential::Login(Box::new(TokenRecord::from_json(&bytes)?))
            }
            (None, Some(key)) => StoredCredential::ApiKey(StoredKey {
                origin: key.origin,
                key: SecretString::from(key.key),
                since: key.since,
            }),
            _ => return Err(invalid_data("it contains neither tokens nor an API key")),
        };
        Ok(Self { credential, login: written.login, host: written.host })
    }

    /// Rejects a record copied from another machine: both would refresh it.
    pub(super) fn check_host(&self, here: Option<&str>) -> Result<(), StoreError> {
        match (&self.host, here) {
            (Some(written), Some(here))
                if written != here && matches!(self.credential, StoredCredential::Login(_)) =>
            {
                Err(StoreError::invalid_data(
                    "it was copied from another machine, and two machines can't share one login: log in here",
                ))
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn invalid_data(what: impl Into<String>) -> StoreError {
    StoreError::invalid_data(what)
}

/// Parses JSON of this version. Messages of serde may quote an invalid value.
pub(super) fn json(bytes: &[u8]) -> Result<Value, StoreError> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| invalid_data("it isn't complete JSON"))?;
    match value.get("form").and_then(Value::as_u64) {
        Some(form) if form == u64::from(FORMAT_VERSION) => Ok(value),
        Some(form) => {
            Err(invalid_data(format!("its format is {form}; this version supports {FORMAT_VERSION}")))
        }
        None => Err(invalid_data("`form` is missing")),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A login of this generation.
    pub(in crate::credentials) fn login(generation: u64) -> TokenRecord {
        let token = |name: &str| serde_json::from_str(&format!("\"{name}_sentinel_{generation}\"")).unwrap();
        let mut record =
            TokenRecord::new("https://a.test", "https://a.test/oauth/token", "client", token("rt"));
        record.access_token = Some(idempost::types::AccessToken::new(format!("at_{generation}")).unwrap());
        record.generation = generation;
        record.obtained_at = std::time::SystemTime::UNIX_EPOCH;
        record.expires_in = std::time::Duration::from_mins(15);
        record
    }

    pub(in crate::credentials) fn api_key() -> StoredKey {
        StoredKey {
            origin: "https://a.test".to_owned(),
            key: SecretString::from("re_sentinel"),
            since: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn an_error_names_what_is_wrong_with_a_record() {
        // E-02
        let json: Value = serde_json::from_slice(
            &Record::successor(None, StoredCredential::Login(Box::new(login(1)))).to_json(),
        )
        .unwrap();
        let message = |json: &Value| Record::from_json(json.to_string().as_bytes()).unwrap_err().to_string();
        let mut later = json.clone();
        later["form"] = 2.into();
        assert!(message(&later).contains("format is 2"));
        for field in
            ["generation", "origin", "client_id", "scope", "obtained_at", "expires_in", "refresh_token"]
        {
            let mut without = json.clone();
            without["tokens"].as_object_mut().unwrap().remove(field);
            let read = Record::from_json(without.to_string().as_bytes());
            assert_eq!(read.is_ok(), field == "refresh_token", "{field}");
            let mut wrong = json.clone();
            wrong["tokens"][field] = serde_json::json!({"sentinel": []});
            let message = message(&wrong);
            assert!(message.contains(field) && !message.contains("sentinel"), "{message}");
        }
    }

    #[test]
    fn an_api_key_round_trips() {
        let key = api_key();
        assert!(!format!("{key:?}").contains("sentinel"));
        let record = Record::successor(None, StoredCredential::ApiKey(key));
        let read = Record::from_json(&record.to_json());
        let StoredCredential::ApiKey(read) = read.unwrap().credential else { panic!("no key") };
        assert_eq!((read.key.expose_secret(), read.origin.as_str()), ("re_sentinel", "https://a.test"));
    }

    #[test]
    fn a_login_keeps_its_id_across_refreshes_and_another_login_gets_another() {
        let first = Record::successor(None, StoredCredential::Login(Box::new(login(1))));
        let second = Record::successor(Some(&first), StoredCredential::Login(Box::new(login(2))));
        assert!(second.is_successor_of(&first));
        let again = Record::successor(Some(&second), StoredCredential::Login(Box::new(login(1))));
        assert!(again.login != second.login && !again.is_successor_of(&second));

        let changed = |generation: u64, change: fn(&mut TokenRecord)| {
            let mut record = login(generation);
            change(&mut record);
            Record::successor(Some(&first), StoredCredential::Login(Box::new(record))).login == first.login
        };
        assert!(changed(1, |record| record.scope = "emails:send".to_owned()));
        assert!(!changed(1, |record| record.refresh_token = Some("rt_other".to_owned().into())));
        assert!(!changed(2, |record| record.origin = "https://b.test".to_owned()));
        assert!(!changed(2, |record| record.client_id = "other".to_owned()));
        assert!(!changed(3, |_| ()));
    }

    #[test]
    fn only_a_login_is_bound_to_its_machine() {
        // E-03
        let login = StoredCredential::Login(Box::new(login(1)));
        for (credential, may_move) in [(login, false), (StoredCredential::ApiKey(api_key()), true)] {
            let mut record = Record::successor(None, credential);
            for (host, here, is_usable) in [
                (None, Some("here"), true),
                (Some("here"), Some("here"), true),
                (Some("another"), Some("here"), may_move),
                (Some("another"), None, true),
            ] {
                record.host = host.map(str::to_owned);
                assert_eq!(record.check_host(here).is_ok(), is_usable, "{host:?} {here:?}");
            }
        }
    }
}
