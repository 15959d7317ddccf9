//! The fields of an email, as they are serialized.

#![expect(clippy::ref_option_ref, reason = "what serde generates for a borrowed sender")]

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{message::Message, record::Tag};
use crate::{
    resources::shared::Attachment,
    types::{Scalar, ScheduledAt, TopicId, serialize_list, serialize_sender},
};

/// The fields of an [`Email`](super::Email) or a [`BatchEmail`](super::BatchEmail), borrowed, for assertions, logs and outbox tables.
///
/// It serializes to the service's JSON; display names are quoted if RFC 5322 requires it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EmailFields<'a> {
    /// The sender.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_sender")]
    pub from: Option<&'a str>,
    /// The recipients.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "serialize_list")]
    pub to: &'a [String],
    /// The subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<&'a str>,
    /// The recipients of copies.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "serialize_list")]
    pub cc: &'a [String],
    /// The recipients of blind copies.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "serialize_list")]
    pub bcc: &'a [String],
    /// The `Reply-To` addresses.
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "serialize_list")]
    pub reply_to: &'a [String],
    /// The HTML body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<&'a str>,
    /// The plain-text body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// The template with its variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateFields<'a>>,
    /// The custom headers, sorted by name.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub headers: Vec<(&'a str, &'a str)>,
    /// The topic to whose subscribers the email is restricted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<&'a TopicId>,
    /// The tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub tags: &'a [Tag],
    /// The time at which to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<&'a ScheduledAt>,
    /// The attachments.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub attachments: &'a [Attachment],
}

/// The template of an email, in [`EmailFields`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TemplateFields<'a> {
    /// The template's ID or alias; empty if only variables were set.
    pub id: &'a str,
    /// The values of the template's variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: &'a BTreeMap<String, Scalar>,
}

impl Message {
    pub(super) fn fields(&self) -> EmailFields<'_> {
        let template = self.is_templated().then(|| TemplateFields {
            id: self.template.as_deref().unwrap_or_default(),
            variables: &self.variables,
        });
        EmailFields {
            from: self.from.as_deref(),
            to: self.to.as_slice(),
            subject: self.subject.as_deref(),
            cc: self.cc.as_slice(),
            bcc: self.bcc.as_slice(),
            reply_to: self.reply_to.as_slice(),
            html: self.html.as_deref(),
            text: self.text.as_deref(),
            template,
            headers: self.headers.iter().collect(),
            topic_id: self.topic_id.as_ref(),
            tags: &self.tags,
            scheduled_at: self.scheduled_at.as_ref(),
            attachments: &self.attachments,
        }
    }
}

fn as_map<S: Serializer>(pairs: &[(&str, &str)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}
