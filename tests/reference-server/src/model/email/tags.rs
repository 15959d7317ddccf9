//! Tags (`docs/specification.md`, POST /emails, Tag rules).

use serde::Deserialize;

use crate::wire::{Checked, Field, Fields, described, quote};

/// The maximum number of tags of an email. The specification is silent on it.
const MAX_TAGS: usize = 75;
/// The maximum length of a name or value, in characters.
const MAX_LENGTH: usize = 256;

described! {
    /// A name and a value attached to an email by its sender.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
    pub struct Tag {
        /// ASCII letters, digits, `_` and `-`; at most 256 characters.
        pub name: String,
        /// Same rules as the name.
        pub value: String,
    }
}

/// Reads the tags of an email.
pub fn read(field: &Field<'_>) -> Checked<Vec<Tag>> {
    let tags = field.objects(Tag::read)?;
    match tags.len() {
        0..=MAX_TAGS => Ok(tags),
        found => Err(field.reject(format_args!("must have at most {MAX_TAGS} tags; found {found}"))),
    }
}

impl Tag {
    fn read(fields: &mut Fields<'_>) -> Checked<Self> {
        let (name, value) = (fields.required("name", read_part), fields.required("value", read_part));
        Ok(Self { name: name?, value: value? })
    }
}

fn read_part(field: &Field<'_>) -> Checked<String> {
    let text = field.text()?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if text.is_empty() || !text.bytes().all(allowed) {
        return Err(field.reject(format_args!(
            "must contain only ASCII letters, digits, underscores and dashes; found {}",
            quote(&text)
        )));
    }
    if text.len() > MAX_LENGTH {
        let rule = format_args!("must have at most {MAX_LENGTH} characters; found {}", text.len());
        return Err(field.reject(rule));
    }
    Ok(text.into_owned())
}
