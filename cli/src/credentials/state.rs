//! What can be told of a login without its secrets: which store has it, and how far its renewal is.
//!
//! This small file decides which store counts. Where the keyring has the secrets it also holds the mark of a renewal and the end of a login,
//! so that neither costs a call to the keyring.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use posthaste::auth::{Ended, RefreshPending, StoreError, TokenRecord};
use serde::{Deserialize, Serialize};

use super::kept::{Kept, Record};
use super::place::{Part, Place};
use super::{StoreKind, secure};

/// The form of the file. A later one is refused and left as it is.
const FORM: u32 = 1;
/// The file has no secrets to hide the length of.
const ROOM: usize = 2048;

/// The file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    form: u32,
    pub(super) store: StoreKind,
    pub(super) login: String,
    #[serde(flatten)]
    pub(super) facts: Facts,
}

/// What anybody may know of what is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// What it is.
    pub(crate) kind: KeptKind,
    /// Whom the secrets may be sent to.
    pub(crate) origin: String,
    /// Which refresh token of the grant it is; 0 for an API key.
    pub(crate) generation: u64,
    /// Whom the service knows the program as; empty for an API key.
    pub(crate) client_id: String,
    /// What the access token may do; empty for an API key.
    pub(crate) scope: String,
    /// When the access token, or the key, was got.
    pub(crate) obtained_at: Timestamp,
    /// How many seconds the access token lives from then; 0 for an API key.
    pub(crate) expires_in: u64,
    /// A renewal that was begun and whose outcome nobody has written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pending: Option<RefreshPending>,
    /// That the login is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Ended>,
}

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeptKind {
    /// A login.
    Login,
    /// An API key.
    ApiKey,
}

impl Facts {
    pub(super) fn of(kept: &Kept) -> Self {
        match kept {
            Kept::Login(record) => {
                let TokenRecord { generation, expires_in, .. } = **record;
                Self {
                    kind: KeptKind::Login,
                    origin: record.origin.clone(),
                    generation,
                    client_id: record.client_id.clone(),
                    scope: record.scope.clone(),
                    obtained_at: Timestamp::try_from(record.obtained_at).unwrap_or_default(),
                    expires_in: expires_in.as_secs(),
                    pending: record.pending.clone(),
                    ended: record.ended.clone(),
                }
            }
            Kept::ApiKey(key) => Self {
                kind: KeptKind::ApiKey,
                origin: key.origin.clone(),
                generation: 0,
                client_id: String::new(),
                scope: String::new(),
                obtained_at: key.since,
                expires_in: 0,
                pending: None,
                ended: None,
            },
        }
    }

    /// When the access token ends; none for an API key.
    pub(crate) fn expires_at(&self) -> Option<SystemTime> {
        let obtained = SystemTime::from(self.obtained_at);
        (self.kind == KeptKind::Login)
            .then(|| obtained.checked_add(Duration::from_secs(self.expires_in)).unwrap_or(obtained))
    }
}

impl State {
    pub(super) fn of(store: StoreKind, record: &Record) -> Self {
        Self { form: FORM, store, login: record.login.clone(), facts: Facts::of(&record.kept) }
    }

    /// Reads the file; `None` if there is none.
    pub(super) fn read(place: &Place) -> Result<Option<Self>, StoreError> {
        secure::check_folder(place.folder())?;
        let path = place.file(Part::State);
        let Some(bytes) = secure::read(&path)? else { return Ok(None) };
        let unreadable = |what: String| {
            StoreError::unreadable(format!("{}: {what}; it was left as it is", path.display()))
        };
        let state: Self =
            serde_json::from_slice(bytes.trim_ascii()).map_err(|error| unreadable(error.to_string()))?;
        match state.form {
            FORM => Ok(Some(state)),
            form => Err(unreadable(format!("it has form {form}, and this version reads {FORM}"))),
        }
    }

    /// Writes the file, durably and as a whole.
    pub(super) fn write(&self, place: &Place) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        secure::replace(&place.file(Part::State), &place.file(Part::Mark), &bytes, ROOM)
    }
}
