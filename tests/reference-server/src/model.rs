//! The records of the service, one module per resource: their fields, their own rules, and their size.

pub mod api_key;
pub mod automation;
pub mod broadcast;
pub mod contact;
pub mod contact_import;
pub mod contact_property;
pub mod credential;
pub mod domain;
pub mod domain_claim;
pub mod email;
pub mod event;
pub mod inboxes;
pub mod log;
pub mod mail;
pub mod metric;
pub mod oauth;
pub mod received;
pub mod relayed;
pub mod segment;
pub mod suppression;
pub mod template;
pub mod topic;
pub mod usage;
pub mod value;
pub mod webhook;
pub mod webhook_delivery;
