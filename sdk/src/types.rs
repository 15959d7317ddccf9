//! The small types that every resource is made of.

mod address;
#[macro_use]
mod id;
#[macro_use]
mod open_enum;
mod secret;
mod timestamp;

pub use address::Recipients;
pub(crate) use address::fault as address_fault;
pub use id::{EmailId, LogId, TemplateId, TopicId};
pub use open_enum::UnknownValue;
pub use secret::{AccessToken, ApiKey};
pub use timestamp::Timestamp;
