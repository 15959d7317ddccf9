//! A change of a broadcast.

use serde::Serialize;

use crate::{
    problem::Validator,
    types::{Patch, Recipients, SegmentId, TopicId},
};

/// What to change of a broadcast that has not been sent: [`Broadcasts::update`](super::Broadcasts::update). What is not named stays.
///
/// ```
/// use posthaste::BroadcastPatch;
///
/// let patch = BroadcastPatch::new().subject("Your week, corrected").clear_preview_text();
/// assert!(patch.check().is_ok());
/// assert!(BroadcastPatch::new().check().is_err());
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct BroadcastPatch {
    #[serde(skip_serializing_if = "Patch::is_keep")]
    segment_id: Patch<SegmentId>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    from: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    subject: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    reply_to: Patch<Recipients>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    html: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    text: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    preview_text: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    name: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    topic_id: Patch<TopicId>,
}

impl BroadcastPatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends it to another segment.
    #[must_use]
    pub fn segment_id(mut self, segment: impl Into<SegmentId>) -> Self {
        self.segment_id = Patch::Set(segment.into());
        self
    }

    /// Another sender.
    #[must_use]
    pub fn from(mut self, from: impl Into<String>) -> Self {
        self.from = Patch::Set(from.into());
        self
    }

    /// Another subject.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Patch::Set(subject.into());
        self
    }

    /// Other addresses that answers go to, in the place of those it had.
    #[must_use]
    pub fn reply_to(mut self, reply_to: impl Into<Recipients>) -> Self {
        self.reply_to = Patch::Set(reply_to.into());
        self
    }

    /// Answers go to the sender again.
    #[must_use]
    pub fn clear_reply_to(mut self) -> Self {
        self.reply_to = Patch::Clear;
        self
    }

    /// Another HTML body.
    #[must_use]
    pub fn html(mut self, html: impl Into<String>) -> Self {
        self.html = Patch::Set(html.into());
        self
    }

    /// No HTML body any more; the text has to be there then.
    #[must_use]
    pub fn clear_html(mut self) -> Self {
        self.html = Patch::Clear;
        self
    }

    /// Another plain-text body; an empty one is none.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Patch::Set(text.into());
        self
    }

    /// Derives the plain-text body from the HTML again.
    #[must_use]
    pub fn clear_text(mut self) -> Self {
        self.text = Patch::Clear;
        self
    }

    /// Another text beside the subject.
    #[must_use]
    pub fn preview_text(mut self, preview_text: impl Into<String>) -> Self {
        self.preview_text = Patch::Set(preview_text.into());
        self
    }

    /// No text beside the subject.
    #[must_use]
    pub fn clear_preview_text(mut self) -> Self {
        self.preview_text = Patch::Clear;
        self
    }

    /// Another name for its makers.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Patch::Set(name.into());
        self
    }

    /// No name.
    #[must_use]
    pub fn clear_name(mut self) -> Self {
        self.name = Patch::Clear;
        self
    }

    /// Sends it only to contacts who want this topic.
    #[must_use]
    pub fn topic_id(mut self, topic: impl Into<TopicId>) -> Self {
        self.topic_id = Patch::Set(topic.into());
        self
    }

    /// Sends it whatever topics the contacts want.
    #[must_use]
    pub fn clear_topic_id(mut self) -> Self {
        self.topic_id = Patch::Clear;
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.not_empty("segment_id", self.segment_id.value().map(SegmentId::as_str));
        if let Some(from) = self.from.value() {
            v.field("from", |v| v.address(from));
        }
        v.one_line("subject", self.subject.text());
        if let Some(reply_to) = self.reply_to.value() {
            v.addresses("reply_to", reply_to.as_slice());
        }
        v.not_empty("topic_id", self.topic_id.value().map(TopicId::as_str));
        let texts = [&self.html, &self.text, &self.preview_text, &self.name, &self.from, &self.subject];
        let nothing = texts.into_iter().all(Patch::is_keep)
            && self.segment_id.is_keep()
            && self.reply_to.is_keep()
            && self.topic_id.is_keep();
        if nothing {
            v.report("required", "a change names at least one field");
        }
    }
}

validate!(BroadcastPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_names_what_it_changes_and_clears_what_it_takes_away() {
        let patch = BroadcastPatch::new()
            .segment_id("s2")
            .from("b@x.test")
            .subject("New")
            .reply_to("c@x.test")
            .clear_html()
            .text("t")
            .clear_preview_text()
            .name("n")
            .clear_topic_id();
        let expected = json!({
            "segment_id": "s2", "from": "b@x.test", "subject": "New", "reply_to": ["c@x.test"], "html": null, "text": "t",
            "preview_text": null, "name": "n", "topic_id": null,
        });
        assert_eq!(serde_json::to_value(&patch).unwrap(), expected);
        assert!(patch.check().is_ok());
        let cleared = serde_json::to_value(BroadcastPatch::new().clear_reply_to()).unwrap();
        assert_eq!(cleared, json!({"reply_to": null}));
        let nothing = BroadcastPatch::new().check().unwrap_err();
        assert_eq!((nothing[0].path.as_str(), nothing[0].code), ("", "required"));
        let wrong = BroadcastPatch::new().segment_id("").from("x").subject("\0").reply_to(["x"]).topic_id("");
        assert_eq!(wrong.check().unwrap_err().len(), 5);
    }
}
