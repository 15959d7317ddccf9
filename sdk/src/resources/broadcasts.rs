//! Broadcasts: one email for all contacts of a segment, sent at once or later.

mod new;
mod patch;
mod record;

pub use new::NewBroadcast;
pub use patch::BroadcastPatch;
pub use record::{Broadcast, BroadcastStatus, BroadcastSummary};

use http::Method;

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, List, State, Wait},
    resources::shared::Schedule,
    types::{BroadcastId, ScheduledAt},
};

/// The operations on broadcasts: [`Client::broadcasts`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::{BroadcastPatch, NewBroadcast};
///
/// let draft = NewBroadcast::new("78261eea-8f8b-4381-83c6-79fa7120f1cf", "news@acme.test", "Your week").text("Hello");
/// let id = client.broadcasts().create(&draft).await?.id;
/// client.broadcasts().update(&id, &BroadcastPatch::new().subject("Your week, corrected")).await?;
///
/// // Later, and then not, and then at once.
/// client.broadcasts().send_at(&id, "in 1 hour").await?;
/// client.broadcasts().cancel(&id).await?;
/// client.broadcasts().send(&id).await?;
/// let sent = client.broadcasts().wait(&id).await?;
/// println!("{:?} at {:?}", sent.status, sent.sent_at);
///
/// // The next one begins as a copy of it; a draft can be thrown away.
/// let copy = client.broadcasts().duplicate(&id).await?.id;
/// println!("{:?}", client.broadcasts().get(&copy).await?.subject);
/// client.broadcasts().delete(&copy).await?;
/// for broadcast in client.broadcasts().list().await?.data {
///     println!("{} is {:?}", broadcast.id, broadcast.status);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Broadcasts<'a> {
    client: &'a Client,
}

impl Client {
    /// Broadcasts: one email for all contacts of a segment.
    pub fn broadcasts(&self) -> Broadcasts<'_> {
        Broadcasts { client: self }
    }
}

impl Broadcasts<'_> {
    /// Creates a broadcast: `POST /broadcasts`. It stays a draft, unless it is to be sent
    /// [at once](NewBroadcast::send_now) or [later](NewBroadcast::send_at).
    ///
    /// A broadcast has no idempotency key, so it is not tried again when its outcome is unknown: look for it with
    /// [`list`](Self::list).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewBroadcast::check`] finds, before anything is sent.
    pub fn create(&self, broadcast: &NewBroadcast) -> Call<Reference<BroadcastId>> {
        let operation = Operation::new("broadcasts.create", Method::POST, "/broadcasts")
            .validated(broadcast)
            .with_json(broadcast);
        Call::new(&self.client.core, operation)
    }

    /// The broadcasts, newest first: `GET /broadcasts`, all of them on one page unless a limit is given.
    pub fn list(&self) -> List<BroadcastSummary> {
        List::new(self.client, Operation::get("broadcasts.list", "/broadcasts"))
    }

    /// One broadcast with its content: `GET /broadcasts/{id}`.
    pub fn get(&self, id: impl Into<BroadcastId>) -> Call<Broadcast> {
        Call::new(&self.client.core, on("broadcasts.get", Method::GET, &id.into(), ""))
    }

    /// Changes a broadcast that has not been sent: `PATCH /broadcasts/{id}`. One that is scheduled stays scheduled.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`BroadcastPatch::check`] finds, before anything is sent.
    pub fn update(&self, id: impl Into<BroadcastId>, patch: &BroadcastPatch) -> Call<Reference<BroadcastId>> {
        let operation =
            on("broadcasts.update", Method::PATCH, &id.into(), "").validated(patch).with_json(patch);
        Call::new(&self.client.core, operation)
    }

    /// Sends a draft at once: `POST /broadcasts/{id}/send`. The scope `emails:send` is enough.
    ///
    /// It is not tried again when its outcome is unknown, since the service has no key for it: look with [`get`](Self::get) first.
    pub fn send(&self, id: impl Into<BroadcastId>) -> Call<Reference<BroadcastId>> {
        Call::new(&self.client.core, on("broadcasts.send", Method::POST, &id.into(), "/send"))
    }

    /// Sends a draft later: [`send`](Self::send) at a moment, or at a time in words such as `in 1 hour`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if `when` is blank.
    pub fn send_at(
        &self,
        id: impl Into<BroadcastId>,
        when: impl Into<ScheduledAt>,
    ) -> Call<Reference<BroadcastId>> {
        let schedule = Schedule::at(when);
        let operation = on("broadcasts.send_at", Method::POST, &id.into(), "/send")
            .validated(&schedule)
            .with_json(&schedule);
        Call::new(&self.client.core, operation)
    }

    /// Takes back what has not gone out: `POST /broadcasts/{id}/cancel`. A scheduled broadcast becomes a draft again, a queued one is
    /// canceled for good; any other is refused. (The specification is silent on this operation.)
    pub fn cancel(&self, id: impl Into<BroadcastId>) -> Call<Reference<BroadcastId>> {
        Call::new(&self.client.core, on("broadcasts.cancel", Method::POST, &id.into(), "/cancel"))
    }

    /// Makes a draft of the same content: `POST /broadcasts/{id}/duplicate`; it answers the new one's id. (The specification is silent on
    /// this operation.)
    pub fn duplicate(&self, id: impl Into<BroadcastId>) -> Call<Reference<BroadcastId>> {
        Call::new(&self.client.core, on("broadcasts.duplicate", Method::POST, &id.into(), "/duplicate"))
    }

    /// Deletes a broadcast that has not been sent, and with it its schedule: `DELETE /broadcasts/{id}`.
    pub fn delete(&self, id: impl Into<BroadcastId>) -> Call<Deleted<BroadcastId>> {
        Call::new(&self.client.core, on("broadcasts.delete", Method::DELETE, &id.into(), ""))
    }

    /// Waits until a broadcast is sent, or canceled: [`BroadcastStatus::Sent`], [`BroadcastStatus::Canceled`].
    ///
    /// A draft is waited for too: somebody may send it yet.
    pub fn wait(&self, id: impl Into<BroadcastId>) -> Wait<Broadcast> {
        let (client, id) = (self.client.clone(), id.into());
        Wait::new(
            move || client.broadcasts().get(&id),
            |broadcast| match &broadcast.status {
                Some(BroadcastStatus::Sent | BroadcastStatus::Canceled) => State::Settled,
                status => State::Open(status.as_ref().map(ToString::to_string)),
            },
        )
    }
}

fn on(name: &'static str, method: Method, id: &BroadcastId, after: &'static str) -> Operation {
    Operation::on(name, method, "/broadcasts/", id.as_str(), after)
}
