//! The input for updating a broadcast.

use crate::{
    problem::Validator,
    types::{Recipients, SegmentId, TopicId},
};

patch! {
    /// Changes to a broadcast that hasn't been sent: [`Broadcasts::update`](super::Broadcasts::update). Fields that aren't set are left unchanged.
    ///
    /// ```
    /// use idempost::broadcasts::BroadcastPatch;
    ///
    /// let patch = BroadcastPatch::new().subject("Your week, corrected").clear_preview_text();
    /// assert!(patch.check().is_ok());
    /// assert!(BroadcastPatch::new().check().is_err());
    /// ```
    pub struct BroadcastPatch {
        /// Sets the segment.
        segment_id: SegmentId,
        /// Sets the sender.
        from: String as "crate::types::serialize_sender",
        /// Sets the subject.
        subject: String,
        /// Replaces the `Reply-To` addresses.
        reply_to: Recipients |
        /// Removes the `Reply-To` addresses, so that replies go to the sender.
        clear_reply_to,
        /// Sets the HTML body.
        html: String |
        /// Removes the HTML body; a scheduled broadcast then requires a text body.
        clear_html,
        /// Sets the plain-text body; an empty string removes it.
        text: String |
        /// Lets the service derive the plain-text body from the HTML again.
        clear_text,
        /// Sets the preview text.
        preview_text: String |
        /// Removes the preview text.
        clear_preview_text,
        /// Sets the internal name.
        name: String |
        /// Removes the internal name.
        clear_name,
        /// Restricts the recipients to contacts subscribed to a topic.
        topic_id: TopicId |
        /// Removes the topic restriction.
        clear_topic_id,
    }
}

impl BroadcastPatch {
    fn validate(&self, v: &mut Validator) {
        v.not_empty("segment_id", self.segment_id.value().map(SegmentId::as_str));
        v.address("from", self.from.text());
        v.check_one_line("subject", self.subject.text());
        v.addresses("reply_to", self.reply_to.value().map(Recipients::as_slice).unwrap_or_default());
        v.not_empty("topic_id", self.topic_id.value().map(TopicId::as_str));
        if self.is_untouched() {
            v.report("required", "an update must set at least one field");
        }
    }
}

validate!(BroadcastPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_fields_that_were_set_or_cleared_are_sent() {
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
