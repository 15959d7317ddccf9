//! Text of emails: the placeholders of templates, and the plain text of HTML.

pub(crate) mod placeholders;
pub(crate) mod text;
