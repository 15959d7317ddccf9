//! Access tokens: JWTs signed with ES256 (`SPEC.md`, OAuth artifacts).
//!
//! The key is generated on first use. A service with persistence (`idempost sandbox serve --data DIR`) stores it there, in a file that
//! only its owner can read (mode 0600), and its tokens stay valid across restarts; otherwise it is never written, and the tokens of an
//! earlier run are rejected.

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use jiff::Timestamp;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::oauth::ACCESS_TOKEN;

/// The claims of an access token. The specification doesn't define them; these are the claims of RFC 9068.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    /// Identifies the tenant without revealing its name. All tokens of a tenant have the same value.
    pub(crate) sub: String,
    pub(crate) aud: String,
    pub(crate) client_id: String,
    pub(crate) scope: String,
    pub(crate) iat: i64,
    pub(crate) exp: i64,
    pub(crate) jti: Uuid,
    /// The grant of the token: revoking it revokes the token.
    pub(crate) grant: Uuid,
}

/// The key that signs tokens.
pub(crate) struct SigningKey {
    signing: EncodingKey,
    verifying: DecodingKey,
    public: Jwk,
    id: String,
    pkcs8: Vec<u8>,
}

impl SigningKey {
    /// Generates a key.
    ///
    /// # Panics
    /// If the system provides no random numbers.
    pub(crate) fn make() -> Self {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .expect("random numbers for a key");
        let id = Uuid::new_v4().simple().to_string();
        Self::of(pkcs8.as_ref().to_vec(), id).expect("a generated key")
    }

    /// Restores a key of an earlier run; `None` if it is invalid.
    pub(crate) fn of(pkcs8: Vec<u8>, id: String) -> Option<Self> {
        let signing = EncodingKey::from_ec_der(&pkcs8);
        let mut public = Jwk::from_encoding_key(&signing, Algorithm::ES256).ok()?;
        public.common.key_id = Some(id.clone());
        public.common.public_key_use = Some(jsonwebtoken::jwk::PublicKeyUse::Signature);
        let verifying = DecodingKey::from_jwk(&public).ok()?;
        Some(Self { signing, verifying, public, id, pkcs8 })
    }

    /// The arguments for [`of`](Self::of).
    pub(crate) fn parts(&self) -> (&[u8], &str) {
        (&self.pkcs8, &self.id)
    }

    /// The public half, as a member of a key set (RFC 7517).
    pub(crate) fn public(&self) -> &Jwk {
        &self.public
    }

    /// Signs claims; the token's lifetime starts at `now`.
    pub(crate) fn sign(&self, mut claims: Claims, now: Timestamp) -> String {
        claims.iat = now.as_second();
        claims.exp = claims.iat.saturating_add(i64::try_from(ACCESS_TOKEN.as_secs()).unwrap_or(i64::MAX));
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some("at+jwt".to_owned());
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, &claims, &self.signing).unwrap_or_default()
    }

    /// Verifies a token's signature, and its expiry by the service's clock.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Option<Claims> {
        let mut rules = Validation::new(Algorithm::ES256);
        // The crate would use the system's clock.
        rules.validate_exp = false;
        rules.validate_aud = false;
        let claims = jsonwebtoken::decode::<Claims>(token, &self.verifying, &rules).ok()?.claims;
        (now.as_second() < claims.exp).then_some(claims)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Whether a credential is an access token rather than an API key: three parts, of which the first is a JSON object.
pub(crate) fn looks_like_one(credential: &str) -> bool {
    credential.starts_with("eyJ") && credential.matches('.').count() == 2
}
