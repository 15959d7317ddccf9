//! The content of emails: placeholders of templates, inline images, HTML as plain text, and the one-time codes and links in a text.

pub(crate) mod codes;
pub(crate) mod inline_images;
pub(crate) mod links;
pub(crate) mod placeholders;
pub(crate) mod text;
mod visible;
