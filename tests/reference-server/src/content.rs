//! The content of emails: template placeholders, inline images, HTML converted to text (with layout, or only its words), one-time codes and links,
//! and previews for lists.

pub mod codes;
pub mod html;
pub mod inline_images;
pub mod links;
pub mod placeholders;
pub mod plain;
pub mod preview;
pub mod text;
pub mod visible;
