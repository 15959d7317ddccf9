//! Bulk sending: jobs of any size, each row delivered once.

mod counts;
mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the engine uses it"))]
mod host_id;
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "the engine uses it"))]
mod journal;
#[cfg_attr(not(test), expect(dead_code, reason = "the engine uses it"))]
mod lock;
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "the engine uses it"))]
mod state;

pub use counts::{CountMismatch, Counts};
pub use error::{BulkError, Result};
