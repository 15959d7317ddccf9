//! Bulk sending: jobs of any size, each row delivered once.

mod error;
pub mod pace;

pub use error::{BulkError, Result};
