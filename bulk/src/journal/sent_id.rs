//! The ID of an accepted email in its stored form.

use std::fmt;

use uuid::Uuid;

/// The ID of an accepted email, as the service returned it.
///
/// An ID in the canonical form of a UUID (lowercase, hyphenated) takes 16 bytes. Any other ID is stored as text, so that it is written back exactly
/// as received.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SentId {
    /// A UUID.
    Uuid(Uuid),
    /// An ID in another format.
    Text(Box<str>),
}

impl From<&str> for SentId {
    fn from(id: &str) -> Self {
        match Uuid::try_parse(id) {
            Ok(uuid) if uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == id => Self::Uuid(uuid),
            _ => Self::Text(id.into()),
        }
    }
}

impl fmt::Display for SentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.hyphenated().fmt(f),
            Self::Text(id) => f.write_str(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_exactly_as_received() {
        for (id, is_uuid) in [
            ("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", true),
            ("49A3999C-0ce1-4ea6-ab68-afcd6dc2e794", false),
            ("49a3999c0ce14ea6ab68afcd6dc2e794", false),
            ("{49a3999c-0ce1-4ea6-ab68-afcd6dc2e794}", false),
            ("urn:uuid:49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", false),
            ("em_1", false),
            ("", false),
        ] {
            let parsed = SentId::from(id);
            assert_eq!(parsed.to_string(), id);
            assert_eq!(matches!(parsed, SentId::Uuid(_)), is_uuid, "{id}");
        }
    }
}
