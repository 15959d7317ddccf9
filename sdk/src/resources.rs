//! The service, one file a resource. Each describes its operations and types; how they are sent is above.

pub mod api_keys;
pub mod audiences;
pub mod automations;
pub mod broadcasts;
pub mod contact_properties;
pub mod contacts;
pub mod domains;
pub mod emails;
pub mod events;
pub mod logs;
pub mod oauth_grants;
pub mod received;
pub mod segments;
mod shared;
pub mod templates;
pub mod topics;
pub mod webhooks;

pub use shared::{Deleted, Reference};
