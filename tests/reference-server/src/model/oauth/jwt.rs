//! Access tokens: JWTs signed with ES256 (`docs/specification.md`, OAuth artifacts).
//!
//! The key is generated on first use. A service with persistence (`idempost sandbox serve --data DIR`) stores it there, in a file that
//! only its owner can read (mode 0600), and its tokens stay valid across restarts; otherwise it is never written, and the tokens of an
//! earlier run are rejected.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::oauth::ACCESS_TOKEN;

/// The claims of an access token. The specification doesn't define them; these are the claims of RFC 9068.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    pub iss: String,
    /// Identifies the tenant without revealing its name. All tokens of a tenant have the same value.
    pub sub: String,
    pub aud: String,
    pub client_id: String,
    pub scope: String,
    pub iat: i64,
    pub exp: i64,
    pub jti: Uuid,
    /// The grant of the token: revoking it revokes the token.
    pub grant: Uuid,
}

/// The key that signs tokens.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    id: String,
    pkcs8: Vec<u8>,
}

impl SigningKey {
    /// Generates a key.
    ///
    /// # Panics
    /// If the system provides no random numbers.
    pub fn generate() -> Self {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .expect("random numbers for a key");
        let id = Uuid::new_v4().simple().to_string();
        Self::from_pkcs8(pkcs8.as_ref().to_vec(), id).expect("a generated key")
    }

    /// Restores a key from an earlier run; `None` if it is invalid.
    pub fn from_pkcs8(pkcs8: Vec<u8>, id: String) -> Option<Self> {
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &SystemRandom::new()).ok()?;
        Some(Self { pair, id, pkcs8 })
    }

    /// The arguments for [`from_pkcs8`](Self::from_pkcs8).
    pub fn parts(&self) -> (&[u8], &str) {
        (&self.pkcs8, &self.id)
    }

    /// The public half, as a member of a key set (RFC 7517 and RFC 7518, 6.2).
    pub fn public(&self) -> Value {
        // An uncompressed point (SEC 1, 2.3.3): a byte 4, then both coordinates.
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        json!({
            "kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
            "kid": self.id, "alg": "ES256", "use": "sig",
        })
    }

    /// Signs claims as a compact JWS (RFC 7515, 7.1); the token's lifetime starts at `now`.
    pub fn sign(&self, mut claims: Claims, now: Timestamp) -> String {
        claims.iat = now.as_second();
        claims.exp = claims.iat.saturating_add(i64::try_from(ACCESS_TOKEN.as_secs()).unwrap_or(i64::MAX));
        let header = json!({"typ": "at+jwt", "alg": "ES256", "kid": self.id}).to_string();
        let claims = serde_json::to_vec(&claims).unwrap_or_default();
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature =
            self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("random numbers for a signature");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Verifies a token's signature, but not whether it has expired.
    pub fn verify(&self, token: &str) -> Option<Claims> {
        #[derive(Deserialize)]
        struct Header {
            alg: String,
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        if serde_json::from_slice::<Header>(&decode(header)?).ok()?.alg != "ES256" {
            return None;
        }
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key())
            .verify(signed.as_bytes(), &decode(signature)?)
            .ok()?;
        serde_json::from_slice(&decode(claims)?).ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Whether a credential is an access token rather than an API key: three parts, of which the first is a JSON object.
pub fn looks_like_jwt(credential: &str) -> bool {
    credential.starts_with("eyJ") && credential.matches('.').count() == 2
}
