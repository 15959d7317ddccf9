//! Bulk sending: jobs of any size, each row delivered once.

mod error;
#[cfg(feature = "nats")]
pub mod queue;

pub use error::{BulkError, Result};
