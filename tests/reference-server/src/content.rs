//! The content of emails: their check, placeholders of templates, inline images, HTML as text, laid out or only its words, and the one-time codes and links in a text.

pub mod check;
pub(crate) mod codes;
pub(crate) mod inline_images;
pub(crate) mod links;
pub(crate) mod placeholders;
pub(crate) mod plain;
pub(crate) mod text;
mod visible;
