//! Fields that the service may leave out or set to `null`.

use serde::{Deserialize, Deserializer};

/// Reads `null` as the type's default, for `#[serde(default, deserialize_with = "null_default")]`.
pub(crate) fn null_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
