//! The content of an accepted email.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::email::attachments::Attachment;
use crate::model::email::bodies::Bodies;
use crate::model::email::recipients::Mailbox;
use crate::model::email::tags::Tag;
use crate::store::size;

/// The broadcast or automation that an email originates from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Origin {
    pub broadcast: Option<Uuid>,
    pub template: Option<Uuid>,
    /// Whether an automation sent it. Its events then trigger no runs.
    pub automation: bool,
}

/// A validated email.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Draft {
    /// The ID of the email, if its content refers to it.
    #[serde(skip)]
    pub id: Option<Uuid>,
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cc: Option<Vec<Mailbox>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bcc: Option<Vec<Mailbox>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Vec<Mailbox>>,
    pub subject: String,
    pub bodies: Bodies,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    pub tags: Arc<[Tag]>,
    /// The topic that selects the recipients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Origin::is_request")]
    pub origin: Origin,
}

impl Origin {
    /// Whether the email was sent by a request, without a template.
    pub(super) fn is_request(&self) -> bool {
        *self == Self::default()
    }
}

impl Draft {
    /// All recipients.
    pub fn recipients(&self) -> impl Iterator<Item = &Mailbox> {
        self.to.iter().chain(self.cc.iter().flatten()).chain(self.bcc.iter().flatten())
    }

    /// The number of bytes, excluding the bodies, shared with its email.
    pub fn size(&self) -> usize {
        let recipients = (&self.to, &self.cc, &self.bcc, &self.reply_to);
        let content = (&self.subject, &self.headers, &self.attachments, &self.tags);
        size::row::<Self>(size::heap(&(&self.from, recipients, content)))
    }

    /// Drops the other recipients.
    pub fn retain_recipients(&mut self, mut keeps: impl FnMut(&Mailbox) -> bool) {
        self.to.retain(&mut keeps);
        for copies in [&mut self.cc, &mut self.bcc] {
            if let Some(list) = copies {
                list.retain(&mut keeps);
            }
            if copies.as_ref().is_some_and(Vec::is_empty) {
                *copies = None;
            }
        }
    }
}
