//! Metadata of a credential without its secrets, readable without the keyring.

use std::time::{Duration, SystemTime};

use idempost::auth::{Ended, RefreshPending, TokenRecord};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};

use super::stored::StoredCredential;
use crate::output::secret;

/// The public metadata of a credential.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CredentialMetadata {
    pub(crate) kind: CredentialKind,
    /// The only origin to send the secrets to.
    pub(crate) origin: String,
    /// The issuer of the tokens, if the server was discovered by its metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) issuer: Option<String>,
    /// The generation of the refresh token; 0 for an API key.
    pub(crate) generation: u64,
    /// The OAuth client ID; empty for an API key.
    pub(crate) client_id: String,
    /// The scope of the access token; empty for an API key.
    pub(crate) scope: String,
    /// The account in the access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    /// The API key, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// When the access token, or the key, was obtained.
    pub(crate) obtained_at: Timestamp,
    /// The same time by the server's clock, used if this machine's clock was ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) served_at: Option<Timestamp>,
    /// The access token's lifetime in seconds; 0 for an API key.
    pub(crate) expires_in: u64,
    /// A started refresh without a recorded outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pending: Option<RefreshPending>,
    /// Why the login has ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Ended>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CredentialKind {
    #[default]
    Login,
    ApiKey,
}

impl CredentialMetadata {
    pub(super) fn from_credential(credential: &StoredCredential) -> Self {
        match credential {
            StoredCredential::Login(record) => {
                let TokenRecord { generation, expires_in, .. } = **record;
                Self {
                    kind: CredentialKind::Login,
                    origin: record.origin.clone(),
                    issuer: record.issuer.clone(),
                    generation,
                    client_id: record.client_id.clone(),
                    scope: record.scope.clone(),
                    account: record.access_token.as_ref().and_then(|token| token.claims()?.subject),
                    key: None,
                    obtained_at: Timestamp::try_from(record.obtained_at).unwrap_or_default(),
                    served_at: record.served_at.and_then(|at| Timestamp::try_from(at).ok()),
                    expires_in: expires_in.as_secs(),
                    pending: record.pending.clone(),
                    ended: record.ended.clone(),
                }
            }
            StoredCredential::ApiKey(key) => Self {
                kind: CredentialKind::ApiKey,
                origin: key.origin.clone(),
                key: Some(secret::mask(key.key.expose_secret())),
                obtained_at: key.since,
                ..Self::default()
            },
        }
    }

    /// When the access token expires; `None` for an API key.
    pub(crate) fn expires_at(&self) -> Option<SystemTime> {
        let served = self.served_at.filter(|_| Timestamp::now() < self.obtained_at);
        let obtained = SystemTime::from(served.unwrap_or(self.obtained_at));
        (self.kind == CredentialKind::Login)
            .then(|| obtained.checked_add(Duration::from_secs(self.expires_in)).unwrap_or(obtained))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::auth::TokenRecord;

    use super::*;

    #[test]
    fn the_expiry_is_the_server_s_if_this_clock_was_ahead_at_the_login() {
        let now = SystemTime::now();
        let (ahead, lifetime) = (now + Duration::from_hours(1), Duration::from_mins(15));
        for (obtained_at, served_at, begun) in
            [(now, None, now), (now, Some(ahead), now), (ahead, Some(now), now), (ahead, None, ahead)]
        {
            let mut record =
                TokenRecord::new("https://a.test", "https://a.test/t", "c", "rt".to_owned().into());
            (record.obtained_at, record.served_at, record.expires_in) = (obtained_at, served_at, lifetime);
            let metadata = CredentialMetadata::from_credential(&StoredCredential::Login(Box::new(record)));
            assert_eq!(metadata.expires_at(), Some(begun + lifetime));
        }
    }
}
