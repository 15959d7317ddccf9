//! Emails from JSON, with every fault of shape told by its place.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::{
    Attachment, BatchEmail, Email, Tag, VariableValue,
    message::{Message, pointer},
};
use crate::{problem::Problem, types::Recipients};

const MESSAGE_FIELDS: [&str; 12] = [
    "from", "to", "subject", "cc", "bcc", "reply_to", "html", "text", "template", "headers", "topic_id",
    "tags",
];
const SINGLE_FIELDS: [&str; 2] = ["scheduled_at", "attachments"];

pub(super) fn email(json: &Value) -> (Email, Vec<Problem>) {
    let mut reader = Reader::default();
    let mut email = Email::default();
    if let Some(fields) = reader.object("", json, "an email") {
        reader.message(fields, &mut email.message);
        email.scheduled_at = reader.text(fields, "", "scheduled_at");
        for (i, value) in reader.list(fields, "attachments").iter().enumerate() {
            let attachment = reader.attachment(&format!("/attachments/{i}"), value);
            email.attachments.push(attachment.unwrap_or_else(|| Attachment::without_name(Vec::new())));
        }
        reader.known(fields, "", "an email", |name| {
            MESSAGE_FIELDS.contains(&name) || SINGLE_FIELDS.contains(&name)
        });
    }
    (email, reader.problems)
}

pub(super) fn batch_email(json: &Value) -> (BatchEmail, Vec<Problem>) {
    let mut reader = Reader::default();
    let mut email = BatchEmail::default();
    if let Some(fields) = reader.object("", json, "an email") {
        reader.message(fields, &mut email.message);
        for field in SINGLE_FIELDS {
            if fields.contains_key(field) {
                reader.problem(
                    format!("/{field}"),
                    "unsupported",
                    format!("`{field}` is not supported in a batch"),
                );
            }
        }
        reader.known(fields, "", "an email", |name| {
            MESSAGE_FIELDS.contains(&name) || SINGLE_FIELDS.contains(&name)
        });
    }
    (email, reader.problems)
}

