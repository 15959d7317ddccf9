//! An email that is accepted, as it is to be sent.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::email::attachments::Attachment;
use crate::model::email::bodies::Bodies;
use crate::model::email::recipients::Mailbox;
use crate::model::email::tags::Tag;
use crate::store::size::Size;

/// What an email was made of, where it was not written for its own sake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Origin {
    pub(crate) broadcast: Option<Uuid>,
    pub(crate) template: Option<Uuid>,
    /// Whether an automation sent it. Its events then start no runs.
    #[serde(default)]
    pub(crate) automation: bool,
}

/// An email that keeps all rules.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Draft {
    pub(crate) from: Mailbox,
    pub(crate) to: Vec<Mailbox>,
    pub(crate) cc: Option<Vec<Mailbox>>,
    pub(crate) bcc: Option<Vec<Mailbox>>,
    pub(crate) reply_to: Option<Vec<Mailbox>>,
    pub(crate) subject: String,
    #[serde(flatten)]
    pub(crate) bodies: Bodies,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) tags: Arc<[Tag]>,
    /// The topic whose subscriptions decide who gets it.
    pub(crate) topic: Option<Uuid>,
    pub(crate) scheduled_at: Option<Timestamp>,
    pub(crate) origin: Origin,
}

impl Draft {
    /// Every recipient.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Mailbox> {
        self.to.iter().chain(self.cc.iter().flatten()).chain(self.bcc.iter().flatten())
    }
}

/// Without its bodies: the email that it belongs to shares them.
impl Size for Draft {
    fn heap_size(&self) -> usize {
        let lists = [&self.cc, &self.bcc, &self.reply_to].map(Size::heap_size).iter().sum::<usize>();
        lists
            + self.from.heap_size()
            + self.to.heap_size()
            + self.subject.heap_size()
            + self.headers.heap_size()
            + self.attachments.heap_size()
            + self.tags.heap_size()
    }
}
