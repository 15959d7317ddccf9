//! What a command line names and spells out: files and standard input, JSON with its places, attachments, pairs.

pub(crate) mod attach;
pub(crate) mod bodies;
pub(crate) mod clear;
pub(crate) mod documents;
pub(crate) mod draft;
pub(crate) mod flags;
pub(crate) mod json;
pub(crate) mod name;
pub(crate) mod pair;
pub(crate) mod places;
pub(crate) mod size;
pub(crate) mod source;
