//! Credentials, as types that don't reveal their value.

use std::fmt;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

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
            /// # Errors
            /// The text is empty, or has a character that can't occur in an HTTP header (whitespace, control or
            /// non-ASCII characters). The message never repeats the text.
            pub fn new(text: impl Into<String>) -> Result<Self, SettingsError> {
                let text = text.into();
                if text.is_empty() {
                    return Err(SettingsError::new($what, "must not be empty"));
                }
                if let Some(at) = text.find(|c: char| !c.is_ascii_graphic()) {
                    let rule = "must contain only visible ASCII characters without whitespace";
                    return Err(SettingsError::new($what, rule).found(format!("an invalid character at byte {at}")));
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

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "([redacted])"))
            }
        }
    };
}

secret!(
    /// An API key, sent as `Authorization: Bearer …` (`SPEC.md`, Authentication 1).
    ApiKey,
    "api_key"
);
secret!(
    /// An OAuth access token, accepted in the same header (`SPEC.md`, Authentication 2).
    AccessToken,
    "access_token"
);

impl AccessToken {
    /// Returns the token, for a program that sends it itself.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl<'de> serde::Deserialize<'de> for AccessToken {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        Self::new(text).map_err(serde::de::Error::custom)
    }
}

/// Defines a type of secret that the service issues.
macro_rules! issued {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// `Debug` prints `[redacted]`; there is no `Display` and no `Serialize`: [`expose`](Self::expose) is the only way to read the secret. The memory
        /// is zeroed when the value is dropped.
        #[derive(Clone)]
        pub struct $name(SecretString);

        impl $name {
            /// Returns the secret.
            pub fn expose(&self) -> &str {
                self.0.expose_secret()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "([redacted])"))
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(|text| Self(text.into()))
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
    /// An OAuth refresh token: opaque, valid for one use (`SPEC.md`, OAuth artifacts).
    RefreshToken
);
issued!(
    /// The secret that webhook deliveries are signed with (`SPEC.md`, POST /webhooks).
    SigningSecret
);

/// Wraps a stored secret. [`WebhookVerifier::new`](crate::webhooks::WebhookVerifier::new) validates its format.
impl From<String> for SigningSecret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for SigningSecret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<&Self> for SigningSecret {
    fn from(secret: &Self) -> Self {
        secret.clone()
    }
}

impl From<String> for RefreshToken {
    fn from(text: String) -> Self {
        Self(text.into())
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
    fn serializing_a_record_leaves_its_secret_out() {
        // AUTH-08, G-09
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
        assert_eq!(key.token.expose(), "re_sentinel");
    }

    #[test]
    fn a_malformed_credential_is_rejected_without_being_repeated() {
        //
        for text in ["", " ", "a b", "a\nb", "a\0b", "clé"] {
            let error = ApiKey::new(text).unwrap_err().to_string();
            assert!(error.contains("api_key"), "{error}");
            assert!(text.len() < 2 || !error.contains(text), "{error}");
        }
    }
}
