//! What a single email and an email of a batch have in common: fields, rules, and the JSON.

mod wire;

use std::collections::HashSet;

use super::{Tag, VariableValue, variable::Value};
use crate::{
    problem::{Problem, limits, rules::check_key},
    types::{Recipients, TopicId},
};

/// Headers that the service writes itself. Sent as custom ones they are its to judge, but hardly meant.
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

#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) from: Option<String>,
    pub(super) to: Recipients,
    pub(super) subject: Option<String>,
    pub(super) cc: Recipients,
    pub(super) bcc: Recipients,
    pub(super) reply_to: Recipients,
    pub(super) content: Content,
    pub(super) headers: Vec<(String, String)>,
    pub(super) topic_id: Option<TopicId>,
    pub(super) tags: Vec<Tag>,
}

/// A body or a template. The service refuses both together, so there is no place for both.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Body { html: Option<String>, text: Option<String> },
    Template { id: String, variables: Vec<(String, VariableValue)> },
}

impl Default for Content {
    fn default() -> Self {
        Self::Body { html: None, text: None }
    }
}

impl Message {
    pub(super) fn html(&mut self, value: String) {
        match &mut self.content {
            Content::Body { html, .. } => *html = Some(value),
            content @ Content::Template { .. } => *content = Content::Body { html: Some(value), text: None },
        }
    }

    pub(super) fn text(&mut self, value: String) {
        match &mut self.content {
            Content::Body { text, .. } => *text = Some(value),
            content @ Content::Template { .. } => *content = Content::Body { html: None, text: Some(value) },
        }
    }

    pub(super) fn template(&mut self, value: String) {
        match &mut self.content {
            Content::Template { id, .. } => *id = value,
            content @ Content::Body { .. } => {
                *content = Content::Template { id: value, variables: Vec::new() }
            }
        }
    }

    pub(super) fn variable(&mut self, key: String, value: VariableValue) {
        if let Content::Body { .. } = self.content {
            self.template(String::new());
        }
        if let Content::Template { variables, .. } = &mut self.content {
            variables.retain(|(other, _)| *other != key);
            variables.push((key, value));
        }
    }

    pub(super) fn header(&mut self, name: String, value: String) {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
        self.headers.push((name, value));
    }

    /// All that is wrong; `at` is the message's own place, `""` or `/3`.
    pub(super) fn check(&self, at: &str, problems: &mut Vec<Problem>) {
        let template = matches!(self.content, Content::Template { .. });
        let by_template = if template { "" } else { " (only a template can supply it)" };
        match &self.from {
            Some(from) => check_address(&format!("{at}/from"), from, problems),
            None if template => {}
            None => {
                let rule = format!("`from` is required{by_template}");
                problems.push(Problem::new(format!("{at}/from"), "required", rule));
            }
        }
        let to = self.to.as_slice();
        if to.is_empty() {
            problems.push(Problem::new(format!("{at}/to"), "required", "`to` needs at least one address"));
        } else if to.len() > limits::RECIPIENTS_IN_TO {
            let path = format!("{at}/to/{}", limits::RECIPIENTS_IN_TO);
            let rule = "`to` holds at most 50 addresses";
            problems.push(Problem::new(path, "count", rule).found(format!("{} addresses", to.len())));
        }
        match &self.subject {
            Some(subject) => check_header_text(&format!("{at}/subject"), "subject", subject, problems),
            None if template => {}
            None => {
                let rule = format!("`subject` is required{by_template}");
                problems.push(Problem::new(format!("{at}/subject"), "required", rule));
            }
        }
        for (field, list) in
            [("to", &self.to), ("cc", &self.cc), ("bcc", &self.bcc), ("reply_to", &self.reply_to)]
        {
            for (i, address) in list.as_slice().iter().enumerate() {
                // The place is written out only for the rare address that needs it.
                if crate::problem::address_fault(address).is_some() {
                    check_address(&format!("{at}/{field}/{i}"), address, problems);
                }
            }
        }
        self.check_content(at, problems);
        self.check_headers(at, problems);
        if self.topic_id.as_ref().is_some_and(|id| id.as_str().is_empty()) {
            problems.push(Problem::new(format!("{at}/topic_id"), "empty", "`topic_id` must not be empty"));
        }
        for (i, tag) in self.tags.iter().enumerate() {
            check_tag_text(at, i, "name", &tag.name, problems);
            check_tag_text(at, i, "value", &tag.value, problems);
        }
    }

