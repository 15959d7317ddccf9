//! The stored record of a login.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::{
    clock,
    error::{Ended, StoreError},
    types::{
        AccessToken, RefreshToken,
        wall_clock::{instant, seconds},
    },
};

/// The longest delay that a token endpoint can impose.
const MAX_THROTTLE: Duration = Duration::from_secs(60 * 60);
/// The largest step by which clock synchronization sets a clock back.
const MAX_CORRECTION: Duration = Duration::from_secs(60);

/// The record format version. A record in a later format is rejected and left unchanged.
const FORMAT: u32 = 1;

/// A login as stored in a [`TokenStore`](super::TokenStore): its tokens, the origin they are bound to, and the state of its refresh.
///
/// Each refresh creates the next *generation*: the service issues a new refresh token, and the old one must never be sent again
/// (`docs/specification.md`, Authentication 4). Processes compare generations to find out whether another process has already refreshed.
///
/// Serializing a record exposes its tokens; `Debug` redacts them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenRecord {
    form: u32,
    /// The number of this refresh token within the grant, from 1.
    pub generation: u64,
    /// The only origin that the tokens may be sent to, such as `https://api.example.com`.
    pub origin: String,
    /// The issuer of the tokens, if the server was discovered through its metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The URL of the token endpoint.
    pub token_endpoint: String,
    /// The URL of the revocation endpoint, if the service has one.
    pub revocation_endpoint: Option<String>,
    /// The OAuth client ID.
    pub client_id: String,
    /// The granted scopes, separated by spaces.
    pub scope: String,
    /// The access token; `None` if a refresh returned only a refresh token.
    #[serde(serialize_with = "exposed::access_token")]
    pub access_token: Option<AccessToken>,
    /// When these tokens were requested. The lifetime counts from before the request, so that it is never overestimated.
    #[serde(with = "instant")]
    pub obtained_at: SystemTime,
    /// The same time by the server's clock (`Date`), if its response stated it. Used if the clock that wrote `obtained_at` was ahead.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "served")]
    pub served_at: Option<SystemTime>,
    /// The lifetime of the access token, counted from `obtained_at`; 900 s for Resend.
    #[serde(with = "seconds")]
    pub expires_in: Duration,
    /// The only valid refresh token; `None` if the server issued none, so that the login ends with its access token (RFC 6749, 5.1).
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exposed::refresh_token")]
    pub refresh_token: Option<RefreshToken>,
    /// A refresh that was started but whose outcome hasn't been recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<RefreshPending>,
    /// Set if the token endpoint asked the client to wait before the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) throttled: Option<Throttled>,
    /// Set when the grant has ended. Its tokens are never sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// A refresh in flight: written before the request is sent, removed when its outcome is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RefreshPending {
    /// When the last attempt started.
    #[serde(with = "instant")]
    pub since: SystemTime,
    /// The number of attempts with this refresh token, from 1.
    pub attempts: u32,
}

/// A throttling response of the token endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Throttled {
    pub(crate) status: u16,
    #[serde(with = "instant")]
    pub(crate) since: SystemTime,
    #[serde(with = "seconds")]
    pub(crate) pause: Duration,
}

impl Throttled {
    /// Returns the remaining delay. A clock that was set back proves nothing, and no server's delay is honored for longer than [`MAX_THROTTLE`].
    pub(crate) fn remaining(&self, now: SystemTime) -> Option<Duration> {
        let elapsed = now.duration_since(self.since).ok()?;
        self.pause.min(MAX_THROTTLE).checked_sub(elapsed).filter(|left| !left.is_zero())
    }
}

/// Serialization of an optional time.
mod served {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::instant;

