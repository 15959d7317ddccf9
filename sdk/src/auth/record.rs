//! What is kept of a login.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Ended, StoreError},
    types::{
        AccessToken, RefreshToken,
        wall_clock::{instant, seconds},
    },
};

/// The form in which records are written. A record of a later form is refused and left as it is.
const FORM: u32 = 1;

/// One login as a [`TokenStore`](super::TokenStore) keeps it: the tokens, whom they are for, and how far their renewal is.
///
/// Each refresh makes the next *generation*: the service hands out a new refresh token and the old one must never be shown again
/// (`SPEC.md`, Authentication 4). The generation is what processes compare to find out whether another one was faster.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenRecord {
    form: u32,
    /// Which refresh token of the grant this is, from 1.
    pub generation: u64,
    /// The origin (`https://api.example.com`) that the tokens may be sent to, and no other.
    pub origin: String,
    /// Where tokens are refreshed.
    pub token_endpoint: String,
    /// Where the grant is revoked; `None` if the service has no such place.
    pub revocation_endpoint: Option<String>,
    /// Whom the service knows the program as.
    pub client_id: String,
    /// What the access token may do: scopes with a space between.
    pub scope: String,
    /// The access token; `None` when a refresh brought a refresh token alone.
    pub access_token: Option<AccessToken>,
    /// When these tokens were asked for: before the request left, so that counting from here is never too late.
    #[serde(with = "instant")]
    pub obtained_at: SystemTime,
    /// How long the access token lives from then. The service says 900 s.
    #[serde(with = "seconds")]
    pub expires_in: Duration,
    /// The one refresh token that is good.
    pub refresh_token: RefreshToken,
    /// A refresh that was begun and whose outcome nobody has written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<RefreshPending>,
    /// That the grant is over. Its tokens are never sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// A refresh on its way: written before the request leaves, gone when its outcome is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RefreshPending {
    /// When the last attempt began.
    #[serde(with = "instant")]
    pub since: SystemTime,
    /// How many attempts were begun with this refresh token, from 1.
    pub attempts: u32,
}

impl TokenRecord {
    /// A login that has just begun, or tokens from elsewhere: generation 1.
    pub fn new(
        origin: impl Into<String>,
        token_endpoint: impl Into<String>,
        client_id: impl Into<String>,
        refresh_token: RefreshToken,
    ) -> Self {
        Self {
            form: FORM,
            generation: 1,
            origin: origin.into(),
            token_endpoint: token_endpoint.into(),
            revocation_endpoint: None,
            client_id: client_id.into(),
            scope: String::new(),
            access_token: None,
            obtained_at: SystemTime::now(),
            expires_in: Duration::ZERO,
            refresh_token,
            pending: None,
            ended: None,
        }
    }

    /// The record as bytes, tokens and all: for a store, and nothing else.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote. Fields that a later version added are ignored.
    ///
    /// # Errors
    /// The bytes are no record, or one of a form that only a later version reads. The message names the field, never a token.
    pub fn from_json(bytes: &[u8]) -> Result<Self, StoreError> {
        let record: Self = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(bytes))
            .map_err(|error| {
                StoreError::unreadable(format!("`{}` is missing or not what it must be", error.path()))
            })?;
        match record.form {
            FORM => Ok(record),
            form => Err(StoreError::unreadable(format!("it has form {form}, and this version reads {FORM}"))),
        }
    }

    /// When the access token ends by the wall clock.
    pub fn expires_at(&self) -> SystemTime {
        self.obtained_at.checked_add(self.expires_in).unwrap_or(self.obtained_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::EndReason;

    fn record() -> TokenRecord {
        let refresh: RefreshToken = serde_json::from_str("\"rt_sentinel\"").unwrap();
        let mut record = TokenRecord::new("https://a.test", "https://a.test/oauth/token", "c", refresh);
        record.access_token = Some(AccessToken::new("at_sentinel").unwrap());
        record.pending = Some(RefreshPending { since: SystemTime::UNIX_EPOCH, attempts: 2 });
        record.ended = Some(Ended {
            why: EndReason::LostAnswer { since: SystemTime::UNIX_EPOCH },
            at: SystemTime::UNIX_EPOCH,
        });
        record
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let written = record().to_json();
        assert_eq!(TokenRecord::from_json(&written).unwrap().to_json(), written);
    }

    #[test]
    fn a_record_that_is_cut_anywhere_is_refused() {
        let written = record().to_json();
        for end in 0..written.len() {
            assert!(TokenRecord::from_json(&written[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_record_of_a_later_form_is_refused_by_its_number() {
        let mut later: serde_json::Value = serde_json::from_slice(&record().to_json()).unwrap();
        later["form"] = 2.into();
        let error = TokenRecord::from_json(later.to_string().as_bytes()).unwrap_err();
        assert!(format!("{error} {error:?}").contains("form 2"), "{error:?}");
    }

    #[test]
    fn no_token_shows_in_a_record_nor_in_what_is_wrong_with_it() {
        // AUTH-08
        assert!(!format!("{:?}", record()).contains("sentinel"));
        let mut wrong: serde_json::Value = serde_json::from_slice(&record().to_json()).unwrap();
        wrong["access_token"] = "at_sentinel with a space".into();
        let error = TokenRecord::from_json(wrong.to_string().as_bytes()).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("access_token") && !shown.contains("sentinel"), "{shown}");
    }
}
