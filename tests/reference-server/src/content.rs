//! The content of emails: placeholders of templates, and HTML as plain text.

pub(crate) mod placeholders;
pub(crate) mod text;
