//! The operations on contacts.

use http::Method;

use super::{
    new::NewContact,
    patch::ContactPatch,
    record::{DeletedContact, Membership, TopicSubscription, UpdatedTopics},
    reference::ContactRef,
};
use crate::{
    call::{Call, Operation},
    client::List,
    problem::{Problems, Validate, Validator},
    resources::shared::{Choice, Contact, ContactSummary, Reference, Segment, Subscription},
    types::{ContactId, SegmentId, TopicId},
};

operations! {
    /// The operations on contacts: [`Client::contacts`](crate::Client::contacts).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let newest = client.contacts().list().page_size(10).await?;
    /// println!("{} contacts, more: {}", newest.data.len(), newest.has_more);
    /// let readers = "78261eea-8f8b-4381-83c6-79fa7120f1cf";
    /// client.contacts().add_to_segment("ada@example.com", readers).await?;
    /// client.contacts().delete("bob@example.com").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct Contacts;

    /// Returns the operations on contacts.
    accessor contacts;

    /// Creates a contact: `POST /contacts`.
    ///
    /// The specification doesn't say what happens if another contact already has the address. The sandbox updates that contact and returns its ID; a
    /// service may also respond with 409. Either way, an address identifies one contact, so the client retries if the outcome is unknown.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewContact::check`] finds, before anything is sent.
    fn create() with (contact: &NewContact) -> Call<Reference<ContactId>> = POST["/contacts"].idempotent();

    /// Lists contacts, newest first: `GET /contacts`. Awaited without a page size, it returns all of them.
    /// [`List::segment_id`] filters it.
    fn list() -> List<ContactSummary> = GET["/contacts"];

    /// Gets a contact with its properties: `GET /contacts/{id_or_email}`.
    fn get(contact: ContactRef) -> Call<Contact> = GET["/contacts/" contact];

    /// Updates a contact: `PATCH /contacts/{id_or_email}`. Properties that aren't set are left unchanged.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`ContactPatch::check`] finds, before anything is sent.
    fn update(contact: ContactRef) with (patch: &ContactPatch) -> Call<Reference<ContactId>>
        = PATCH["/contacts/" contact];

    /// Deletes a contact with its memberships and subscriptions: `DELETE /contacts/{id_or_email}`.
    fn delete(contact: ContactRef) -> Call<DeletedContact> = DELETE["/contacts/" contact];

    /// Lists the segments of a contact: `GET /contacts/{id_or_email}/segments`. Awaited without a page size, it returns all of them.
    ///
    /// [`Segment::created_at`] is when the segment was created. (Some descriptions of this API define it as when the contact was added. The
    /// specification calls the items segment items, and the sandbox follows that.)
    fn segments(contact: ContactRef) -> List<Segment> = GET["/contacts/" contact "/segments"];

    /// Adds a contact to a segment: `POST /contacts/{id_or_email}/segments/{segment_id}`. It is idempotent.
    fn add_to_segment(contact: ContactRef, segment: SegmentId) -> Call<Membership>
        = POST["/contacts/" contact "/segments/" segment].idempotent();

    /// Removes a contact from a segment: `DELETE /contacts/{id_or_email}/segments/{segment_id}`. The contact itself isn't deleted.
    fn remove_from_segment(contact: ContactRef, segment: SegmentId) -> Call<Membership>
        = DELETE["/contacts/" contact "/segments/" segment];

    /// Lists a contact's subscription to each topic: `GET /contacts/{id_or_email}/topics`. Awaited without a page size, it returns all of them.
    ///
    /// Topics without an explicit subscription are listed with their default. (The specification doesn't mention them.)
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// for topic in client.contacts().topics("ada@example.com").await?.data {
    ///     println!("{}: {:?}", topic.name, topic.subscription);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    fn topics(contact: ContactRef) -> List<TopicSubscription> = GET["/contacts/" contact "/topics"];
}

impl Contacts<'_> {
    /// Updates a contact's topic subscriptions: `PATCH /contacts/{id_or_email}/topics`. Other subscriptions are left unchanged; if a topic occurs
    /// several times, the last occurrence applies.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::topics::Subscription;
    ///
    /// let choices = [("b6d24b8e-af0b-4c3c-be0c-359bbd97381e", Subscription::OptOut)];
    /// client.contacts().update_topics("ada@example.com", choices).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The body is a bare array, as sent by other clients of this API.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if an ID is empty or a subscription is unknown, before anything is sent.
    pub fn update_topics<T: Into<TopicId>>(
        &self,
        contact: impl Into<ContactRef>,
        choices: impl IntoIterator<Item = (T, Subscription)>,
    ) -> Call<UpdatedTopics> {
        let choices: Vec<_> =
            choices.into_iter().map(|(id, subscription)| Choice { id: id.into(), subscription }).collect();
        let operation = Operation::new("contacts.update_topics", Method::PATCH, "/contacts/")
            .with_id(contact.into().as_str(), "/topics");
        Call::new(&self.client.core, operation.validate(choices.as_slice()).with_json(&choices))
    }
}

filters! {
    /// Filters for [`Contacts::list`].
    ContactSummary {
        /// Restricts the list to the contacts of a segment: `GET /contacts?segment_id=…`.
        ///
        /// [`Segments::contacts`](crate::resources::segments::Segments::contacts) lists them using the segment's own path.
        segment_id: SegmentId;
    }
}

impl Validate for [Choice] {
    fn check(&self) -> Result<(), Problems> {
        Validator::run(|v| {
            for (i, choice) in self.iter().enumerate() {
                v.item(i, |v| choice.validate(v));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::codes;

    #[test]
    fn all_problems_of_topic_choices_are_reported_at_once() {
        let choice =
            |id: &str, subscription: &str| Choice { id: id.into(), subscription: subscription.into() };
        let choices = [choice("t1", "opt_in"), choice("", "opt_out"), choice("t3", "maybe")];
        assert_eq!(codes(choices.as_slice().check()), "empty /1/id, type /2/subscription");
    }
}
