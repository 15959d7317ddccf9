//! The parsers of the login: redirects, token responses, metadata, and stored records.

pub(crate) mod callback;
pub(crate) mod tokens;
