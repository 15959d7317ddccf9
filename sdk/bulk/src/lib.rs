//! Bulk sending: jobs of any size, each row delivered once.

mod error;
#[cfg_attr(not(test), allow(dead_code, reason = "the entry point of jobs uses it"))]
mod files;
#[cfg_attr(not(test), allow(dead_code, unused_imports, reason = "the entry point of jobs uses it"))]
mod input;
mod message;
#[cfg_attr(not(test), allow(dead_code, unused_imports, reason = "the entry point of jobs uses it"))]
mod plan;
mod template;

pub use error::{BulkError, Result};
pub use input::{Format, Input, RowProblem};
pub use message::Message;
pub use plan::{Counts, Plan, PreviewEmail};
