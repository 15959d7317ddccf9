//! Account fingerprints: they identify the account of a credential without revealing the credential.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// Hashes an account's identity with a salt. The result reveals nothing, and results with different salts can't be compared.
pub(crate) fn compute(salt: &[u8], kind: &str, identity: &str) -> String {
    // HMAC accepts keys of any length.
    let Ok(mut hash) = Hmac::<Sha256>::new_from_slice(salt) else { return String::new() };
    for part in [kind, "\0", identity] {
        hash.update(part.as_bytes());
    }
    format!("{:x}", hash.finalize().into_bytes())[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_depends_on_salt_kind_and_identity() {
        // F-13
        let first = compute(b"salt", "api_key", "sb_test");
        assert_eq!((first.len(), first.clone()), (32, compute(b"salt", "api_key", "sb_test")));
        for other in [
            compute(b"other", "api_key", "sb_test"),
            compute(b"salt", "sub", "sb_test"),
            compute(b"salt", "api_key", "sb_a"),
        ] {
            assert_ne!(first, other);
        }
    }
}
