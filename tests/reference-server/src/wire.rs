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

// What most handlers and records need.
pub use answers::{Deletion, HandlerResult};
pub use cancel::Cancellation;
pub use change::{Change, replace};
pub use declared::{Input, Kind, words_of};
pub use escape::{escape_html, to_pre_element};
pub use fields::{Field, Fields};
pub use ignored::Ignored;
pub(crate) use input::input;
pub use json::{Body, has_control, kind, text, well_formed};
pub use paging::{Cursor, Mode, Page, Window, list, opaque_cursor, quote};
pub use pattern::{pattern_matches, segments};
pub use problem::{Problem, json};
pub use problems::{Checked, Report};
pub use query::{BOOLEANS, Parameters};
pub use readers::{boolean, line, non_blank, non_empty, shared, string, uuid};
pub use refusal::{OAuthRejection, set_no_store};
pub use switch::{SWITCH, enabled_or_disabled};
pub use timestamp::{to_database_format, to_iso};
pub use variable::check_key;
pub use view::view;
pub use words::words;
