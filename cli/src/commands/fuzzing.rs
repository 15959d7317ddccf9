//! Properties of the parsers of commands.

pub use super::contacts::import::fuzzing::contacts;
#[cfg(feature = "mcp")]
pub use super::mcp::fuzzing::tools;
pub use super::suppressions::fuzzing::addresses;
