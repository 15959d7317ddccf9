//! Changes of contacts, with the `contact.…` events of webhooks. Every change of a single contact is made here; deleting a segment or topic
//! sends no events for its contacts.

use std::cell::Cell;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::delivery::webhooks::{notify, payload};
use crate::model::contact::{Contact, blank};
use crate::state::State;
use crate::state::tenant::Tenant;
use crate::wire::problem::Problem;

/// Changes a tenant's contacts and notifies its webhooks.
#[derive(Clone, Copy)]
pub(crate) struct ContactService<'a> {
    pub(crate) state: &'a State,
    pub(crate) tenant: &'a Arc<Tenant>,
    pub(crate) at: Timestamp,
}

impl ContactService<'_> {
    /// Creates or updates the contact with this address. Returns its ID.
    pub(crate) fn put(self, address: &str, write: impl FnOnce(&mut Contact)) -> Result<Uuid, Problem> {
        let made = Cell::new(false);
        let mut known = None;
        let new = || {
            made.set(true);
            let id = self.state.next_id();
            (id, blank(id, address.to_owned(), self.at))
        };
        let id = self.tenant.contacts.put(address, new, |contact| {
            known = Some(contact.clone());
            write(contact);
            self.date(contact, known.as_ref());
        })?;
        if made.get() {
            self.tell_of("contact.created", id);
            self.tell_of_topics(id, |contact| !contact.topics.is_empty());
        } else if let Some(known) = known {
            self.tell_what_changed(id, &known);
        }
        Ok(id)
    }

    /// Updates a contact, unless the new address belongs to another. Returns `None` if there is no such contact.
    pub(crate) fn change<R>(
        self,
        id: Uuid,
        change: impl FnOnce(&mut Contact) -> R,
    ) -> Option<Result<R, Problem>> {
        let mut known = None;
        let made = self.tenant.contacts.try_change(id, |contact| {
            known = Some(contact.clone());
            let made = change(contact);
            self.date(contact, known.as_ref());
            Ok(made)
        })?;
        if let (Ok(_), Some(known)) = (&made, known) {
            self.tell_what_changed(id, &known);
        }
        Some(made)
    }

    /// Deletes a contact.
    pub(crate) fn remove(self, id: Uuid) -> Option<Arc<Contact>> {
        let contact = self.tenant.contacts.remove(id)?;
        self.tell_with("contact.deleted", &contact);
        Some(contact)
    }

    fn date(self, contact: &mut Contact, known: Option<&Contact>) {
        if known.is_some_and(|known| known != contact) {
            contact.updated_at = self.at;
        }
    }

    fn tell_what_changed(self, id: Uuid, known: &Contact) {
        let Some(contact) = self.tenant.contacts.get(id) else { return };
        let like_known = Contact {
            topics: known.topics.clone(),
            updated_at: known.updated_at,
            ..Contact::clone(&contact)
        };
        if like_known != *known {
            self.tell_of("contact.updated", id);
        }
        self.tell_of_topics(id, |contact| contact.topics != known.topics);
    }

    fn tell_of(self, kind: &'static str, id: Uuid) {
        if let Some(contact) = self.tenant.contacts.get(id) {
            self.tell_with(kind, &contact);
        }
    }

    fn tell_with(self, kind: &'static str, contact: &Contact) {
        let data = || payload::contact(contact, self.tenant.default_audience());
        notify(self.state, self.tenant, self.at, kind, None, data);
    }

    fn tell_of_topics(self, id: Uuid, changed: impl FnOnce(&Contact) -> bool) {
        if let Some(contact) = self.tenant.contacts.get(id).filter(|contact| changed(contact)) {
            let kind = "contact.topics.updated";
            notify(self.state, self.tenant, self.at, kind, None, || payload::contact_topics(&contact));
        }
    }
}
