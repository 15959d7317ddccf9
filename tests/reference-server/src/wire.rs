//! The wire format: bodies, parameters, responses and errors, as the specification defines them.

pub(crate) mod answers;
pub(crate) mod cancel;
pub(crate) mod change;
pub(crate) mod escape;
pub(crate) mod fields;
pub(crate) mod ignored;
pub(crate) mod input;
pub(crate) mod json;
pub(crate) mod location;
pub(crate) mod multipart;
pub(crate) mod paging;
pub(crate) mod pattern;
pub(crate) mod problem;
pub(crate) mod problems;
pub(crate) mod query;
pub(crate) mod readers;
pub(crate) mod refusal;
pub(crate) mod schedule;
pub(crate) mod switch;
pub(crate) mod timestamp;
pub(crate) mod variable;
pub(crate) mod view;
pub(crate) mod words;
