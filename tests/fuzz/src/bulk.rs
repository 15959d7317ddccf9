//! The parsers of bulk jobs: inputs, and the journal.

pub(crate) mod input;
pub(crate) mod journal;
