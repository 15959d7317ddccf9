//! Idempotency keys, which make a send safe to retry.

use std::fmt;

use http::HeaderValue;

use crate::problem::{Problem, limits};

/// A key that makes a send safe to retry: 1 to 256 visible ASCII characters, and spaces between them (`docs/specification.md`, POST /emails).
///
/// The specification doesn't define the allowed characters. These pass through every HTTP implementation unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Creates a key from an identifier of the send, such as `order-17-confirmation`.
    ///
    /// # Errors
    /// The key is empty, is longer than 256 characters, starts or ends with a space, or contains a character other than visible ASCII.
    pub fn new(key: impl Into<String>) -> Result<Self, Problem> {
        let key = key.into();
        let problem = |code, rule: &str| Problem::new("", code, format!("an idempotency key {rule}"));
        if key.is_empty() {
            return Err(problem("empty", "must not be empty"));
        }
        let length = key.chars().count();
        if length > limits::IDEMPOTENCY_KEY_CHARS {
            return Err(problem("length", "must have at most 256 characters")
                .with_value(format!("{length} characters")));
        }
        let inner_space = |(i, c): (usize, char)| c == ' ' && i > 0 && i + 1 < length;
        match key.chars().enumerate().find(|&(i, c)| !c.is_ascii_graphic() && !inner_space((i, c))) {
            Some((at, c)) => Err(problem(
                "charset",
                "must contain only visible ASCII characters, and spaces only between them",
            )
            .with_value(format!("{c:?} at position {}", at + 1))),
            None => Ok(Self(key)),
        }
    }

    /// Creates a unique key, a random UUID.
    pub fn random() -> Self {
        // Version 4, variant 10: RFC 9562, section 5.4.
        let (version, variant) = (76, 62);
        let bits = rand::random::<u128>() & !(0xf << version | 0x3 << variant);
        let hex = format!("{:032x}", bits | 0x4 << version | 0x2 << variant);
        Self([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }

    /// Returns the key as sent in the header.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static(""))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<&str> for IdempotencyKey {
    type Error = Problem;

    fn try_from(key: &str) -> Result<Self, Problem> {
        Self::new(key)
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = Problem;

    fn try_from(key: String) -> Result<Self, Problem> {
        Self::new(key)
    }
}

impl TryFrom<&String> for IdempotencyKey {
    type Error = Problem;

    fn try_from(key: &String) -> Result<Self, Problem> {
        Self::new(key.as_str())
    }
}

impl From<std::convert::Infallible> for Problem {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_limit_is_enforced_exactly() {
        // IDEM-03, A-17
        for key in ["a", "order-17", "a b", &"x".repeat(256)] {
            assert_eq!(IdempotencyKey::new(key).unwrap().to_string(), key);
        }
        for (key, code) in [
            ("", "empty"),
            (&*"x".repeat(257), "length"),
            ("é", "charset"),
            (" a", "charset"),
            ("a ", "charset"),
            (" ", "charset"),
            ("a\r\nb", "charset"),
            ("a\tb", "charset"),
        ] {
            assert_eq!(IdempotencyKey::new(key).unwrap_err().code, code, "{key:?}");
        }
    }

    #[test]
    fn random_keys_are_version_4_uuids_and_differ() {
        // IDEM-05, A-19
        let (a, b) = (IdempotencyKey::random(), IdempotencyKey::random());
        assert_ne!(a, b);
        let groups: Vec<_> = a.as_str().split('-').collect();
        assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(groups.concat().bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')), "{a}");
        assert!(groups[2].starts_with('4') && groups[3].starts_with(['8', '9', 'a', 'b']), "{a}");
    }
}
