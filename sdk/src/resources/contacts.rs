//! Contacts: the people whom broadcasts go to, and the segments they are in.
//!
//! A path names a contact by its id or by its address ([`ContactRef`]).

mod new;
mod patch;
mod property;
mod record;
mod reference;
mod topics;

pub use new::NewContact;
pub use patch::ContactPatch;
pub use property::PropertyValue;
pub use record::{Contact, ContactSummary, DeletedContact, HeldProperty, Membership};
pub use reference::ContactRef;
pub use topics::{TopicSubscription, TopicsUpdated};

use http::Method;

use super::{Reference, segments::Segment};
use crate::{
    call::{Call, Operation},
    client::{Client, List},
    types::{ContactId, SegmentId},
};

/// The operations on contacts: [`Client::contacts`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// let newest = client.contacts().list().limit(10).await?;
/// println!("{} contacts, more: {}", newest.data.len(), newest.has_more);
/// let readers = "78261eea-8f8b-4381-83c6-79fa7120f1cf";
/// client.contacts().add_to_segment("ada@example.com", readers).await?;
/// client.contacts().delete("bob@example.com").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Contacts<'a> {
    client: &'a Client,
}

impl Client {
    /// Contacts, and the segments they are in.
    pub fn contacts(&self) -> Contacts<'_> {
        Contacts { client: self }
    }
}

impl Contacts<'_> {
    /// Creates a contact: `POST /contacts`.
    ///
    /// The specification is silent on an address that a contact has already. The sandbox writes what is given over that contact and answers
    /// its id; a service may also refuse it with 409. Either way an address names one contact, so the call is tried again when its outcome is
    /// unknown.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewContact::check`] finds, before anything is sent.
    pub fn create(&self, contact: &NewContact) -> Call<Reference<ContactId>> {
        let operation = Operation::new("contacts.create", Method::POST, "/contacts")
            .validated(contact)
            .with_json(contact)
            .repeatable();
        Call::new(&self.client.core, operation)
    }

    /// All contacts, newest first: `GET /contacts`, all of them on one page unless a limit is given.
    pub fn list(&self) -> List<ContactSummary> {
        List::new(self.client, Operation::get("contacts.list", "/contacts"))
    }

    /// The contacts of one segment, as a filter of the list of all: `GET /contacts?segment_id=…`.
    ///
    /// [`Segments::contacts`](super::segments::Segments::contacts) asks the segment itself.
    pub fn list_of_segment(&self, segment: impl Into<SegmentId>) -> List<ContactSummary> {
        self.list().with_query("segment_id", segment.into())
    }

    /// One contact with its properties: `GET /contacts/{id_or_email}`.
    pub fn get(&self, contact: impl Into<ContactRef>) -> Call<Contact> {
        Call::new(&self.client.core, on("contacts.get", Method::GET, &contact.into(), ""))
    }

    /// Changes a contact: `PATCH /contacts/{id_or_email}`. Properties that the patch does not name stay.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`ContactPatch::check`] finds, before anything is sent.
    pub fn update(&self, contact: impl Into<ContactRef>, patch: &ContactPatch) -> Call<Reference<ContactId>> {
        let operation =
            on("contacts.update", Method::PATCH, &contact.into(), "").validated(patch).with_json(patch);
        Call::new(&self.client.core, operation)
    }

    /// Deletes a contact, and with it its memberships and its choices: `DELETE /contacts/{id_or_email}`.
    pub fn delete(&self, contact: impl Into<ContactRef>) -> Call<DeletedContact> {
        Call::new(&self.client.core, on("contacts.delete", Method::DELETE, &contact.into(), ""))
    }

    /// The segments that a contact is in: `GET /contacts/{id_or_email}/segments`, all of them on one page unless a limit is given.
    ///
    /// [`Segment::created_at`] is when the segment was made. (Some descriptions of this format say: when the contact joined it. The
    /// specification calls the items segment items, and that is how the sandbox reads it.)
    pub fn segments(&self, contact: impl Into<ContactRef>) -> List<Segment> {
        List::new(self.client, on("contacts.segments", Method::GET, &contact.into(), "/segments"))
    }

    /// Puts a contact into a segment: `POST /contacts/{id_or_email}/segments/{segment_id}`. Who is in it already stays in it.
    pub fn add_to_segment(
        &self,
        contact: impl Into<ContactRef>,
        segment: impl Into<SegmentId>,
    ) -> Call<Membership> {
        let name = "contacts.add_to_segment";
        Call::new(&self.client.core, inner(name, Method::POST, &contact.into(), &segment.into()).repeatable())
    }

    /// Takes a contact out of a segment: `DELETE /contacts/{id_or_email}/segments/{segment_id}`. The contact itself stays.
    pub fn remove_from_segment(
        &self,
        contact: impl Into<ContactRef>,
        segment: impl Into<SegmentId>,
    ) -> Call<Membership> {
        let name = "contacts.remove_from_segment";
        Call::new(&self.client.core, inner(name, Method::DELETE, &contact.into(), &segment.into()))
    }
}

fn on(name: &'static str, method: Method, contact: &ContactRef, after: &'static str) -> Operation {
    Operation::on(name, method, "/contacts/", contact.as_str(), after)
}

fn inner(name: &'static str, method: Method, contact: &ContactRef, segment: &SegmentId) -> Operation {
    Operation::on_inner(name, method, ("/contacts/", contact.as_str()), ("/segments/", segment.as_str()), "")
}
