//! The searchable fields of captured, unsent and received emails.

use jiff::Timestamp;
use uuid::Uuid;

use super::term::Field;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::html_and_text::{any_of_html, search_prefix};
use idempost_reference_server::model::email::{Email, Event};
use idempost_reference_server::model::mail::{Mail, Tag};
use idempost_reference_server::model::received::Received;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::mails::StoredMail;

/// An email that a search can match.
pub(in crate::inbox) trait Searchable {
    fn has_id(&self, id: Uuid) -> bool;

    /// Returns the time shown in lists.
    fn timestamp(&self) -> Timestamp;

    /// Returns whether any value of the field satisfies the condition.
    fn any_value(&self, field: Field, holds: &mut dyn FnMut(&str) -> bool) -> bool;

    fn tags(&self) -> &[Tag] {
        &[]
    }

    fn has_attachment(&self) -> bool;

    /// Only mails have an unread state.
    fn is_unread(&self) -> bool {
        false
    }

    /// Returns the size of the complete message, in bytes; `None` if there is none.
    fn size(&self) -> Option<usize> {
        None
    }

    /// Only sent emails have events.
    fn has_event(&self, _event: Event, _tenant: &Tenant) -> bool {
        false
    }
}

impl Searchable for Mail {
    fn has_id(&self, id: Uuid) -> bool {
        self.id == id || self.email_id == id
    }

    fn timestamp(&self) -> Timestamp {
        self.captured_at
    }

    fn any_value(&self, field: Field, holds: &mut dyn FnMut(&str) -> bool) -> bool {
        match field {
            Field::From => holds(self.from()),
            Field::To => self.recipients().any(holds),
            Field::Cc => self.each_cc().any(holds),
            Field::Bcc => self.each_bcc().any(holds),
            Field::ReplyTo => self.each_reply_to().any(holds),
            // `Matcher` searches the fields that this stands for.
            Field::Addressed => false,
            Field::Subject => holds(self.subject()),
            Field::MessageId => holds(self.message_id()),
            Field::FileName => self.files().iter().any(|file| holds(&file.filename)),
            Field::Text => self.any_of_text(holds),
        }
    }

    fn tags(&self) -> &[Tag] {
        self.tags()
    }

    fn has_attachment(&self) -> bool {
        !self.files().is_empty()
    }

    fn is_unread(&self) -> bool {
        StoredMail::is_unread(self)
    }

    fn size(&self) -> Option<usize> {
        Some(self.size())
    }

    fn has_event(&self, event: Event, tenant: &Tenant) -> bool {
        let email = lock(&tenant.emails).get(self.email_id).cloned();
        email.is_some_and(|email| email.has_event(event))
    }
}

impl Searchable for Email {
    fn has_id(&self, id: Uuid) -> bool {
        self.id == id
    }

    fn timestamp(&self) -> Timestamp {
        self.created_at
    }

    fn any_value(&self, field: Field, holds: &mut dyn FnMut(&str) -> bool) -> bool {
        let cc = self.cc.iter().flatten();
        let bcc = self.bcc.iter().flatten();
        match field {
            Field::From => holds(&self.from),
            Field::To => self.to.iter().chain(cc).chain(bcc).any(|one| holds(one)),
            Field::Cc => { cc }.any(|one| holds(one)),
            Field::Bcc => { bcc }.any(|one| holds(one)),
            Field::ReplyTo => self.reply_to.iter().flatten().any(|one| holds(one)),
            Field::Addressed => false,
            Field::Subject => holds(&self.subject),
            Field::MessageId => holds(&self.message_id),
            Field::FileName => {
                self.waiting_attachments().is_some_and(|files| files.iter().any(|file| holds(&file.filename)))
            }
            Field::Text => self.bodies.any_of_text(holds),
        }
    }

    fn tags(&self) -> &[Tag] {
        &self.tags
    }

    fn has_attachment(&self) -> bool {
        self.waiting_attachments().is_some_and(|files| !files.is_empty())
    }

    fn has_event(&self, event: Event, _: &Tenant) -> bool {
        self.has_event(event)
    }
}

impl Searchable for Received {
    fn has_id(&self, id: Uuid) -> bool {
        self.id == id
    }

    fn timestamp(&self) -> Timestamp {
        self.created_at
    }

    fn any_value(&self, field: Field, holds: &mut dyn FnMut(&str) -> bool) -> bool {
        match field {
            Field::From => holds(&self.sender()),
            Field::To => {
                let named = self.to.iter().chain(&self.cc).chain(&self.bcc);
                named.chain(&self.recipients).any(|one| holds(one))
            }
            Field::Cc => self.cc.iter().any(|one| holds(one)),
            Field::Bcc => self.bcc.iter().any(|one| holds(one)),
            Field::ReplyTo => self.reply_to.iter().any(|one| holds(one)),
            Field::Addressed => false,
            Field::Subject => holds(&self.subject),
            Field::MessageId => holds(&self.message_id),
            Field::FileName => self.attachments.iter().any(|file| holds(&file.filename)),
            Field::Text => match (&self.text, &self.html) {
                (Some(text), _) => holds(search_prefix(text)),
                (None, Some(html)) => any_of_html(html, holds),
                (None, None) => false,
            },
        }
    }

    fn has_attachment(&self) -> bool {
        !self.attachments.is_empty()
    }

    fn is_unread(&self) -> bool {
        StoredMail::is_unread(self)
    }

    fn size(&self) -> Option<usize> {
        Some(self.raw.len())
    }
}
