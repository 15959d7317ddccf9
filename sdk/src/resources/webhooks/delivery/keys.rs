//! The keys in signing secrets.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretSlice};
use sha2::Sha256;

use crate::types::SigningSecret;

/// The prefix of a signing secret, before its Base64 part.
const PREFIX: &str = "whsec_";

/// Why a string isn't a valid signing secret. It never quotes the string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// It is empty. With an empty key, anyone could sign requests.
    #[error("the signing secret must not be empty")]
    Blank,
    /// It isn't Base64, with or without the prefix `whsec_`.
    #[error("the signing secret must be `whsec_` followed by padded Base64 (found {found})")]
    Base64 {
        /// The invalid part, and its position.
        found: String,
    },
}

/// The key in a signing secret.
#[derive(Clone)]
pub(super) struct Key(SecretSlice<u8>);

impl Key {
    /// Decodes a secret: Base64, with or without the prefix `whsec_`.
    pub(super) fn from_secret(secret: &SigningSecret) -> Result<Self, SecretError> {
        let text = secret.expose();
        if text.trim().is_empty() {
            return Err(SecretError::Blank);
        }
        if let Some(at) = text.find(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(SecretError::Base64 { found: format!("whitespace at byte {at}") });
        }
        let coded = text.strip_prefix(PREFIX).unwrap_or(text);
        let key = STANDARD.decode(coded).map_err(|error| SecretError::Base64 {
            found: match error {
                base64::DecodeError::InvalidByte(at, _) => {
                    format!("an invalid character at byte {}", text.len() - coded.len() + at)
                }
                base64::DecodeError::InvalidLength(_) => format!("{} characters", coded.len()),
                base64::DecodeError::InvalidLastSymbol { .. } => {
                    "non-zero trailing bits in the last character".to_owned()
                }
                base64::DecodeError::InvalidPadding => {
                    format!("{} characters with invalid padding", coded.len())
                }
            },
        })?;
        if key.is_empty() {
            return Err(SecretError::Blank);
        }
        Ok(Self(key.into()))
    }

    /// Returns the HMAC-SHA256 of `<id>.<timestamp>.<body>`.
    pub(super) fn sign(&self, id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
        // HMAC accepts keys of any length.
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()) else { return [0; 32] };
        let parts: [&[u8]; 5] = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
        parts.into_iter().fold(mac, Mac::chain_update).finalize().into_bytes().into()
    }
}

partial_debug!(Key = "Key([redacted])");
