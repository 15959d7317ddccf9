//! The records of the service, one module per resource: their fields, their own rules, and their size.

pub(crate) mod api_key;
pub(crate) mod automation;
pub(crate) mod broadcast;
pub(crate) mod contact;
pub(crate) mod contact_import;
pub(crate) mod contact_property;
pub(crate) mod credential;
pub(crate) mod domain;
pub(crate) mod domain_claim;
pub(crate) mod email;
pub(crate) mod event;
pub(crate) mod inboxes;
pub(crate) mod log;
pub(crate) mod mail;
pub(crate) mod metric;
pub(crate) mod oauth;
pub(crate) mod received;
pub(crate) mod relayed;
pub(crate) mod segment;
pub(crate) mod suppression;
pub(crate) mod template;
pub(crate) mod topic;
pub(crate) mod usage;
pub(crate) mod value;
pub(crate) mod webhook;
pub(crate) mod webhook_delivery;
