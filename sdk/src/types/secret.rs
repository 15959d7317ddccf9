//! Credential types that don't reveal their value.

use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::problem::SettingsError;

/// Defines a type of bearer credential.
macro_rules! secret {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        ///
        /// `Debug` prints `[redacted]`; there is no `Display`, no `Serialize` and no comparison. The memory is zeroed when
        /// the value is dropped.
        #[derive(Clone)]
        pub struct $name(SecretString);

        impl $name {
            /// Validates a credential.
            ///
            /// The text is empty, or contains a character that isn't allowed in an HTTP header (whitespace, control or non-ASCII characters). The
            /// message never quotes the text.
            pub fn new(text: impl Into<String>) -> Result<Self, SettingsError> {
                let text = text.into();
                if text.is_empty() {
                    return Err(SettingsError::new($what, "must not be empty"));
                }
                if let Some(at) = text.find(|c: char| !c.is_ascii_graphic()) {
                    let rule = "must contain only visible ASCII characters without whitespace";
                    return Err(SettingsError::new($what, rule).with_value(format!("an invalid character at byte {at}")));
                }
                Ok(Self(text.into()))
            }

            pub(crate) fn header(&self) -> HeaderValue {
                let text = format!("Bearer {}", self.0.expose_secret());
                let mut value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Bearer"));
                value.set_sensitive(true);
                value
            }
        }

        partial_debug!($name = concat!(stringify!($name), "([redacted])"));
    };
}

secret!(
    /// An API key, sent as `Authorization: Bearer …` (`docs/specification.md`, Authentication 1).
    ApiKey,
    "api_key"
);
secret!(
    /// An OAuth access token, accepted in the same header (`docs/specification.md`, Authentication 2).
    AccessToken,
    "access_token"
);

impl AccessToken {
    /// Returns the token, for programs that send it themselves.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns the token's claims; `None` if it isn't a JWT.
    ///
    /// The signature isn't verified; the service does that before it accepts the token.
    pub fn claims(&self) -> Option<TokenClaims> {
        TokenClaims::from_token(self.expose())
    }
}

/// The claims in an access token (RFC 9068, 2.2). None of them is secret.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct TokenClaims {
    /// The account.
    #[serde(rename = "sub")]
    pub subject: Option<String>,
    /// The scopes, separated by spaces.
    pub scope: Option<String>,
    #[serde(default)]
    exp: Option<u64>,
}

impl TokenClaims {
    pub(crate) fn from_token(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
        let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
        serde_json::from_slice(&claims).ok()
    }

    /// Returns when the token expires.
    pub fn expires_at(&self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.exp?))
    }
}

impl<'de> serde::Deserialize<'de> for AccessToken {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        Self::new(text).map_err(serde::de::Error::custom)
    }
}

/// Defines a type of secret issued by the service.
macro_rules! issued {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// `Debug` prints `[redacted]`; there is no `Display` and no `Serialize`: [`expose`](Self::expose) is the only way to read the secret. The
        /// memory is zeroed when the value is dropped.
        #[derive(Clone, Deserialize)]
        #[serde(from = "String")]
        pub struct $name(SecretString);

        impl $name {
            /// Returns the secret.
            pub fn expose(&self) -> &str {
                self.0.expose_secret()
            }
        }

        partial_debug!($name = concat!(stringify!($name), "([redacted])"));

        conversions! {
            $name {
                /// Wraps a stored secret.
                String: text => Self(text.into()),
            }
        }

        strict!($name);
    };
}

issued!(
    /// The token of a new API key. The service returns it only once.
    ApiKeyToken
);
issued!(
    /// An OAuth refresh token: opaque, valid for one use (`docs/specification.md`, OAuth artifacts).
    RefreshToken
);
issued!(
    /// The secret used to sign webhook deliveries (`docs/specification.md`, POST /webhooks).
    SigningSecret
);

conversions! {
    SigningSecret {
        /// Wraps a stored secret. [`WebhookVerifier::new`](crate::webhooks::WebhookVerifier::new) validates its format.
        &str: text => Self(text.into()),
        &Self: secret => secret.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_never_shows_in_debug() {
        // AUTH-08
        let key = ApiKey::new("re_sentinel").unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey([redacted])");
        assert!(format!("{:?}", key.header()).contains("Sensitive"));
    }

    #[test]
    fn the_claims_of_a_token_are_those_of_its_payload() {
        // F-13
        let token = |claims: &str| {
            AccessToken::new(format!("eyJhbGciOiJFUzI1NiJ9.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))).unwrap()
        };
        let claims = token(r#"{"exp":2,"sub":"acme","scope":"emails:send","jti":"x"}"#).claims().unwrap();
        assert_eq!((claims.subject.as_deref(), claims.scope.as_deref()), (Some("acme"), Some("emails:send")));
        assert_eq!(claims.expires_at(), Some(SystemTime::UNIX_EPOCH + Duration::from_secs(2)));
        assert_eq!(token(r#"{"exp":1}"#).claims().unwrap().subject, None);
        for other in ["sb_test", "a.b", "a.b.c"] {
            assert_eq!(AccessToken::new(other).unwrap().claims(), None, "{other}");
        }
    }

    #[test]
    fn a_record_shows_its_secret_neither_in_debug_nor_in_json() {
        // AUTH-08, HOOK-15, G-09
        let key = serde_json::json!({ "id": "k1", "token": "re_sentinel" });
        let key: crate::api_keys::CreatedApiKey = serde_json::from_value(key).unwrap();
        let webhook =
            serde_json::json!({ "id": "w1", "endpoint": "https://a.test", "signing_secret": "sentinel" });
        let created: crate::webhooks::CreatedWebhook = serde_json::from_value(webhook.clone()).unwrap();
        let webhook: crate::webhooks::Webhook = serde_json::from_value(webhook).unwrap();
        let shown = [
            serde_json::to_string(&key).unwrap(),
            serde_json::to_string(&created).unwrap(),
            serde_json::to_string(&webhook).unwrap(),
        ];
        assert!(!shown.iter().any(|text| text.contains("sentinel")), "{shown:?}");
        let shown = format!("{key:?} {created:?} {webhook:?}");
        assert!(!shown.contains("sentinel"), "{shown}");
        assert_eq!((key.token.expose(), created.signing_secret.expose()), ("re_sentinel", "sentinel"));
    }

    #[test]
    fn a_url_that_grants_access_never_shows_in_debug() {
        // AUTH-08
        let json = serde_json::json!({ "id": "x", "download_url": "https://a.test/sentinel", "url": "https://a.test/sentinel" });
        let attachment: crate::received::EmailAttachment = serde_json::from_value(json.clone()).unwrap();
        let raw: crate::received::RawEmail = serde_json::from_value(json.clone()).unwrap();
        let shared: crate::emails::SharedEmail = serde_json::from_value(json).unwrap();
        let shown = format!("{attachment:?} {raw:?} {shared:?}");
        assert!(shown.contains("download_url: [redacted]") && !shown.contains("sentinel"), "{shown}");
        assert!(serde_json::to_string(&attachment).unwrap().contains("sentinel"));
    }

    #[test]
    fn a_malformed_credential_is_rejected_without_being_repeated() {
        // A-48
        for text in ["", " ", "a b", "a\nb", "a\0b", "clé"] {
            let error = ApiKey::new(text).unwrap_err().to_string();
            assert!(error.contains("api_key"), "{error}");
            assert!(text.len() < 2 || !error.contains(text), "{error}");
        }
    }
}
