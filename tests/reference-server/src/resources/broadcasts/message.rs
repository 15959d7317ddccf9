//! The input for a broadcast's message.

use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::context::Context;
use crate::model::broadcast::Message;
use crate::model::email::recipients::{self, Mailbox};
use crate::state::tenant::Tenant;
use crate::wire::paging::quoted;
use crate::wire::schedule;
use crate::wire::validation::{Change, Fields, Problems};

/// Reads a new message. Returns `None` if there are problems.
pub(super) fn read(
    context: &Context<'_>,
    fields: &mut Fields<'_>,
    problems: &mut Problems,
) -> Option<Message> {
    refuse_react(fields, problems);
    if !fields.has("segment_id") && !fields.has("audience_id") {
        problems.missing("segment_id");
    }
    let segment = take_segment(&context.tenant, fields, problems);
    let from = take_from(fields, problems);
    if !fields.has("subject") {
        problems.missing(fields.name("subject"));
    }
    let subject = fields.take_line("subject", problems);
    let reply_to = recipients::take(fields, "reply_to", problems).filter(|list| !list.is_empty());
    let preview_text = fields.take_line("preview_text", problems);
    let given = fields.has("html") || fields.has("text");
    let html = fields.take_text("html", problems);
    let text = fields.take_text("text", problems);
    if !given {
        problems.missing("html` or `text");
    }
    let name = fields.take_text("name", problems);
    let topic = take_topic(&context.tenant, fields, problems);
    if !problems.is_empty() {
        return None;
    }
    let message = Message {
        segment: segment?,
        from: from?,
        subject: subject?.into_owned(),
        reply_to,
        preview_text: preview_text.map(std::borrow::Cow::into_owned),
        html: html.filter(|html| !html.is_empty()).map(|html| Arc::from(&*html)),
        text: text.map(|text| Arc::from(&*text)),
        name: name.map(std::borrow::Cow::into_owned),
        topic,
    };
    check_body(&message, problems);
    Some(message)
}

/// The changes of an update.
pub(super) struct Changes {
    segment: Option<Uuid>,
    from: Option<Mailbox>,
    subject: Option<String>,
    reply_to: Change<Vec<Mailbox>>,
    preview_text: Change<String>,
    html: Change<Arc<str>>,
    text: Change<Arc<str>>,
    name: Change<String>,
    topic: Change<Uuid>,
}

impl Changes {
    pub(super) fn read(context: &Context<'_>, fields: &mut Fields<'_>, problems: &mut Problems) -> Self {
        refuse_react(fields, problems);
        for field in ["segment_id", "from", "subject"] {
            if fields.has_null(field) {
                problems.wrong(|| format!("`{field}` can't be taken away; found null."));
            }
        }
        let shared = |text: std::borrow::Cow<'_, str>| Arc::from(&*text);
        let segment = take_segment(&context.tenant, fields, problems);
        let from = fields.has("from").then(|| take_from(fields, problems)).flatten();
        let subject = fields.take_line("subject", problems).map(std::borrow::Cow::into_owned);
        let reply_to =
            fields.take_change("reply_to", |fields| recipients::take(fields, "reply_to", problems));
        let preview_text = fields.take_change("preview_text", |fields| {
            fields.take_line("preview_text", problems).map(std::borrow::Cow::into_owned)
        });
        let html = fields.take_change("html", |fields| fields.take_text("html", problems).map(shared));
        let text = fields.take_change("text", |fields| fields.take_text("text", problems).map(shared));
        let name = fields.take_change("name", |fields| {
            fields.take_text("name", problems).map(std::borrow::Cow::into_owned)
        });
        let topic = fields.take_change("topic_id", |fields| take_topic(&context.tenant, fields, problems));
        Self { segment, from, subject, reply_to, preview_text, html, text, name, topic }
    }

    /// The updated message, if it is valid for a new broadcast.
    pub(super) fn apply(self, message: &Message) -> Result<Message, crate::wire::problem::Problem> {
        let mut message = message.clone();
        message.segment = self.segment.unwrap_or(message.segment);
        message.from = self.from.unwrap_or(message.from);
        message.subject = self.subject.unwrap_or(message.subject);
        set(&mut message.reply_to, self.reply_to);
        message.reply_to = message.reply_to.filter(|list| !list.is_empty());
        set(&mut message.preview_text, self.preview_text);
        set(&mut message.html, self.html);
        message.html = message.html.filter(|html| !html.is_empty());
        set(&mut message.text, self.text);
        set(&mut message.name, self.name);
        set(&mut message.topic, self.topic);
        let mut problems = Problems::default();
        check_body(&message, &mut problems);
        problems.into_problem().map_or(Ok(message), Err)
    }
}

fn set<T>(field: &mut Option<T>, change: Change<T>) {
    match change {
        Change::Keep => {}
        Change::Clear => *field = None,
        Change::Set(value) => *field = Some(value),
    }
}

/// When it is to be sent.
pub(super) fn take_schedule(
    now: Timestamp,
    fields: &mut Fields<'_>,
    problems: &mut Problems,
) -> Option<Timestamp> {
    let text = fields.take_text("scheduled_at", problems)?;
    match schedule::read(&text, now) {
        Ok(instant) => Some(instant),
        Err(reason) => {
            problems
                .wrong(|| format!("`{}` {reason}; found {}.", fields.name("scheduled_at"), quoted(&text)));
            None
        }
    }
}

fn refuse_react(fields: &mut Fields<'_>, problems: &mut Problems) {
    if fields.take("react").is_some() {
        problems.wrong(|| {
            "`react` exists only in client libraries, which render it; send the result as `html`.".to_owned()
        });
    }
}

/// A broadcast without a body is rejected, like an email. An empty `text` only disables the derivation.
fn check_body(message: &Message, problems: &mut Problems) {
    if message.html.is_none() && message.text.as_ref().is_none_or(|text| text.is_empty()) {
        problems.wrong(|| "`html` or `text` must have content; found none.".to_owned());
    }
}

/// `segment_id`, or `audience_id`, its deprecated name.
fn take_segment(tenant: &Tenant, fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Uuid> {
    if fields.has("segment_id") && fields.has("audience_id") {
        problems
            .wrong(|| "`audience_id` is the former name of `segment_id`; send only one of them.".to_owned());
    }
    let former = fields.take_text("audience_id", problems);
    let (name, text) = match fields.take_text("segment_id", problems) {
        Some(text) => ("segment_id", text),
        None => ("audience_id", former?),
    };
    let found = Uuid::try_parse(&text).ok().filter(|id| tenant.segments.get(*id).is_some());
    if found.is_none() {
        problems.wrong(|| {
            format!("`{name}` must be the id of a segment; there is no segment {}.", quoted(&text))
        });
    }
    found
}

fn take_topic(tenant: &Tenant, fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Uuid> {
    let text = fields.take_text("topic_id", problems)?;
    let found = Uuid::try_parse(&text).ok().filter(|id| tenant.topics.get(*id).is_some());
    if found.is_none() {
        problems
            .wrong(|| format!("`topic_id` must be the id of a topic; there is no topic {}.", quoted(&text)));
    }
    found
}

fn take_from(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Mailbox> {
    if !fields.has("from") {
        problems.missing(fields.name("from"));
        return None;
    }
    let text = fields.take_text("from", problems)?;
    match Mailbox::parse(&text) {
        Ok(mailbox) => Some(mailbox),
        Err(reason) => {
            problems.wrong(|| format!("`from` {reason}: {}.", quoted(&text)));
            None
        }
    }
}
