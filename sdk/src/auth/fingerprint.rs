//! Fingerprints of accounts: which account a credential belongs to, without the credential.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _};
use serde::Deserialize;
use sha2::Sha256;

/// The part of an access token that identifies its account (RFC 9068, 2.2).
#[derive(Deserialize)]
struct Claims {
    sub: String,
}

/// Returns the subject of an access token; `None` if the text isn't a JWT with the claim `sub`.
///
/// The signature isn't verified: the service does so before it accepts the token.
pub(crate) fn subject(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    serde_json::from_slice::<Claims>(&claims).ok().map(|claims| claims.sub)
}

/// Hashes what identifies an account with a salt, so that the result reveals nothing and can't be compared with that of another salt.
pub(crate) fn of(salt: &[u8], kind: &str, identity: &str) -> String {
    // HMAC accepts keys of any length.
    let Ok(mut hash) = Hmac::<Sha256>::new_from_slice(salt) else { return String::new() };
    for part in [kind, "\0", identity] {
        hash.update(part.as_bytes());
    }
    let hash = hash.finalize().into_bytes();
    hash[..16].iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("eyJhbGciOiJFUzI1NiJ9.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn the_subject_of_a_token_stays_while_its_other_claims_change() {
        // F-13
        assert_eq!(subject(&token(r#"{"sub":"acme","exp":1}"#)).as_deref(), Some("acme"));
        assert_eq!(subject(&token(r#"{"exp":2,"sub":"acme","jti":"x"}"#)).as_deref(), Some("acme"));
        for other in [&token(r#"{"exp":1}"#), "sb_test", "a.b", "a.b.c", ""] {
            assert_eq!(subject(other), None, "{other}");
        }
    }

    #[test]
    fn a_fingerprint_depends_on_salt_kind_and_identity() {
        // F-13
        let first = of(b"salt", "api_key", "sb_test");
        assert_eq!((first.len(), first.clone()), (32, of(b"salt", "api_key", "sb_test")));
        for other in [
            of(b"other", "api_key", "sb_test"),
            of(b"salt", "sub", "sb_test"),
            of(b"salt", "api_key", "sb_a"),
        ] {
            assert_ne!(first, other);
        }
    }
}
