//! Changes to contacts, with the `contact.…` events of webhooks. Every change to a single contact is made here; deleting a segment or topic
//! sends no events for its contacts.

use std::sync::Arc;

use uuid::Uuid;

use crate::delivery::webhooks::{notify, payload};
use crate::model::automation::run;
use crate::model::contact::{Contact, new_contact};
use crate::state::moment::Moment;
use crate::wire::Problem;

/// The effect of an import row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEffect {
    Created,
    Updated,
    Skipped,
}

impl Moment<'_> {
    /// Creates or updates the contact with this address. Returns its ID.
    pub fn upsert_contact(self, address: &str, write: impl FnOnce(&mut Contact)) -> Result<Uuid, Problem> {
        let (id, (known, is_new)) =
            self.tenant.contacts.upsert(address, self.blank(address), |contact, is_new| {
                (self.write_contact(contact, write).0, is_new)
            })?;
        if is_new {
            self.notify_of_contact("contact.created", id);
            self.notify_of_topics(id, |contact| !contact.topics.is_empty());
        } else {
            self.notify_of_contact_changes(id, &known);
        }
        Ok(id)
    }

    /// Creates the contact of a row of an import, or updates it if `overwrites`. No events are sent.
    pub fn import_contact(
        self,
        address: &str,
        overwrites: bool,
        write: impl FnOnce(&mut Contact),
    ) -> Result<RowEffect, Problem> {
        if !overwrites && self.tenant.contacts.find_by_key(address).is_some() {
            return Ok(RowEffect::Skipped);
        }
        let (_, effect) = self.tenant.contacts.upsert(address, self.blank(address), |contact, is_new| {
            // It may have been created in the meantime.
            if !is_new && !overwrites {
                return RowEffect::Skipped;
            }
            self.write_contact(contact, write);
            if is_new { RowEffect::Created } else { RowEffect::Updated }
        })?;
        Ok(effect)
    }

    /// A new contact with its ID.
    fn blank(self, address: &str) -> impl FnOnce() -> (Uuid, Contact) {
        move || {
            let id = self.state.next_id();
            (id, new_contact(id, address.to_owned(), self.at))
        }
    }

    /// Updates a contact, unless the new address belongs to another.
    pub fn change_contact<R>(self, id: Uuid, change: impl FnOnce(&mut Contact) -> R) -> Result<R, Problem> {
        let (known, changed) =
            self.tenant.contacts.update(id, |contact| self.write_contact(contact, change))?;
        self.notify_of_contact_changes(id, &known);
        Ok(changed)
    }

    /// Deletes a contact. The runs of automations that wait for an event of it fail.
    pub fn remove_contact(self, id: Uuid) -> Option<Arc<Contact>> {
        let contact = self.tenant.contacts.remove(id)?;
        for run in self.tenant.runs.members(&run::Group::Waits(id)) {
            self.tenant.runs.change(run.id, |run| run.fail_wait(run::CONTACT_DELETED, self.at));
        }
        self.notify_with_contact("contact.deleted", &contact);
        Some(contact)
    }

    /// Changes a contact and dates the change. Drops references to what was deleted after the change was checked: the deletion didn't reach this
    /// contact. Returns the contact as it was.
    fn write_contact<R>(self, contact: &mut Contact, write: impl FnOnce(&mut Contact) -> R) -> (Contact, R) {
        let known = contact.clone();
        let written = write(contact);
        contact.segments.retain(|id| self.tenant.segments.get(*id).is_some());
        contact.topics.retain(|id, _| self.tenant.topics.get(*id).is_some());
        contact.properties.retain(|key, _| self.tenant.contact_properties.find_by_key(key).is_some());
        if known != *contact {
            contact.updated_at = self.at;
        }
        (known, written)
    }

    fn notify_of_contact_changes(self, id: Uuid, known: &Contact) {
        let Some(contact) = self.tenant.contacts.get(id) else { return };
        let like_known = Contact {
            topics: known.topics.clone(),
            updated_at: known.updated_at,
            ..Contact::clone(&contact)
        };
        if like_known != *known {
            self.notify_of_contact("contact.updated", id);
        }
        self.notify_of_topics(id, |contact| contact.topics != known.topics);
    }

    fn notify_of_contact(self, kind: &'static str, id: Uuid) {
        if let Some(contact) = self.tenant.contacts.get(id) {
            self.notify_with_contact(kind, &contact);
        }
    }

    fn notify_with_contact(self, kind: &'static str, contact: &Contact) {
        let data = || payload::contact(contact, self.tenant.default_audience());
        notify(self, kind, None, data);
    }

    fn notify_of_topics(self, id: Uuid, changed: impl FnOnce(&Contact) -> bool) {
        if let Some(contact) = self.tenant.contacts.get(id).filter(|contact| changed(contact)) {
            let kind = "contact.topics.updated";
            notify(self, kind, None, || payload::contact_topics(&contact));
        }
    }
}
