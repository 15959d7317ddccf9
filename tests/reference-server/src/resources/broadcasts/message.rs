//! The input for a broadcast's message.

use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::model::broadcast::Message;
use crate::model::email::bodies::REACT_RULE;
use crate::model::email::recipients::{self, Mailbox};
use crate::state::tenant::Tenant;
use crate::wire::{Change, Checked, Fields, input, line, replace, schedule, shared, string};

/// Reads a new message.
pub(super) fn read(fields: &mut Fields<'_>, tenant: &Tenant) -> Checked<Message> {
    fields.forbid("react", REACT_RULE);
    let segment = segment_field(fields);
    let segment = fields.required(segment, |field| tenant.segments.read_id(field));
    let from = fields.required("from", Mailbox::read_sender);
    let subject = fields.required("subject", line);
    let reply_to = recipients::read_optional(fields, "reply_to");
    let preview_text = fields.optional("preview_text", line);
    let html = fields.optional("html", shared);
    let text = fields.optional("text", shared);
    let name = fields.optional("name", string);
    let topic = fields.optional("topic_id", |field| tenant.topics.read_id(field));
    Ok(Message {
        segment: segment?,
        from: from?,
        subject: subject?,
        reply_to: reply_to?,
        preview_text: preview_text?,
        html: html?.filter(|html| !html.is_empty()),
        text: text?,
        name: name?,
        topic: topic?,
    })
}

input! {
    /// The changes of an update.
    pub(super) struct MessagePatch(fields, tenant: &Tenant) {
        segment: Option<Uuid> = {
            let name = segment_field(fields);
            fields.optional(name, |field| tenant.segments.read_id(field))
        },
        from: Option<Mailbox> = fields.optional("from", Mailbox::read_sender),
        subject: Option<String> = fields.optional("subject", line),
        reply_to: Change<Vec<Mailbox>> = fields.patch("reply_to", recipients::read),
        preview_text: Change<String> = fields.patch("preview_text", line),
        html: Change<Arc<str>> = fields.patch("html", shared),
        text: Change<Arc<str>> = fields.patch("text", shared),
        name: Change<String> = fields.patch("name", string),
        topic: Change<Uuid> = fields.patch("topic_id", |field| tenant.topics.read_id(field)),
    }
}

/// Reads the changes of an update.
pub(super) fn read_patch(fields: &mut Fields<'_>, tenant: &Tenant) -> Checked<MessagePatch> {
    fields.forbid("react", REACT_RULE);
    for field in ["segment_id", "from", "subject"] {
        if fields.has_null(field) {
            fields.reject(field, "can't be taken away; found null");
        }
    }
    MessagePatch::read(fields, tenant)
}

impl MessagePatch {
    /// The updated message.
    pub(super) fn apply(self, message: &Message) -> Message {
        let mut message = message.clone();
        replace(&mut message.segment, self.segment);
        replace(&mut message.from, self.from);
        replace(&mut message.subject, self.subject);
        self.reply_to.apply(&mut message.reply_to);
        message.reply_to = message.reply_to.filter(|list| !list.is_empty());
        self.preview_text.apply(&mut message.preview_text);
        self.html.apply(&mut message.html);
        message.html = message.html.filter(|html| !html.is_empty());
        self.text.apply(&mut message.text);
        self.name.apply(&mut message.name);
        self.topic.apply(&mut message.topic);
        message
    }
}

/// Reads when a broadcast is to be sent.
pub(super) fn read_schedule(fields: &mut Fields<'_>, now: Timestamp) -> Checked<Option<Timestamp>> {
    fields.optional("scheduled_at", |field| field.parse_with(|text| schedule::read(text, now)))
}

/// The field that names the segment: `segment_id`, or `audience_id`, its deprecated name.
fn segment_field(fields: &mut Fields<'_>) -> &'static str {
    match fields.alternatives(["segment_id", "audience_id"]) {
        [true, true] => {
            fields
                .report()
                .report("`audience_id` is the former name of `segment_id`; send only one of them.");
            fields.skip("audience_id");
            "segment_id"
        }
        [false, true] => "audience_id",
        _ => "segment_id",
    }
}
