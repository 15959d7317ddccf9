//! Idempotency keys, which make a send safe to retry.

use std::fmt;

use http::HeaderValue;

use crate::problem::{Problem, limits};

/// A key that makes a send safe to retry: 1 to 256 visible ASCII characters (`SPEC.md`, POST /emails).
///
/// The specification is silent on the characters. Visible ASCII passes every HTTP implementation unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Creates a key from an identifier of the send, such as `order-17-confirmation`.
    ///
    /// # Errors
    /// The key is empty, is longer than 256 characters, or contains a character other than visible ASCII.
    pub fn new(key: impl Into<String>) -> Result<Self, Problem> {
        let key = key.into();
        let problem = |code, rule: &str| Problem::new("", code, format!("an idempotency key {rule}"));
        if key.is_empty() {
            return Err(problem("empty", "must not be empty"));
        }
        let length = key.chars().count();
        if length > limits::IDEMPOTENCY_KEY_CHARS {
            return Err(
                problem("length", "must have at most 256 characters").found(format!("{length} characters"))
            );
        }
        let inner_space = |(i, c): (usize, char)| c == ' ' && i > 0 && i + 1 < length;
        match key.chars().enumerate().find(|&(i, c)| !c.is_ascii_graphic() && !inner_space((i, c))) {
            Some((at, c)) => Err(problem(
                "charset",
                "must contain only visible ASCII characters, and spaces only between them",
            )
            .found(format!("{c:?} at position {}", at + 1))),
            None => Ok(Self(key)),
        }
    }

    /// Creates a unique key, a random UUID.
    pub fn random() -> Self {
        Self(uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string())
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
        assert_eq!(a.as_str().len(), 36);
        assert_eq!(&a.as_str()[14..15], "4");
        assert!(matches!(&a.as_str()[19..20], "8" | "9" | "a" | "b"));
    }
}
