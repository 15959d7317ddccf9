//! The service, one file a resource. Each describes its operations and types; how they are sent is above.

pub mod emails;
pub mod logs;
