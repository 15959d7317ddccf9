//! The fields that individual and batch emails have in common, and their validation.

use std::collections::BTreeMap;

use url::Url;

use super::record::Tag;
use crate::{
    clock,
    problem::{Problem, Validator, limits, push_token},
    resources::shared::Attachment,
    types::{Recipients, Scalar, ScheduledAt, Timestamp, TopicId},
};

/// Headers that the service sets itself. It may accept or reject custom values, but they are probably a mistake.
const OWN_HEADERS: [&str; 14] = [
    "bcc",
    "cc",
    "content-transfer-encoding",
    "content-type",
    "date",
    "dkim-signature",
    "from",
    "message-id",
    "mime-version",
    "received",
    "reply-to",
    "return-path",
    "sender",
    "to",
];

/// All fields as set, including mutually exclusive ones: validation reports these, so nothing is dropped silently.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message {
    pub(super) from: Option<String>,
    pub(super) to: Recipients,
    pub(super) subject: Option<String>,
    pub(super) cc: Recipients,
    pub(super) bcc: Recipients,
    pub(super) reply_to: Recipients,
    pub(super) html: Option<String>,
    pub(super) text: Option<String>,
    pub(super) template: Option<String>,
    pub(super) variables: BTreeMap<String, Scalar>,
    pub(super) headers: Headers,
    pub(super) topic_id: Option<TopicId>,
    pub(super) tags: Vec<Tag>,
    pub(super) scheduled_at: Option<ScheduledAt>,
    pub(super) attachments: Vec<Attachment>,
}

/// Custom headers by lower-case name, each with its original spelling.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Headers(BTreeMap<String, (String, String)>);

