//! A new broadcast.

use serde::{Serialize, Serializer, ser::SerializeStruct as _};

use crate::{
    problem::Validator,
    types::{Recipients, ScheduledAt, SegmentId, TopicId},
};

/// One email for all contacts of a segment, to be made with [`Broadcasts::create`](super::Broadcasts::create).
///
/// Subject, HTML and text may hold placeholders, which are filled for each contact: `{{{FIRST_NAME}}}`, `{{{LAST_NAME}}}`, `{{{EMAIL}}}`,
/// `{{{contact.city|your town}}}` for a property of the contact with what stands there when it has none, and
/// `{{{SERVICE_UNSUBSCRIBE_URL}}}` for the link with which the contact unsubscribes.
///
/// ```
/// use posthaste::NewBroadcast;
///
/// let weekly = NewBroadcast::new("78261eea-8f8b-4381-83c6-79fa7120f1cf", "Acme <news@acme.test>", "Your week")
///     .html("<p>Hello {{{contact.first_name|friend}}}</p><a href=\"{{{SERVICE_UNSUBSCRIBE_URL}}}\">Unsubscribe</a>")
///     .send_at("friday at 9am");
/// assert!(weekly.check().is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct NewBroadcast {
    segment_id: SegmentId,
    from: String,
    subject: String,
    reply_to: Recipients,
    html: Option<String>,
    text: Option<String>,
    preview_text: Option<String>,
    name: Option<String>,
    topic_id: Option<TopicId>,
    departure: Departure,
}

/// What becomes of a broadcast once it is made. The service takes a moment only together with `send`: here they can't be apart.
#[derive(Clone, Debug, Default)]
enum Departure {
    #[default]
    Draft,
    Now,
    At(ScheduledAt),
}

impl NewBroadcast {
    /// A draft for a segment. Add [`html`](Self::html) or [`text`](Self::text), or both. The sender is `email` or `Name <email>`; the
    /// subject may be empty.
    pub fn new(segment: impl Into<SegmentId>, from: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            segment_id: segment.into(),
            from: from.into(),
            subject: subject.into(),
            reply_to: Recipients::default(),
            html: None,
            text: None,
            preview_text: None,
            name: None,
            topic_id: None,
            departure: Departure::Draft,
        }
    }

    /// Adds addresses that answers go to.
    #[must_use]
    pub fn reply_to(mut self, reply_to: impl Into<Recipients>) -> Self {
        self.reply_to.push(reply_to.into());
        self
    }

    /// The HTML body.
    #[must_use]
    pub fn html(mut self, html: impl Into<String>) -> Self {
        self.html = Some(html.into());
        self
    }

    /// The plain-text body. Without one the service derives it from the HTML; an empty one switches that off.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// What a mail program shows beside the subject. (Not part of the specification; the service is known to take it.)
    #[must_use]
    pub fn preview_text(mut self, preview_text: impl Into<String>) -> Self {
        self.preview_text = Some(preview_text.into());
        self
    }

    /// What its makers call it; no recipient sees it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sends only to contacts of the segment who want this topic.
    #[must_use]
    pub fn topic_id(mut self, topic: impl Into<TopicId>) -> Self {
        self.topic_id = Some(topic.into());
        self
    }

    /// Sends it as soon as it is made: `send`. It takes the place of a moment that was given before.
    #[must_use]
    pub fn send_now(mut self) -> Self {
        self.departure = Departure::Now;
        self
    }

    /// Sends it later, `send` with `scheduled_at`: a moment, or text such as `in 1 hour`.
    #[must_use]
    pub fn send_at(mut self, when: impl Into<ScheduledAt>) -> Self {
        self.departure = Departure::At(when.into());
        self
    }

    fn validate(&self, v: &mut Validator) {
        if self.segment_id.as_str().is_empty() {
            v.report_at("segment_id", "required", "`segment_id` is required");
        }
        v.required("from", &self.from);
        if !self.from.trim().is_empty() {
            v.field("from", |v| v.address(&self.from));
        }
        v.one_line("subject", Some(&self.subject));
        v.addresses("reply_to", self.reply_to.as_slice());
        let given = |part: &Option<String>| part.as_ref().is_some_and(|part| !part.is_empty());
        if !given(&self.html) && !given(&self.text) {
            v.report("required", "a broadcast needs `html` or `text`");
        }
        v.not_empty("topic_id", self.topic_id.as_ref().map(TopicId::as_str));
        if let Departure::At(when) = &self.departure {
            v.schedule(Some(when.as_str()));
        }
    }
}

validate!(NewBroadcast);

impl Serialize for NewBroadcast {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_struct("NewBroadcast", 11)?;
        body.serialize_field("segment_id", &self.segment_id)?;
        body.serialize_field("from", &self.from)?;
        body.serialize_field("subject", &self.subject)?;
        if !self.reply_to.as_slice().is_empty() {
            body.serialize_field("reply_to", self.reply_to.as_slice())?;
        }
        let texts = [
            ("html", &self.html),
            ("text", &self.text),
            ("preview_text", &self.preview_text),
            ("name", &self.name),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                body.serialize_field(field, text)?;
            }
        }
        if let Some(topic) = &self.topic_id {
            body.serialize_field("topic_id", topic)?;
        }
        if !matches!(self.departure, Departure::Draft) {
            body.serialize_field("send", &true)?;
        }
        if let Departure::At(when) = &self.departure {
            body.serialize_field("scheduled_at", when)?;
        }
        body.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn good() -> NewBroadcast {
        NewBroadcast::new("s1", "a@x.test", "Hi").text("t")
    }

    fn wire(of: &impl Serialize) -> Value {
        serde_json::to_value(of).unwrap()
    }

    fn found(checked: Result<(), crate::Problems>) -> Vec<(String, &'static str)> {
        let problems = checked.err().map(crate::Problems::into_vec).unwrap_or_default();
        problems.into_iter().map(|problem| (problem.path, problem.code)).collect()
    }

    #[test]
    fn every_field_goes_out_under_its_name() {
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
    fn a_moment_never_goes_out_without_send() {
        // BCAST-15, BCAST-21
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
    fn all_problems_are_told_at_once() {
        // BCAST-06, BCAST-07
        let broadcast = NewBroadcast::new("", " ", "").reply_to("nobody").text("").topic_id("").send_at(" ");
        let expected = [
            ("/segment_id", "required"),
            ("/from", "required"),
            ("/reply_to/0", "address"),
            ("", "required"),
            ("/topic_id", "empty"),
            ("/scheduled_at", "empty"),
        ];
        assert_eq!(found(broadcast.check()), expected.map(|(path, code)| (path.to_owned(), code)));
        let broken = NewBroadcast::new("s1", "a@x.test\r\nBcc: v@x.test", "Hi\nthere").html("x");
        let expected = [("/from", "header"), ("/subject", "header")];
        assert_eq!(found(broken.check()), expected.map(|(path, code)| (path.to_owned(), code)));
        assert!(good().check().is_ok());
    }
}
