//! The operations on custom events.

use super::{
    new::{EventOccurrence, NewEvent},
    patch::EventPatch,
    record::{Event, SentEvent},
};
use crate::{
    call::Call,
    client::List,
    resources::shared::{Deleted, Reference},
    types::EventId,
};

operations! {
    /// The operations on custom events: [`Client::events`](crate::Client::events).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::events::{EventOccurrence, EventPatch, NewEvent, PayloadType};
    ///
    /// client.events().create(&NewEvent::new("user.created").field("plan", PayloadType::String)).await?;
    /// client.events().update("user.created", &EventPatch::schema([("plan", PayloadType::String)])).await?;
    /// println!("{:?}", client.events().get("user.created").await?.schema);
    ///
    /// let signed_up = EventOccurrence::for_email("user.created", "ada@example.com").field("plan", "pro");
    /// client.events().send(&signed_up).await?;
    ///
    /// println!("{} events", client.events().list().await?.data.len());
    /// client.events().delete("user.created").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct Events;

    /// Returns the operations on custom events.
    accessor events;

    /// Creates a custom event: `POST /events`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewEvent::check`] finds, before anything is sent.
    fn create() with (event: &NewEvent) -> Call<Reference<EventId>> = POST["/events"];

    /// Lists custom events, newest first: `GET /events`. Awaited without a page size, it returns all of them.
    fn list() -> List<Event> = GET["/events"];

    /// Gets a custom event by ID or name: `GET /events/{id_or_name}`.
    fn get(id_or_name: EventId) -> Call<Event> = GET["/events/" id_or_name];

    /// Updates the schema of a custom event by ID or name: `PATCH /events/{id_or_name}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventPatch::check`] finds, before anything is sent.
    fn update(id_or_name: EventId) with (patch: &EventPatch) -> Call<Reference<EventId>> = PATCH["/events/" id_or_name];

    /// Deletes a custom event by ID or name: `DELETE /events/{id_or_name}`.
    fn delete(id_or_name: EventId) -> Call<Deleted<EventId>> = DELETE["/events/" id_or_name];

    /// Sends a custom event: `POST /events/send`. It starts a run of each enabled automation with a matching trigger.
    ///
    /// The specification defines no idempotency key here, so the client doesn't retry it if its outcome is unknown: the runs could start twice.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventOccurrence::check`] finds, before anything is sent.
    fn send() with (event: &EventOccurrence) -> Call<SentEvent> = POST["/events/send"];
}
