//! Output: results on standard output, messages for people on standard error.

pub(crate) mod color;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
pub(crate) mod hidden;
pub(crate) mod job_progress;
pub(crate) mod jq;
pub(crate) mod json;
pub(crate) mod out;
pub(crate) mod pager;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod secret;
pub(crate) mod snippet;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod time;

pub(crate) use out::{Out, OutputOptions, was_stdout_closed, write_stderr, write_stderr_json, write_stdout};
pub(crate) use terminal::Terminal;
