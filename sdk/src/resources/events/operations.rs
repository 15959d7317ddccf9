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
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// use posthaste::{EventOccurrence, EventPatch, NewEvent, PayloadType};
    ///
    /// client.events().create(&NewEvent::new("user.created").field("plan", PayloadType::String)).await?;
    /// client.events().update("user.created", &EventPatch::schema([("plan", PayloadType::String)])).await?;
    /// println!("{:?}", client.events().get("user.created").await?.schema);
    ///
    /// let signed_up = EventOccurrence::of_email("user.created", "ada@example.com").with("plan", "pro");
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

    /// Defines an event: `POST /events`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewEvent::check`] finds, before anything is sent.
    fn create() with (event: &NewEvent) -> Call<Reference<EventId>> = POST["/events"];

    /// Lists events, newest first: `GET /events`, all of them unless a limit is given.
    fn list() -> List<Event> = GET["/events"];

    /// Gets an event by ID or name: `GET /events/{id_or_name}`.
    fn get(id_or_name: EventId) -> Call<Event> = GET["/events/" id_or_name];

    /// Updates the schema of an event by ID or name: `PATCH /events/{id_or_name}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventPatch::check`] finds, before anything is sent.
    fn update(id_or_name: EventId) with (patch: &EventPatch) -> Call<Reference<EventId>> = PATCH["/events/" id_or_name];

    /// Deletes an event by ID or name: `DELETE /events/{id_or_name}`.
    fn delete(id_or_name: EventId) -> Call<Deleted<EventId>> = DELETE["/events/" id_or_name];

    /// Sends an event: `POST /events/send`. Each enabled automation that it triggers starts a run.
    ///
    /// The specification has no idempotency key here, so the client never retries a request whose outcome is unknown: the runs would start
    /// twice.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventOccurrence::check`] finds, before anything is sent.
    fn send() with (event: &EventOccurrence) -> Call<SentEvent> = POST["/events/send"];
}
