//! The content of emails: placeholders of templates, inline images, HTML as text, laid out or only its words, the one-time codes and links in a
//! text, and previews for lists.

pub mod codes;
pub mod html;
pub mod inline_images;
pub mod links;
pub mod placeholders;
pub mod plain;
pub mod preview;
pub mod text;
pub mod visible;
