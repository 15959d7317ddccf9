//! The input for creating a broadcast.

use crate::{
    problem::Validator,
    types::{Recipients, ScheduledAt, SegmentId, TopicId},
};

input! {
    /// A broadcast to create with [`Broadcasts::create`](super::Broadcasts::create): one email to all contacts of a segment.
    ///
    /// Subject, HTML and text may contain placeholders, which the service fills for each contact: `{{{FIRST_NAME}}}`, `{{{LAST_NAME}}}`,
    /// `{{{EMAIL}}}`, `{{{contact.city|your town}}}` for a contact property with a fallback, and `{{{SERVICE_UNSUBSCRIBE_URL}}}` for the
    /// unsubscribe link.
    ///
    /// ```
    /// use idempost::broadcasts::NewBroadcast;
    ///
    /// let weekly = NewBroadcast::new("78261eea-8f8b-4381-83c6-79fa7120f1cf", "Acme <news@acme.test>", "Your week")
    ///     .html("<p>Hello {{{contact.first_name|friend}}}</p><a href=\"{{{SERVICE_UNSUBSCRIBE_URL}}}\">Unsubscribe</a>")
    ///     .send_at("friday at 9am");
    /// assert!(weekly.check().is_ok());
    /// ```
    pub struct NewBroadcast {
        /// Creates a draft for a segment. Add [`html`](Self::html), [`text`](Self::text), or both; a draft may lack them until it is sent. The sender
        /// is `email` or `Name <email>`; the subject may be empty.
        new(segment_id: SegmentId, from: String as "crate::types::serialize_sender", subject: String);
        optional {
            /// Sets the HTML body.
            html: String,
            /// Sets the plain-text body. By default the service derives it from the HTML; an empty string disables that.
            text: String,
            /// Sets the preview text, which mail clients show next to the subject. (The specification doesn't mention it; Resend accepts it.)
            preview_text: String,
            /// Sets an internal name, which recipients don't see.
            name: String,
            /// Restricts the recipients to contacts subscribed to a topic.
            topic_id: TopicId,
        }
        other {
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            reply_to: Recipients,
            // The service accepts a time only together with `send`; the setters keep the two consistent.
            #[serde(skip_serializing_if = "Option::is_none")]
            send: Option<bool>,
            #[serde(skip_serializing_if = "Option::is_none")]
            scheduled_at: Option<ScheduledAt>,
        }
    }
}

impl NewBroadcast {
    setters! {
        /// Adds `Reply-To` addresses.
        reply_to += Recipients => reply_to;
    }

    /// Sends the broadcast immediately: `send`. Replaces an earlier [`send_at`](Self::send_at).
    pub fn send_now(mut self) -> Self {
        (self.send, self.scheduled_at) = (Some(true), None);
        self
    }

    /// Schedules the broadcast (`send` with `scheduled_at`) for a point in time, ISO 8601 text, or natural language such as `in 1 hour`.
    /// Text is sent unchanged.
    pub fn send_at(mut self, when: impl Into<ScheduledAt>) -> Self {
        (self.send, self.scheduled_at) = (Some(true), Some(when.into()));
        self
    }

    fn validate(&self, v: &mut Validator) {
        if self.segment_id.as_str().is_empty() {
            v.report_at("segment_id", "required", "`segment_id` is required");
        }
        v.check_required("from", &self.from);
        if !self.from.trim().is_empty() {
            v.address("from", Some(&self.from));
        }
        v.check_one_line("subject", Some(&self.subject));
        v.addresses("reply_to", self.reply_to.as_slice());
        let given = |part: &Option<String>| part.as_ref().is_some_and(|part| !part.is_empty());
        if self.send == Some(true) && !given(&self.html) && !given(&self.text) {
            v.report("required", "`html` or `text` is required to send the broadcast");
        }
        v.not_empty("topic_id", self.topic_id.as_ref().map(TopicId::as_str));
        if self.scheduled_at.is_some() && self.send != Some(true) {
            v.report_at("scheduled_at", "exclusive", "`scheduled_at` requires `send`");
        }
        v.schedule(self.scheduled_at.as_ref().map(ScheduledAt::as_str));
    }
}

validate!(NewBroadcast);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::problem::codes;

    fn good() -> NewBroadcast {
        NewBroadcast::new("s1", "a@x.test", "Hi").text("t")
    }

    fn wire(of: &NewBroadcast) -> Value {
        serde_json::to_value(of).unwrap()
    }

    #[test]
    fn every_field_that_was_set_is_sent() {
        // BCAST-09, BCAST-12, VER-03: and never `react` or `audience_id`
        let broadcast = NewBroadcast::new("s1", "Acme <a@x.test>", "Hi")
            .reply_to(["b@x.test", "c@x.test"])
            .html("<p>x</p>")
            .text("")
            .preview_text("p")
            .name("n")
            .topic_id("t1")
            .send_at("in 1 hour");
        let expected = json!({
            "segment_id": "s1", "from": "Acme <a@x.test>", "subject": "Hi", "reply_to": ["b@x.test", "c@x.test"],
            "html": "<p>x</p>", "text": "", "preview_text": "p", "name": "n", "topic_id": "t1", "send": true,
            "scheduled_at": "in 1 hour",
        });
        assert_eq!(wire(&broadcast), expected);
    }

    #[test]
    fn a_schedule_is_never_sent_without_send() {
        // BCAST-15, BCAST-21, A-42
        assert_eq!(
            wire(&good()),
            json!({"segment_id": "s1", "from": "a@x.test", "subject": "Hi", "text": "t"})
        );
        assert_eq!(wire(&good().send_now())["send"], true);
        assert_eq!(wire(&good().send_at("x").send_now()).get("scheduled_at"), None);
        let later = wire(&good().send_now().send_at("x"));
        assert_eq!((&later["send"], &later["scheduled_at"]), (&json!(true), &json!("x")));
    }

    #[test]
    fn only_a_broadcast_to_be_sent_needs_a_body() {
        // BCAST-29
        let draft = NewBroadcast::new("s1", "a@x.test", "Hi");
        for draft in [draft.clone(), draft.clone().text(""), draft.clone().html("")] {
            assert!(draft.check().is_ok(), "{draft:?}");
            for sent in [draft.clone().send_now(), draft.send_at("in 1 hour")] {
                assert_eq!(codes(sent.check()), "required", "{sent:?}");
            }
        }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        // BCAST-06, BCAST-07, A-42
        let broadcast = NewBroadcast::new("", " ", "").reply_to("nobody").text("").topic_id("").send_at(" ");
        let expected = [
            "required /segment_id",
            "required /from",
            "address /reply_to/0",
            "required",
            "empty /topic_id",
            "empty /scheduled_at",
        ];
        assert_eq!(codes(broadcast.check()), expected.join(", "));
        let broken = NewBroadcast::new("s1", "a@x.test\r\nBcc: v@x.test", "Hi\nthere").html("x");
        assert_eq!(codes(broken.check()), "header /from, header /subject");
        assert!(good().check().is_ok());
    }
}