    fn check_content(&self, at: &str, problems: &mut Vec<Problem>) {
        match &self.content {
            Content::Body { html, text } => {
                let given = |part: &Option<String>| part.as_ref().is_some_and(|part| !part.is_empty());
                if !given(html) && !given(text) {
                    let rule = "an email needs `html`, `text` or a `template`";
                    problems.push(Problem::new(at, "required", rule));
                }
            }
            Content::Template { id, variables } => {
                if id.is_empty() {
                    let rule = "`template.id` is required: the id or the alias of a published template";
                    problems.push(Problem::new(format!("{at}/template/id"), "required", rule));
                }
                let mut seen = HashSet::new();
                for (key, value) in variables {
                    let path = format!("{at}/template/variables/{}", pointer(key));
                    check_variable(&path, key, value, problems);
                    if !seen.insert(key) {
                        problems.push(Problem::new(path, "exclusive", "a variable is given once").found(key));
                    }
                }
            }
        }
    }

    fn check_headers(&self, at: &str, problems: &mut Vec<Problem>) {
        for (name, value) in &self.headers {
            let path = || format!("{at}/headers/{}", pointer(name));
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic() && b != b':') {
                let rule = "a header's name is visible ASCII without white space and `:`";
                problems.push(Problem::new(path(), "header", rule).found(name.escape_debug()));
            }
            if let Some(rule) = control_fault(value) {
                problems.push(
                    Problem::new(path(), "header", format!("a header's value {rule}"))
                        .found(value.escape_debug()),
                );
            }
        }
    }

    /// What is hardly meant but can be sent.
    pub(super) fn warnings(&self, at: &str) -> Vec<Problem> {
        let own =
            self.headers.iter().filter(|(name, _)| OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()));
        own.map(|(name, _)| {
            let rule = "the service writes this header itself; yours may be ignored or refused";
            Problem::new(format!("{at}/headers/{}", pointer(name)), "reserved", rule).found(name)
        })
        .collect()
    }
}

/// A key as one part of a JSON pointer (RFC 6901).
pub(super) fn pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

pub(super) fn control_fault(text: &str) -> Option<&'static str> {
    text.contains(|c: char| c.is_ascii_control())
        .then_some("must not hold control characters such as line breaks")
}

fn check_header_text(path: &str, field: &str, text: &str, problems: &mut Vec<Problem>) {
    if let Some(rule) = control_fault(text) {
        problems.push(Problem::new(path, "header", format!("`{field}` {rule}")).found(text.escape_debug()));
    }
}

fn check_address(path: &str, address: &str, problems: &mut Vec<Problem>) {
    if let Some((code, rule)) = crate::problem::address_fault(address) {
        problems.push(Problem::new(path, code, rule).found(address.escape_debug()));
    }
}

fn check_tag_text(at: &str, i: usize, field: &str, text: &str, problems: &mut Vec<Problem>) {
    let mut push = |code, rule: &str, found: String| {
        let rule = format!("a tag's {field} {rule}");
        problems.push(Problem::new(format!("{at}/tags/{i}/{field}"), code, rule).found(found));
    };
    if text.is_empty() {
        push("empty", "must not be empty", String::new());
    } else if !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
        push("charset", "may hold only A-Z a-z 0-9 _ -", text.to_owned());
    } else if text.len() > limits::TAG_CHARS {
        push("length", "has at most 256 characters", format!("{} characters", text.len()));
    }
}

