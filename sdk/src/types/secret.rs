//! Credentials as types that don't show what they hold.

use std::fmt;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use crate::problem::SettingsError;

/// Defines one kind of bearer credential.
macro_rules! secret {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        ///
        /// `Debug` prints `[redacted]`; there is no `Display` and no comparison. The memory is cleared when the value
        /// is dropped.
        #[derive(Clone)]
        pub struct $name(SecretString);

        impl $name {
            /// Takes the credential as text.
            ///
            /// # Errors
            /// The text is empty, or has a character that can't stand in an HTTP header (white space, control or
            /// non-ASCII characters). The message never repeats the text.
            pub fn new(text: impl Into<String>) -> Result<Self, SettingsError> {
                let text = text.into();
                if text.is_empty() {
                    return Err(SettingsError::new($what, "must not be empty"));
                }
                if let Some(at) = text.find(|c: char| !c.is_ascii_graphic()) {
                    let rule = "may hold only visible ASCII characters, without white space";
                    return Err(SettingsError::new($what, rule).found(format!("another character at byte {at}")));
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
    /// The token, for a program that sends it by itself.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

/// Serialized, it is the token itself: a login that is kept is kept whole.
impl serde::Serialize for AccessToken {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> serde::Deserialize<'de> for AccessToken {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        Self::new(text).map_err(serde::de::Error::custom)
    }
}

/// Defines one secret that the service hands out.
macro_rules! handed_out {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// `Debug` prints `[redacted]`, and there is no `Display`. Serialized, it is the secret itself: an answer that is written down is written
        /// whole. The memory is cleared when the value is dropped.
        #[derive(Clone)]
        pub struct $name(SecretString);

        impl $name {
            /// The secret, to be kept where secrets are.
            pub fn expose(&self) -> &str {
                self.0.expose_secret()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "([redacted])"))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.expose())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(|text| Self(text.into()))
            }
        }
    };
}

handed_out!(
    /// An API key that was made, told once.
    ApiKeyToken
);
handed_out!(
    /// What a new access token is asked for with: opaque, good for one use (`SPEC.md`, OAuth artifacts).
    RefreshToken
);
handed_out!(
    /// What a webhook signs its events with (`SPEC.md`, POST /webhooks).
    SigningSecret
);

/// A secret that was kept. Whether it is one shows when [`WebhookVerifier::new`](crate::WebhookVerifier::new) takes it.
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
    fn a_malformed_credential_is_refused_without_being_repeated() {
        for text in ["", " ", "a b", "a\nb", "a\0b", "clé"] {
            let error = ApiKey::new(text).unwrap_err().to_string();
            assert!(error.contains("api_key"), "{error}");
            assert!(text.len() < 2 || !error.contains(text), "{error}");
        }
    }
}
