//! The commands, one file each.

pub(crate) mod api;
pub(crate) mod api_keys;
pub(crate) mod audiences;
pub(crate) mod auth;
pub(crate) mod automations;
pub(crate) mod broadcasts;
pub(crate) mod bulk;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod contacts;
pub(crate) mod doctor;
pub(crate) mod domains;
pub(crate) mod emails;
pub(crate) mod events;
pub(crate) mod help;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod properties;
pub(crate) mod received;
#[cfg(feature = "sandbox")]
pub(crate) mod sandbox;
pub(crate) mod segments;
pub(crate) mod suppressions;
pub(crate) mod templates;
pub(crate) mod topics;
pub(crate) mod webhooks;