fn check_variable(path: &str, key: &str, value: &VariableValue, problems: &mut Vec<Problem>) {
    check_key(path, "variable", key, problems);
    let mut push = |code, rule: &str, found: String| {
        problems.push(Problem::new(path, code, rule).found(found));
    };
    let number = "a variable's number is not greater than 2^53 - 1";
    match value.value() {
        Value::Text(text) => {
            let length = text.chars().count();
            if length > limits::VARIABLE_VALUE_CHARS {
                push(
                    "length",
                    "a variable's text has at most 2,000 characters",
                    format!("{length} characters"),
                );
            }
        }
        Value::Whole(whole) if *whole > i128::from(limits::VARIABLE_VALUE_MAX) => {
            push("range", number, whole.to_string());
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 - 1 is the last whole number that a double holds"
        )]
        Value::Real(real) if !real.is_finite() || *real > limits::VARIABLE_VALUE_MAX as f64 => {
            push("range", number, real.to_string());
        }
        Value::Whole(_) | Value::Real(_) => {}
    }
}

/// The setters that both kinds of email have.
macro_rules! message_setters {
    () => {
        /// The sender, `email` or `Name <email>`. With a template, it takes the place of the template's own.
        #[must_use]
        pub fn from(mut self, from: impl Into<String>) -> Self {
            self.message.from = Some(from.into());
            self
        }

        /// Adds recipients, at most 50 in all.
        #[must_use]
        pub fn to(mut self, to: impl Into<Recipients>) -> Self {
            self.message.to.push(to.into());
            self
        }

        /// The subject; it may be empty. With a template, it takes the place of the template's own.
        #[must_use]
        pub fn subject(mut self, subject: impl Into<String>) -> Self {
            self.message.subject = Some(subject.into());
            self
        }

        /// Adds recipients of copies.
        #[must_use]
        pub fn cc(mut self, cc: impl Into<Recipients>) -> Self {
            self.message.cc.push(cc.into());
            self
        }

        /// Adds recipients of blind copies.
        #[must_use]
        pub fn bcc(mut self, bcc: impl Into<Recipients>) -> Self {
            self.message.bcc.push(bcc.into());
            self
        }

        /// Adds addresses that answers go to. With a template, they take the place of the template's own.
        #[must_use]
        pub fn reply_to(mut self, reply_to: impl Into<Recipients>) -> Self {
            self.message.reply_to.push(reply_to.into());
            self
        }

        /// The HTML body. It takes the place of a template.
        #[must_use]
        pub fn html(mut self, html: impl Into<String>) -> Self {
            self.message.html(html.into());
            self
        }

        /// The plain-text body. Without one the service derives it from the HTML; an empty one switches that off. It takes the place of
        /// a template.
        #[must_use]
        pub fn text(mut self, text: impl Into<String>) -> Self {
            self.message.text(text.into());
            self
        }

        /// Fills a published template, by its id or alias. It takes the place of a body: the service refuses both together.
        #[must_use]
        pub fn template(mut self, id: impl Into<String>) -> Self {
            self.message.template(id.into());
            self
        }

        /// Gives one of the template's variables its value. The key is made of ASCII letters, digits and `_`, at most 50; a text has at most
        /// 2,000 characters, a number is at most 2^53 − 1.
        #[must_use]
        pub fn variable(mut self, key: impl Into<String>, value: impl Into<VariableValue>) -> Self {
            self.message.variable(key.into(), value.into());
            self
        }

        /// Adds a custom header to the mail itself. One of the same name is replaced.
        #[must_use]
        pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            self.message.header(name.into(), value.into());
            self
        }

        /// Sends only to recipients who want this topic. Each of to, cc and bcc is judged alone; a contact who opted out gets nothing, and
        /// the email is marked failed instead of being refused.
        #[must_use]
        pub fn topic_id(mut self, topic: impl Into<TopicId>) -> Self {
            self.message.topic_id = Some(topic.into());
            self
        }

        /// Adds a tag: ASCII letters, digits, `_` and `-`, at most 256 each.
        #[must_use]
        pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            self.message.tags.push(Tag { name: name.into(), value: value.into() });
            self
        }
    };
}

pub(super) use message_setters;
