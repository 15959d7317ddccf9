//! A module per resource.

#![allow(unused_must_use, reason = "the crate marks most of its responses")]

pub mod account;
pub mod attachments;
pub mod automations;
pub mod broadcasts;
pub mod contacts;
pub mod domains;
pub mod emails;
pub mod grants;
pub mod imports;
pub mod inboxes;
pub mod metrics;
pub mod receiving;
pub mod suppressions;
pub mod templates;
pub mod webhooks;
