//! Tags (`SPEC.md`, POST /emails, Tag rules).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::store::size::Size;
use crate::wire::paging::quoted;
use crate::wire::validation::{Fields, Ignored, Problems};

/// The maximum length of a name or value, in characters.
const LONGEST: usize = 256;

/// A name and a value attached to an email by its sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// ASCII letters, digits, `_` and `-`; at most 256 characters.
    pub name: String,
    /// Same rules as the name.
    pub value: String,
}

/// Shared by an email and its draft.
impl Size for Arc<[Tag]> {
    fn heap_size(&self) -> usize {
        size_of_val::<[Tag]>(self) + self.iter().map(Size::heap_size).sum::<usize>()
    }
}

impl Size for Tag {
    fn heap_size(&self) -> usize {
        self.name.heap_size() + self.value.heap_size()
    }
}

pub(crate) fn read(
    fields: &Fields<'_>,
    items: &[&RawValue],
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Vec<Tag> {
    let mut tags = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(mut tag) = Fields::read_element(item.get(), fields, "tags", index, problems) else {
            continue;
        };
        let name = part(&mut tag, "name", problems);
        let value = part(&mut tag, "value", problems);
        tag.leave(ignored);
        if let (Some(name), Some(value)) = (name, value) {
            tags.push(Tag { name, value });
        }
    }
    tags
}

fn part(tag: &mut Fields<'_>, field: &str, problems: &mut Problems) -> Option<String> {
    let Some(json) = tag.take(field) else {
        problems.missing(tag.name(field));
        return None;
    };
    let Some(text) = crate::wire::validation::text(json) else {
        problems.wrong(|| {
            format!("`{}` must be a string; found {}.", tag.name(field), crate::wire::validation::kind(json))
        });
        return None;
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if text.is_empty() || !text.bytes().all(allowed) {
        problems.wrong(|| {
            format!(
                "`{}` must hold only ASCII letters, digits, underscores and dashes; found {}.",
                tag.name(field),
                quoted(&text)
            )
        });
        return None;
    }
    if text.len() > LONGEST {
        problems.wrong(|| {
            format!("`{}` must have at most {LONGEST} characters; found {}.", tag.name(field), text.len())
        });
        return None;
    }
    Some(text.into_owned())
}
