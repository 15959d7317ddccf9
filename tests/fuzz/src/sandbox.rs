//! The parsers of the sandbox: requests, mails, SMTP, searches, imports, and its persisted state.

pub(crate) mod html;
pub(crate) mod imports;
pub(crate) mod inert;
pub(crate) mod mime;
pub(crate) mod persistence;
pub(crate) mod placeholders;
pub(crate) mod requests;
pub(crate) mod search;
pub(crate) mod service;
pub(crate) mod smtp;
