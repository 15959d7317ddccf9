//! The content of emails: placeholders of templates, inline images, and HTML as plain text.

pub(crate) mod inline_images;
pub(crate) mod placeholders;
pub(crate) mod text;
