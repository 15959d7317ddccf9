//! The message of a job, shared by all rows.

use std::collections::BTreeMap;

use idempost::{ScheduledAt, problem::Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod compiled;

pub(crate) use compiled::{Compiled, UsedVariable, is_list_unsubscribe, to_variable};

/// The message of a job: the defaults for all rows. A row's own columns override them field by field.
///
/// `html`, `text`, `subject` and the values of headers and tags are templates: `{{{NAME}}}` is replaced with the row's value of the variable `NAME`,
/// and `{{{NAME|fallback}}}` with the fallback if the row has no value. Values are HTML-escaped in `html` and percent-encoded in the
/// `list_unsubscribe` URL. Fields that a row sets itself are inserted unchanged.
///
/// A row that sets `html` or `text` doesn't use the message's stored template, and a row that sets `template` doesn't use the message's
/// `html` and `text`.
///
/// ```
/// use idempost_bulk::Message;
///
/// let message = Message::new()
///     .from("Acme <hi@acme.test>")
///     .subject("{{{FIRST_NAME|Hello}}}, your invoice is due")
///     .html("<p>Dear {{{FIRST_NAME|customer}}}, the amount is {{{AMOUNT}}}.</p>")
///     .list_unsubscribe("https://acme.test/unsubscribe/{{{ID}}}");
/// assert!(message.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Message {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) template: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cc: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) bcc: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reply_to: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) topic_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scheduled_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list_unsubscribe: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, Value>,
}

impl Message {
    /// Creates a message without defaults: every row has to provide all fields.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the sender: `email` or `Name <email>`.
        from;
        /// Sets the subject template.
        subject;
        /// Sets the HTML body template.
        html;
        /// Sets the plain-text body template.
        text;
        /// Uses a template published in the service, by ID or alias. `var:NAME` columns and [variables](Self::variable) become its variables.
        template;
        /// Sends only to recipients subscribed to this topic.
        topic_id;
        /// Adds one-click unsubscribe headers (RFC 8058), like [`Email::list_unsubscribe`](idempost::Email::list_unsubscribe). The https URL is a
        /// template, since it has to identify the recipient; values are percent-encoded. A row that sets `List-Unsubscribe` itself keeps its own
        /// header.
        ///
        /// ```
        /// use idempost_bulk::Message;
        ///
        /// let message = Message::new().list_unsubscribe("https://acme.test/unsubscribe?token={{{TOKEN}}}");
        /// assert!(message.check().is_ok());
        /// ```
        list_unsubscribe;
        /// Adds a `Cc` recipient.
        cc +=;
        /// Adds a `Bcc` recipient.
        bcc +=;
        /// Adds a `Reply-To` address.
        reply_to +=;
    }

    /// Schedules all emails. A scheduled email can't be part of a batch, so each one takes a separate request.
    #[must_use]
    pub fn scheduled_at(mut self, time: impl Into<ScheduledAt>) -> Self {
        self.scheduled_at = Some(time.into().as_str().to_owned());
        self
    }

    /// Sets a tag. The value is a template.
    #[must_use]
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(name.into(), value.into());
        self
    }

    /// Sets a custom header, replacing any header of the same name. The value is a template.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.headers.retain(|known, _| !known.eq_ignore_ascii_case(&name));
        self.headers.insert(name, value.into());
        self
    }

    /// Sets a variable's default for rows without a value: a string or a number.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Validates the message: its templates, and the fields that don't depend on a row.
    ///
    /// # Errors
    /// All problems together, each with the JSON pointer of its field; for a placeholder, with line and column.
    pub fn check(&self) -> Result<(), Vec<Problem>> {
        self.compile().map(drop)
    }

    /// Compiles the templates.
    pub(crate) fn compile(&self) -> Result<Compiled, Vec<Problem>> {
        Compiled::new(self)
    }

    /// Returns whether rows without their own body use a stored template.
    pub(crate) fn is_stored(&self) -> bool {
        self.template.is_some()
    }
}
