//! The encoding of records in the queue.

/// A 16-byte hash as 32 hexadecimal digits.
pub(super) mod hash {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::queue) fn serialize<S: Serializer>(
        hash: &[u8; 16],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:032x}", u128::from_be_bytes(*hash)))
    }

    pub(in crate::queue) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u8; 16], D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() != 32 {
            return Err(D::Error::custom("expected 32 hexadecimal digits"));
        }
        u128::from_str_radix(&text, 16).map(u128::to_be_bytes).map_err(D::Error::custom)
    }
}