impl Headers {
    /// Adds a header, replacing any header of the same name.
    pub(super) fn insert(&mut self, name: String, value: String) {
        self.0.insert(name.to_ascii_lowercase(), (name, value));
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(&name.to_ascii_lowercase())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.values().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl Message {
    pub(super) fn is_templated(&self) -> bool {
        self.template.is_some() || !self.variables.is_empty()
    }

    /// Validates the fields that individual and batch emails have in common.
    pub(super) fn validate(&self, v: &mut Validator) {
        match &self.from {
            Some(from) => v.address("from", Some(from)),
            None => self.required_without_template(v, "from"),
        }
        let to = self.to.as_slice();
        if to.is_empty() {
            v.report_at("to", "required", "`to` must have at least one address");
        } else if to.len() > limits::RECIPIENTS_IN_TO {
            let rule = format!("`to` must have at most {} addresses", limits::RECIPIENTS_IN_TO);
            let found = format!("{} addresses", to.len());
            v.field("to", |v| v.item(limits::RECIPIENTS_IN_TO, |v| v.report_found("count", rule, found)));
        }
        match &self.subject {
            Some(subject) => v.check_one_line("subject", Some(subject)),
            None => self.required_without_template(v, "subject"),
        }
        for (field, list) in
            [("to", &self.to), ("cc", &self.cc), ("bcc", &self.bcc), ("reply_to", &self.reply_to)]
        {
            v.addresses(field, list.as_slice());
        }
        self.validate_content(v);
        for (name, value) in self.headers.iter() {
            v.field("headers", |v| v.field(name, |v| v.check_header(name, value)));
        }
        self.validate_unsubscribe(v);
        v.not_empty("topic_id", self.topic_id.as_ref().map(TopicId::as_str));
        v.for_each_item("tags", &self.tags, |v, tag| {
            v.field("name", |v| validate_tag(v, "name", &tag.name));
            v.field("value", |v| validate_tag(v, "value", &tag.value));
        });
    }

    /// If `List-Unsubscribe-Post` is set, `List-Unsubscribe` must contain an https URL (RFC 8058, 3.1).
    fn validate_unsubscribe(&self, v: &mut Validator) {
        let Headers(headers) = &self.headers;
        let (Some((name, value)), true) =
            (headers.get("list-unsubscribe"), headers.contains_key("list-unsubscribe-post"))
        else {
            return;
        };
        // Control characters have already been reported. A URL can contain a comma.
        let mut entries = std::iter::once(value.as_str()).chain(value.split(','));
        if value.contains(|c: char| c.is_ascii_control()) || entries.any(is_one_click_url) {
            return;
        }
        let rule =
            "one-click unsubscribe requires an absolute https URL without a username, in angle brackets";
        v.field("headers", |v| v.field(name, |v| v.report_found("url", rule, value)));
    }

    fn required_without_template(&self, v: &mut Validator, field: &str) {
        if !self.is_templated() {
            let rule = format!("`{field}` is required unless a template provides it");
            v.report_at(field, "required", rule);
        }
    }

    fn validate_content(&self, v: &mut Validator) {
        let body = [("html", &self.html), ("text", &self.text)];
        let bodies = body.into_iter().filter_map(|(field, text)| text.as_deref().map(|text| (field, text)));
        if !self.is_templated() {
            if bodies.into_iter().all(|(_, text)| text.is_empty()) {
                v.report("required", "`html`, `text` or `template` is required");
            }
            return;
        }
        let template = if self.template.is_some() { "template" } else { "template.variables" };
        let mut has_body = false;
        for (field, _) in bodies {
            has_body = true;
            v.report_at(field, "exclusive", format!("`{field}` and `{template}` are mutually exclusive"));
        }
        v.field("template", |v| {
            if self.template.as_ref().map_or(!has_body, String::is_empty) {
                let rule = "`template.id` is required: the ID or alias of a published template";
                v.report_at("id", "required", rule);
            }
            v.field("variables", |v| {
                for (key, value) in &self.variables {
                    v.field(key, |v| validate_variable(v, key, value));
                }
            });
        });
    }

    /// Returns fields that are accepted but are probably a mistake.
    pub(super) fn warnings(&self) -> Vec<Problem> {
        let own = self.headers.0.iter().filter(|(name, _)| OWN_HEADERS.contains(&name.as_str()));
        let own = own.map(|(_, (name, _))| {
            let mut path = "/headers".to_owned();
            push_token(&mut path, name);
            let rule = "the service sets this header itself; it may ignore or reject a custom one";
            Problem::new(path, "reserved", rule).with_value(name)
        });
        own.chain(self.many_tags()).chain(self.check_schedule()).chain(self.rejected_attachments()).collect()
    }

    fn many_tags(&self) -> Option<Problem> {
        let found = self.tags.len();
        let rule = "Resend rejects more than 75 tags";
        (found > limits::TAGS_ADVISED)
            .then(|| Problem::new("/tags", "count", rule).with_value(format_args!("{found} tags")))
    }

    /// Texts such as `in 2 months` are left for the service to check.
    fn check_schedule(&self) -> Option<Problem> {
        let text = self.scheduled_at.as_ref()?.as_str();
        let time = Timestamp::from(text).to_system_time()?;
        let ahead = time.duration_since(clock::wall()).ok()?;
        let rule = "Resend rejects schedules more than 30 days ahead";
        (ahead.as_secs() > limits::SCHEDULE_SECONDS_ADVISED)
            .then(|| Problem::new("/scheduled_at", "range", rule).with_value(text))
    }

    fn rejected_attachments(&self) -> impl Iterator<Item = Problem> {
        let names = self.attachments.iter().map(Attachment::file_name).enumerate();
        names.filter_map(|(i, name)| {
            // Windows ignores dots and spaces at the end of a name.
            let (_, ending) = name?.trim_end_matches(['.', ' ']).rsplit_once('.')?;
            let mut refused = limits::REJECTED_ATTACHMENT_EXTENSIONS.iter();
            refused.find(|refused| ending.eq_ignore_ascii_case(refused))?;
            let rule = "Resend rejects files with this extension";
            Some(Problem::new(format!("/attachments/{i}/filename"), "file_type", rule).with_value(name?))
        })
    }
}

/// Returns whether an entry of `List-Unsubscribe` is an https URL in angle brackets.
fn is_one_click_url(entry: &str) -> bool {
    let url = entry.trim().strip_prefix('<').and_then(|url| url.strip_suffix('>'));
    url.filter(|url| url.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>".contains(&byte)))
        .and_then(|url| Url::parse(url).ok())
        .is_some_and(|url| url.scheme() == "https" && url.username().is_empty() && url.password().is_none())
}

fn validate_tag(v: &mut Validator, field: &str, text: &str) {
    if text.is_empty() {
        v.report("empty", format!("a tag {field} must not be empty"));
    } else if !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
        v.report_found(
            "charset",
            format!("a tag {field} must contain only ASCII letters, digits, `_` and `-`"),
            text,
        );
    } else if text.len() > limits::TAG_CHARS {
        let rule = format!("a tag {field} must have at most {} characters", limits::TAG_CHARS);
        v.report_found("length", rule, format_args!("{} characters", text.len()));
    }
}

fn validate_variable(v: &mut Validator, key: &str, value: &Scalar) {
    v.check_key("variable", key);
    let too_large = "a number variable must not be greater than 2^53 - 1";
    match value {
        Scalar::Text(text) => {
            let length = text.chars().count();
            if length > limits::VARIABLE_VALUE_CHARS {
                let rule = "a string variable must have at most 2,000 characters";
                v.report_found("length", rule, format_args!("{length} characters"));
            }
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 - 1 is the last whole number that a double holds"
        )]
        Scalar::Number(number) if number.as_f64().is_none_or(|n| n > limits::VARIABLE_VALUE_MAX as f64) => {
            v.report_found("range", too_large, number);
        }
        Scalar::Number(_) => {}
        Scalar::Boolean(_) | Scalar::Other(_) => {
            v.wrong_type("a variable must be a string or a number", &value.clone().into());
        }
    }
}