    #[derive(Deserialize)]
    struct At(#[serde(with = "instant")] SystemTime);

    #[expect(clippy::ref_option, reason = "serde passes the field")]
    pub(super) fn serialize<S: Serializer>(
        at: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => instant::serialize(at, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        Ok(Option::<At>::deserialize(deserializer)?.map(|At(at)| at))
    }
}

/// Serialization of tokens in a record, the only code that serializes them.
mod exposed {
    use serde::{Serialize as _, Serializer};

    use crate::types::{AccessToken, RefreshToken};

    #[expect(clippy::ref_option, reason = "serde passes the field")]
    pub(super) fn access_token<S: Serializer>(
        token: &Option<AccessToken>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        token.as_ref().map(AccessToken::expose).serialize(serializer)
    }

    #[expect(clippy::ref_option, reason = "serde passes the field")]
    pub(super) fn refresh_token<S: Serializer>(
        token: &Option<RefreshToken>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        token.as_ref().map(RefreshToken::expose).serialize(serializer)
    }
}

impl TokenRecord {
    /// Creates the record of a new login, or of tokens from another source, as generation 1.
    pub fn new(
        origin: impl Into<String>,
        token_endpoint: impl Into<String>,
        client_id: impl Into<String>,
        refresh_token: RefreshToken,
    ) -> Self {
        Self::from_parts(origin, token_endpoint, client_id, Some(refresh_token))
    }

    pub(crate) fn from_parts(
        origin: impl Into<String>,
        token_endpoint: impl Into<String>,
        client_id: impl Into<String>,
        refresh_token: Option<RefreshToken>,
    ) -> Self {
        Self {
            form: FORMAT,
            generation: 1,
            origin: origin.into(),
            issuer: None,
            token_endpoint: token_endpoint.into(),
            revocation_endpoint: None,
            client_id: client_id.into(),
            scope: String::new(),
            access_token: None,
            obtained_at: clock::wall(),
            served_at: None,
            expires_in: Duration::ZERO,
            refresh_token,
            pending: None,
            throttled: None,
            ended: None,
        }
    }

    /// Serializes the record with its tokens, for a token store only.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses the output of [`to_json`](Self::to_json). Ignores fields that a later version added.
    ///
    /// # Errors
    /// The bytes aren't a record, or are a record in a later format. The message names the field but never contains a token.
    pub fn from_json(bytes: &[u8]) -> Result<Self, StoreError> {
        let record: Self = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(bytes))
            .map_err(|error| {
                let (path, cause) = (error.path(), error.inner());
                StoreError::invalid_data(match cause.classify() {
                    Category::Data if path.iter().next().is_none() => {
                        "it isn't a JSON object with all fields of a login".to_owned()
                    }
                    Category::Data => format!("`{path}` is invalid"),
                    // The path may end in a name from the damaged JSON, which may be part of a token.
                    _ => format!("its JSON is malformed at line {}, column {}", cause.line(), cause.column()),
                })
            })?;
        match record.form {
            FORMAT => Ok(record),
            form => Err(StoreError::invalid_data(format!(
                "its format version is {form}; this version supports {FORMAT}"
            ))),
        }
    }

    /// Returns when the access token expires by the wall clock.
    pub fn expires_at(&self) -> SystemTime {
        self.expires_at_by(clock::wall())
    }

    /// As above, by a clock that reads `now`. If that is behind `obtained_at` by more than a correction, another clock wrote `obtained_at`, so the
    /// server's time is used.
    pub(crate) fn expires_at_by(&self, now: SystemTime) -> SystemTime {
        let is_another = self.obtained_at.duration_since(now).is_ok_and(|behind| behind > MAX_CORRECTION);
        let begun = self.served_at.filter(|_| is_another).unwrap_or(self.obtained_at);
        begun.checked_add(self.expires_in).unwrap_or(begun)
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
            reason: EndReason::ResponseLost { since: SystemTime::UNIX_EPOCH },
            at: SystemTime::UNIX_EPOCH,
        });
        record
    }

    #[test]
    fn a_record_round_trips() {
        let written = record().to_json();
        assert_eq!(TokenRecord::from_json(&written).unwrap().to_json(), written);
    }

    #[test]
    fn a_pause_lasts_an_hour_at_most_and_a_clock_set_back_ends_it() {
        // D-06
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let throttled = Throttled { status: 429, since: at(10_000), pause: Duration::from_hours(2) };
        for (now, left) in
            [(9_999, None), (10_000, Some(3600)), (13_599, Some(1)), (13_600, None), (99_999, None)]
        {
            assert_eq!(throttled.remaining(at(now)), left.map(Duration::from_secs), "{now}");
        }
    }

    #[test]
    fn a_truncated_record_is_rejected() {
        let written = record().to_json();
        for end in 0..written.len() {
            assert!(TokenRecord::from_json(&written[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_damaged_record_is_rejected_without_a_part_of_it() {
        for (damaged, reason) in [
            (r#"{"rt_sentinel": x}"#, "its JSON is malformed at line 1, column 17"),
            (r#"{"form": 1}"#, "it isn't a JSON object with all fields of a login"),
            ("[]", "it isn't a JSON object with all fields of a login"),
            (r#"{"form": "rt_sentinel"}"#, "`form` is invalid"),
        ] {
            let error = TokenRecord::from_json(damaged.as_bytes()).unwrap_err();
            assert!(error.to_string().ends_with(reason), "{damaged}: {error}");
            assert!(!format!("{error:?}").contains("sentinel"), "{error:?}");
        }
    }

    #[test]
    fn a_record_of_a_later_format_is_rejected_by_its_version() {
        // E-01
        let mut later: serde_json::Value = serde_json::from_slice(&record().to_json()).unwrap();
        later["form"] = 2.into();
        let error = TokenRecord::from_json(later.to_string().as_bytes()).unwrap_err();
        assert!(format!("{error} {error:?}").contains("version is 2"), "{error:?}");
    }

    #[test]
    fn neither_debug_nor_errors_of_a_record_show_a_token() {
        // AUTH-08
        assert!(!format!("{:?}", record()).contains("sentinel"));
        let mut wrong: serde_json::Value = serde_json::from_slice(&record().to_json()).unwrap();
        wrong["access_token"] = "at_sentinel with a space".into();
        let error = TokenRecord::from_json(wrong.to_string().as_bytes()).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("access_token") && !shown.contains("sentinel"), "{shown}");
    }
}