/// An item that can't be read leaves an empty one in its place, so that those behind it keep their numbers.
#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn problem(&mut self, path: impl Into<String>, code: &'static str, rule: impl Into<String>) {
        self.problems.push(Problem::new(path, code, rule));
    }

    fn wrong_type(&mut self, path: impl Into<String>, rule: impl Into<String>, value: &Value) {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            Value::String(text) => format!("the text {text:?}"),
            other => other.to_string(),
        };
        self.problems.push(Problem::new(path, "type", rule).found(found));
    }

    fn message(&mut self, fields: &Map<String, Value>, message: &mut Message) {
        message.from = self.text(fields, "", "from");
        message.to = self.recipients(fields, "to");
        message.subject = self.text(fields, "", "subject");
        message.cc = self.recipients(fields, "cc");
        message.bcc = self.recipients(fields, "bcc");
        message.reply_to = self.recipients(fields, "reply_to");
        message.topic_id = self.text(fields, "", "topic_id").map(Into::into);
        let (html, text) = (self.text(fields, "", "html"), self.text(fields, "", "text"));
        match present(fields, "template") {
            None => {
                if let Some(html) = html {
                    message.html(html);
                }
                if let Some(text) = text {
                    message.text(text);
                }
            }
            Some(template) => {
                for (field, value) in [("html", &html), ("text", &text)] {
                    if value.is_some() {
                        let rule = format!("`{field}` and `template` exclude each other");
                        self.problem(format!("/{field}"), "exclusive", rule);
                    }
                }
                self.template(template, message);
            }
        }
        if let Some(value) = present(fields, "headers")
            && let Some(headers) = self.object("/headers", value, "`headers`")
        {
            for name in headers.keys() {
                if let Some(text) = self.text(headers, "/headers", name) {
                    message.header(name.clone(), text);
                }
            }
        }
        for (i, value) in self.list(fields, "tags").iter().enumerate() {
            message.tags.push(self.tag(&format!("/tags/{i}"), value).unwrap_or_default());
        }
    }

    fn template(&mut self, value: &Value, message: &mut Message) {
        message.template(String::new());
        let Some(template) = self.object("/template", value, "`template`") else { return };
        self.known(template, "/template", "`template`", |name| matches!(name, "id" | "variables"));
        message.template(self.text(template, "/template", "id").unwrap_or_default());
        let Some(variables) = present(template, "variables") else { return };
        let Some(variables) = self.object("/template/variables", variables, "`variables`") else { return };
        for (key, value) in variables {
            if let Some(value) = variable(value) {
                message.variable(key.clone(), value);
            } else {
                let path = format!("/template/variables/{}", pointer(key));
                self.wrong_type(path, "a variable is a text or a number", value);
            }
        }
    }

    fn tag(&mut self, at: &str, value: &Value) -> Option<Tag> {
        let tag = self.object(at, value, "a tag")?;
        self.known(tag, at, "a tag", |name| matches!(name, "name" | "value"));
        let mut field = |name: &str| {
            if present(tag, name).is_none() {
                self.problem(format!("{at}/{name}"), "required", format!("a tag needs a `{name}`"));
            }
            self.text(tag, at, name)
        };
        let (name, value) = (field("name"), field("value"));
        Some(Tag { name: name.unwrap_or_default(), value: value.unwrap_or_default() })
    }

    fn attachment(&mut self, at: &str, value: &Value) -> Option<Attachment> {
        let fields = self.object(at, value, "an attachment")?;
        let known = ["content", "filename", "path", "content_type", "content_id"];
        self.known(fields, at, "an attachment", |name| known.contains(&name));
        let content = self.text(fields, at, "content");
        let path = self.text(fields, at, "path");
        let source = match (content, path) {
            (Some(_), Some(_)) => {
                self.problem(format!("{at}/path"), "exclusive", "`path` and `content` exclude each other");
                None
            }
            (None, None) => {
                if present(fields, "content").is_none() && present(fields, "path").is_none() {
                    self.problem(at, "required", "an attachment needs `content` or `path`");
                }
                None
            }
            (None, Some(url)) => Some(Attachment::from_url(url)),
            (Some(text), None) => match STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => Some(Attachment::without_name(bytes)),
                Err(error) => {
                    let rule = "`content` is Base64 (RFC 4648, with padding)";
                    self.problems.push(Problem::new(format!("{at}/content"), "base64", rule).found(error));
                    None
                }
            },
        };
        let mut set = |name: &str| self.text(fields, at, name);
        let (filename, content_type, content_id) = (set("filename"), set("content_type"), set("content_id"));
        let mut attachment = source?;
        attachment = filename.into_iter().fold(attachment, Attachment::filename);
        attachment = content_type.into_iter().fold(attachment, Attachment::content_type);
        attachment = content_id.into_iter().fold(attachment, Attachment::content_id);
        Some(attachment)
    }

    fn object<'a>(&mut self, path: &str, value: &'a Value, what: &str) -> Option<&'a Map<String, Value>> {
        if value.as_object().is_none() {
            self.wrong_type(path, format!("{what} is a JSON object"), value);
        }
        value.as_object()
    }

    fn list<'a>(&mut self, fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
        match present(fields, name) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong_type(format!("/{name}"), format!("`{name}` is an array"), other);
                &[]
            }
        }
    }

    fn text(&mut self, fields: &Map<String, Value>, at: &str, name: &str) -> Option<String> {
        match present(fields, name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong_type(format!("{at}/{}", pointer(name)), format!("`{name}` is a text"), other);
                None
            }
        }
    }

    fn recipients(&mut self, fields: &Map<String, Value>, name: &str) -> Recipients {
        let rule = format!("`{name}` is an address or an array of addresses");
        match present(fields, name) {
            None => Recipients::default(),
            Some(Value::String(one)) => Recipients::from(one),
            Some(Value::Array(many)) => {
                let mut addresses = Vec::new();
                for (i, value) in many.iter().enumerate() {
                    if value.as_str().is_none() {
                        self.wrong_type(format!("/{name}/{i}"), rule.clone(), value);
                    }
                    addresses.push(value.as_str().unwrap_or_default().to_owned());
                }
                Recipients::from(addresses)
            }
            Some(other) => {
                self.wrong_type(format!("/{name}"), rule, other);
                Recipients::default()
            }
        }
    }

    fn known(&mut self, fields: &Map<String, Value>, at: &str, what: &str, known: impl Fn(&str) -> bool) {
        for name in fields.keys().filter(|name| !known(name)) {
            self.problem(
                format!("{at}/{}", pointer(name)),
                "unknown",
                format!("{what} has no field `{name}`"),
            );
        }
    }
}

/// A field's value; `null` says the same as leaving it out.
fn present<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn variable(value: &Value) -> Option<VariableValue> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Number(number) => {
            let whole =
                number.as_i64().map(VariableValue::from).or_else(|| number.as_u64().map(VariableValue::from));
            whole.or_else(|| number.as_f64().map(VariableValue::from))
        }
        _ => None,
    }
}
