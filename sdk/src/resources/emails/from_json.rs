//! Parses emails from JSON, with a location for every format error. Field rules are validated afterwards.

use serde_json::{Map, Value};

use super::{message::Message, record::Tag};
use crate::{
    problem::{Validator, present},
    resources::shared::Attachment,
    types::{Recipients, ScheduledAt, fields::FieldValue as _},
};

const FIELDS: [&str; 14] = [
    "from",
    "to",
    "subject",
    "cc",
    "bcc",
    "reply_to",
    "html",
    "text",
    "template",
    "headers",
    "topic_id",
    "tags",
    "scheduled_at",
    "attachments",
];

/// Parses a message. An unreadable list item is replaced with an empty one, so that later items keep their index.
pub(super) fn parse_message(v: &mut Validator, json: &Value) -> Message {
    let mut message = Message::default();
    let Some(fields) = v.object(json, "an email") else { return message };
    let text = |v: &mut Validator, name| v.text(fields, name).map(str::to_owned);
    message.from = text(v, "from");
    message.to = parse_recipients(v, fields, "to");
    message.subject = text(v, "subject");
    message.cc = parse_recipients(v, fields, "cc");
    message.bcc = parse_recipients(v, fields, "bcc");
    message.reply_to = parse_recipients(v, fields, "reply_to");
    message.topic_id = text(v, "topic_id").map(Into::into);
    message.html = text(v, "html");
    message.text = text(v, "text");
    message.scheduled_at = text(v, "scheduled_at").map(ScheduledAt::from);
    if let Some(value) = present(fields, "template") {
        v.field("template", |v| parse_template(v, value, &mut message));
    }
    if let Some(value) = present(fields, "headers") {
        v.field("headers", |v| {
            for (name, value) in v.object(value, "`headers`").into_iter().flatten() {
                match value {
                    Value::Null => {}
                    Value::String(_) if message.headers.contains(name) => {
                        let rule = "a header name must be unique, regardless of case";
                        v.field(name, |v| v.report_found("repeated", rule, name));
                    }
                    Value::String(value) => message.headers.insert(name.clone(), value.clone()),
                    other => v.field(name, |v| v.wrong_type("a header value must be a string", other)),
                }
            }
        });
    }
    let tags = v.list(fields, "tags").unwrap_or_default();
    v.for_each_item("tags", tags, |v, value| message.tags.push(parse_tag(v, value).unwrap_or_default()));
    let attachments = v.list(fields, "attachments").unwrap_or_default();
    v.for_each_item("attachments", attachments, |v, value| {
        let attachment = Attachment::read(v, value);
        message.attachments.push(attachment.unwrap_or_else(|| Attachment::without_name(Vec::new())));
    });
    v.check_known_fields(fields, "an email", &FIELDS);
    message
}

fn parse_template(v: &mut Validator, value: &Value, message: &mut Message) {
    message.template = Some(String::new());
    let Some(template) = v.object(value, "`template`") else { return };
    v.check_known_fields(template, "`template`", &["id", "variables"]);
    message.template = Some(v.text(template, "id").unwrap_or_default().to_owned());
    let Some(variables) = present(template, "variables") else { return };
    v.field("variables", |v| {
        for (key, value) in v.object(variables, "`variables`").into_iter().flatten() {
            message.variables.insert(key.clone(), value.clone().into());
        }
    });
}

fn parse_tag(v: &mut Validator, value: &Value) -> Option<Tag> {
    let tag = v.object(value, "a tag")?;
    v.check_known_fields(tag, "a tag", &["name", "value"]);
    let mut field = |name| {
        v.required_field(tag, name);
        v.text(tag, name).unwrap_or_default().to_owned()
    };
    Some(Tag { name: field("name"), value: field("value") })
}

fn parse_recipients(v: &mut Validator, fields: &Map<String, Value>, name: &str) -> Recipients {
    let rule = || format!("`{name}` must be an address or an array of addresses");
    match present(fields, name) {
        None => Recipients::default(),
        Some(Value::String(one)) => Recipients::from(one),
        Some(Value::Array(many)) => {
            let mut addresses = Vec::with_capacity(many.len());
            v.for_each_item(name, many, |v, value| {
                if !value.is_string() {
                    v.wrong_type(rule(), value);
                }
                addresses.push(value.as_str().unwrap_or_default());
            });
            Recipients::from(addresses)
        }
        Some(other) => {
            v.field(name, |v| v.wrong_type(rule(), other));
            Recipients::default()
        }
    }
}
