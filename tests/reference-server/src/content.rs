//! The content of emails: placeholders of templates, inline images, HTML as text, laid out or only its words, and the one-time codes and links in a text.

pub mod codes;
pub mod html;
pub mod inline_images;
pub mod links;
pub mod placeholders;
pub mod plain;
pub mod text;
pub mod visible;
