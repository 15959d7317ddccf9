//! Bulk sending: jobs of any size, each row delivered once.

mod error;

pub use error::{BulkError, Result};
