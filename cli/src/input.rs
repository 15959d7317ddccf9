//! Input from the command line: files and standard input, JSON with positions, attachments, pairs.

pub(crate) mod addresses;
pub(crate) mod attach;
pub(crate) mod bodies;
pub(crate) mod delimiter;
pub(crate) mod document;
pub(crate) mod documents;
pub(crate) mod flags;
pub(crate) mod json;
pub(crate) mod json_spans;
pub(crate) mod open_quote;
mod origins;
pub(crate) mod pair;
pub(crate) mod size;
pub(crate) mod source;
