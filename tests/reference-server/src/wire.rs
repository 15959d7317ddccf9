//! The wire format: bodies, parameters, responses and errors, as the specification defines them.

pub mod answers;
pub mod cancel;
pub mod change;
pub mod declared;
pub mod escape;
pub mod fields;
pub mod ignored;
pub mod input;
pub mod json;
pub mod location;
pub mod multipart;
pub mod paging;
pub mod pattern;
pub mod problem;
pub mod problems;
pub mod query;
pub mod readers;
pub mod refusal;
pub mod schedule;
pub mod switch;
pub mod timestamp;
pub mod variable;
pub mod view;
pub mod words;
