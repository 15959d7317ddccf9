//! The service's resources, one file each, named as in the specification.

pub mod api_keys;
pub mod attachments;
pub mod automations;
pub mod broadcasts;
pub mod contact_imports;
pub mod contact_properties;
pub mod contacts;
pub mod domains;
pub mod emails;
pub mod events;
pub mod inboxes;
pub mod logs;
pub mod received;
pub mod segments;
pub mod suppressions;
pub mod templates;
pub mod topics;
pub mod usage;
pub mod webhooks;
