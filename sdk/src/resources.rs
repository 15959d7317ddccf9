//! The resources of the API, with one module each.
//!
//! All modules contain the same files: `operations.rs` contains the handle, its methods and its accessor on [`Client`](crate::Client); `new.rs`, the
//! input for creating a record; `patch.rs`, the input for updating one; `record.rs`, the records that the service returns. No resource imports
//! another; common types are in `shared`.

#[macro_use]
mod macros;
pub mod api_keys;
pub mod audiences;
pub mod automations;
pub mod broadcasts;
pub mod contact_imports;
pub mod contact_properties;
pub mod contacts;
pub mod domains;
pub mod emails;
pub mod events;
#[cfg(feature = "beta")]
pub mod inboxes;
pub mod logs;
pub mod oauth_grants;
pub mod received;
pub mod segments;
mod shared;
pub mod suppressions;
pub mod templates;
pub mod topics;
pub mod usage;
pub mod webhooks;

pub use shared::{Deleted, Reference};
