//! The operations on custom events.

use http::Method;

use super::{
    new::{EventOccurrence, NewEvent},
    patch::EventPatch,
    record::{Event, SentEvent},
};
use crate::{
    call::{Call, Operation},
    client::{Client, List},
    resources::shared::{Deleted, Reference},
    types::EventId,
};

/// The operations on custom events: [`Client::events`].
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
/// println!("{} kinds of events", client.events().list().await?.data.len());
/// client.events().delete("user.created").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Events<'a> {
    client: &'a Client,
}

impl Client {
    /// Returns the operations on custom events.
    pub fn events(&self) -> Events<'_> {
        Events { client: self }
    }
}

impl Events<'_> {
    /// Defines a kind of event: `POST /events`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewEvent::check`] finds; nothing is sent then.
    pub fn create(&self, event: &NewEvent) -> Call<Reference<EventId>> {
        let operation =
            Operation::new("events.create", Method::POST, "/events").validated(event).with_json(event);
        Call::new(&self.client.core, operation)
    }

    /// The kinds of event, newest first: `GET /events`, all of them unless a limit is given.
    pub fn list(&self) -> List<Event> {
        List::new(self.client, Operation::get("events.list", "/events"))
    }

    /// One kind of event, by its id or its name: `GET /events/{identifier}`.
    pub fn get(&self, identifier: impl AsRef<str>) -> Call<Event> {
        Call::new(&self.client.core, on("events.get", Method::GET, identifier.as_ref()))
    }

    /// Changes the schema of an event: `PATCH /events/{identifier}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventPatch::check`] finds; nothing is sent then.
    pub fn update(&self, identifier: impl AsRef<str>, patch: &EventPatch) -> Call<Reference<EventId>> {
        let operation =
            on("events.update", Method::PATCH, identifier.as_ref()).validated(patch).with_json(patch);
        Call::new(&self.client.core, operation)
    }

    /// Deletes a kind of event: `DELETE /events/{identifier}`.
    pub fn delete(&self, identifier: impl AsRef<str>) -> Call<Deleted<EventId>> {
        Call::new(&self.client.core, on("events.delete", Method::DELETE, identifier.as_ref()))
    }

    /// Sends an event: `POST /events/send`. Every enabled automation that it triggers starts a run.
    ///
    /// The specification has no idempotency key here, so a request whose outcome is unknown is never repeated: the runs would start
    /// twice.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventOccurrence::check`] finds; nothing is sent then.
    pub fn send(&self, event: &EventOccurrence) -> Call<SentEvent> {
        let operation =
            Operation::new("events.send", Method::POST, "/events/send").validated(event).with_json(event);
        Call::new(&self.client.core, operation)
    }
}

fn on(name: &'static str, method: Method, identifier: &str) -> Operation {
    Operation::on(name, method, "/events/", identifier, "")
}
