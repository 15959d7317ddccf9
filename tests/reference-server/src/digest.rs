//! SHA-256: of names and bodies, and to sign and compare.

use ring::{digest, hmac};
use uuid::{Builder, Uuid};

pub type Digest = [u8; 32];

/// The digest of the concatenated parts.
pub fn sha256(parts: &[&[u8]]) -> Digest {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(part);
    }
    to_array(context.finish().as_ref())
}

/// The HMAC of the concatenated parts.
pub fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> Digest {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    for part in parts {
        context.update(part);
    }
    to_array(context.sign().as_ref())
}

/// The UUID (version 8) that these parts determine.
pub fn uuid_of(parts: &[&[u8]]) -> Uuid {
    Builder::from_custom_bytes(first_half(sha256(parts))).into_uuid()
}

pub fn first_half(digest: Digest) -> [u8; 16] {
    std::array::from_fn(|index| digest[index])
}

/// Whether this is the secret. Takes the same time for all values of the same length.
pub fn is_secret(secret: &[u8], given: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::verify(&key, given, hmac::sign(&key, secret).as_ref()).is_ok()
}

fn to_array(digest: &[u8]) -> Digest {
    let mut array = [0; 32];
    array.copy_from_slice(digest);
    array
}
