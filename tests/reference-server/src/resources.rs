//! The service's resources, one file each, named as in the specification.

pub(crate) mod api_keys;
pub(crate) mod attachments;
pub(crate) mod automations;
pub(crate) mod broadcasts;
pub(crate) mod contact_imports;
pub(crate) mod contact_properties;
pub(crate) mod contacts;
pub(crate) mod domains;
pub(crate) mod emails;
pub(crate) mod events;
pub(crate) mod inboxes;
pub(crate) mod logs;
pub(crate) mod received;
pub(crate) mod segments;
pub(crate) mod suppressions;
pub(crate) mod templates;
pub(crate) mod topics;
pub(crate) mod usage;
pub(crate) mod webhooks;
