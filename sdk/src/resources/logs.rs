//! The service's log of API requests.

mod operations;
mod record;

pub use operations::Logs;
pub use record::{LogEntry, LogEntrySummary};
