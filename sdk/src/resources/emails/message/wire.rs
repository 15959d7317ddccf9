//! A message as JSON.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{Content, Message};
use crate::{
    resources::emails::{Tag, VariableValue},
    types::TopicId,
};

impl Message {
    pub(in crate::resources::emails) fn wire(&self) -> Wire<'_> {
        let (html, text, template) = match &self.content {
            Content::Body { html, text } => (html.as_deref(), text.as_deref(), None),
            Content::Template { id, variables } => {
                (None, None, Some(WireTemplate { id, variables: WireMap(variables) }))
            }
        };
        Wire {
            from: self.from.as_deref(),
            to: self.to.as_slice(),
            subject: self.subject.as_deref(),
            cc: self.cc.as_slice(),
            bcc: self.bcc.as_slice(),
            reply_to: self.reply_to.as_slice(),
            html,
            text,
            template,
            headers: WireMap(&self.headers),
            topic_id: self.topic_id.as_ref(),
            tags: &self.tags,
            scheduled_at: None,
        }
    }
}

/// The JSON of an email without its attachments.
#[derive(Serialize)]
pub(in crate::resources::emails) struct Wire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    to: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cc: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    bcc: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reply_to: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<WireTemplate<'a>>,
    #[serde(skip_serializing_if = "WireMap::is_empty")]
    headers: WireMap<'a, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic_id: Option<&'a TopicId>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [Tag],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::resources::emails) scheduled_at: Option<&'a str>,
}

#[derive(Serialize)]
struct WireTemplate<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "WireMap::is_empty")]
    variables: WireMap<'a, VariableValue>,
}

struct WireMap<'a, V>(&'a [(String, V)]);

impl<V> WireMap<'_, V> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: Serialize> Serialize for WireMap<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
