//! The operations on broadcasts.

use http::Method;

use super::{
    new::NewBroadcast,
    patch::BroadcastPatch,
    recipients::{BroadcastRecipient, ClickedLink, RecipientType},
    record::{Broadcast, BroadcastStatus, BroadcastSummary},
};
use crate::{
    call::{Call, Operation},
    client::{List, State, Wait},
    resources::shared::{Deleted, Reference, Schedule},
    types::{BroadcastId, ScheduledAt},
};

operations! {
    /// The operations on broadcasts: [`Client::broadcasts`](crate::Client::broadcasts).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::broadcasts::{BroadcastPatch, NewBroadcast};
    ///
    /// let draft = NewBroadcast::new("78261eea-8f8b-4381-83c6-79fa7120f1cf", "news@acme.test", "Your week").text("Hello");
    /// let id = client.broadcasts().create(&draft).await?.id;
    /// client.broadcasts().update(&id, &BroadcastPatch::new().subject("Your week, corrected")).await?;
    ///
    /// // Schedule it, cancel it, send it immediately.
    /// client.broadcasts().send_at(&id, "in 1 hour").await?;
    /// client.broadcasts().cancel(&id).await?;
    /// client.broadcasts().send(&id).await?;
    /// let sent = client.broadcasts().wait(&id).await?;
    /// println!("{:?} at {:?}", sent.status, sent.sent_at);
    ///
    /// // Duplicate it; delete the draft.
    /// let copy = client.broadcasts().duplicate(&id).await?.id;
    /// println!("{:?}", client.broadcasts().get(&copy).await?.subject);
    /// client.broadcasts().delete(&copy).await?;
    /// for broadcast in client.broadcasts().list().await?.data {
    ///     println!("{} is {:?}", broadcast.id, broadcast.status);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct Broadcasts;

    /// Returns the operations on broadcasts.
    accessor broadcasts;

    /// Creates a broadcast: `POST /broadcasts`. It stays a draft unless it is sent [immediately](NewBroadcast::send_now) or
    /// [scheduled](NewBroadcast::send_at).
    ///
    /// Broadcasts have no idempotency key, so the client doesn't retry a create with an unknown outcome: check with [`list`](Self::list) whether the
    /// broadcast exists.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewBroadcast::check`] finds, before anything is sent.
    fn create() with (broadcast: &NewBroadcast) -> Call<Reference<BroadcastId>> = POST["/broadcasts"];

    /// Lists broadcasts, newest first: `GET /broadcasts`. Awaited without a page size, it returns all of them.
    fn list() -> List<BroadcastSummary> = GET["/broadcasts"];

    /// Gets a broadcast with its content: `GET /broadcasts/{id}`.
    fn get(id: BroadcastId) -> Call<Broadcast> = GET["/broadcasts/" id];

    /// Updates a broadcast that has not been sent: `PATCH /broadcasts/{id}`. A scheduled broadcast stays scheduled.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`BroadcastPatch::check`] finds, before anything is sent.
    fn update(id: BroadcastId) with (patch: &BroadcastPatch) -> Call<Reference<BroadcastId>> = PATCH["/broadcasts/" id];

    /// Sends a draft immediately: `POST /broadcasts/{id}/send`. The scope `emails:send` is sufficient. The service rejects a draft without a body
    /// with 422 `missing_required_field`.
    ///
    /// It has no idempotency key, so the client doesn't retry it if its outcome is unknown: check the status with [`get`](Self::get) first.
    fn send(id: BroadcastId) -> Call<Reference<BroadcastId>> = POST["/broadcasts/" id "/send"];

    /// Cancels a broadcast that hasn't been completely sent: `POST /broadcasts/{id}/cancel`. A scheduled broadcast becomes a draft again, and a
    /// queued one is canceled; for any other status, the service rejects the request. (The specification doesn't define this operation.)
    fn cancel(id: BroadcastId) -> Call<Reference<BroadcastId>> = POST["/broadcasts/" id "/cancel"];

    /// Creates a draft with the same content: `POST /broadcasts/{id}/duplicate`. The response contains the new broadcast's ID. (The specification
    /// doesn't define this operation.)
    fn duplicate(id: BroadcastId) -> Call<Reference<BroadcastId>> = POST["/broadcasts/" id "/duplicate"];

    /// Lists a broadcast's clicked links, most clicked first: `GET /broadcasts/{id}/clicked-links`, 20 per page by default.
    fn clicked_links(id: BroadcastId) -> List<ClickedLink> = GET["/broadcasts/" id "/clicked-links"];

    /// Deletes a broadcast that has not been sent, including its schedule: `DELETE /broadcasts/{id}`.
    fn delete(id: BroadcastId) -> Call<Deleted<BroadcastId>> = DELETE["/broadcasts/" id];

    /// Schedules a draft ([`send`](Self::send) with `scheduled_at`) for a point in time, ISO 8601 text, or natural language such as `in 1 hour`.
    /// Text is sent unchanged.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if `when` is empty.
    fn send_at(id: BroadcastId, when: ScheduledAt) with input (Schedule::new(when)) -> Call<Reference<BroadcastId>>
        = POST["/broadcasts/" id "/send"];
}

impl Broadcasts<'_> {
    /// Lists the recipients of a broadcast with this type of event: `GET /broadcasts/{id}/recipients`, 20 per page by default.
    /// [`List::email`] and [`List::bounce_type`] filter them.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, id: &idempost::BroadcastId) -> idempost::Result<()> {
    /// use futures_util::TryStreamExt;
    /// use idempost::broadcasts::{BounceType, RecipientType};
    ///
    /// let bounced = client.broadcasts().recipients(id, RecipientType::Bounced).bounce_type(BounceType::Permanent);
    /// let mut bounced = bounced.stream();
    /// while let Some(recipient) = bounced.try_next().await? {
    ///     println!("{} bounced", recipient.email);
    /// }
    /// for link in client.broadcasts().clicked_links(id).await?.data {
    ///     println!("{}: {:?} clicks", link.url, link.clicks);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "a type is named where it is given")]
    pub fn recipients(
        &self,
        id: impl Into<BroadcastId>,
        happened: RecipientType,
    ) -> List<BroadcastRecipient> {
        let operation = Operation::new("broadcasts.recipients", Method::GET, "/broadcasts/")
            .with_id(id.into().as_str(), "/recipients");
        List::new(self.client, operation.with_query("type", happened.as_str()))
    }

    /// Waits until a broadcast is sent or canceled: [`BroadcastStatus::Sent`], [`BroadcastStatus::Canceled`].
    ///
    /// It also waits for a draft, which may still be sent.
    pub fn wait(&self, id: impl Into<BroadcastId>) -> Wait<Broadcast> {
        Wait::new(self.get(id), |broadcast| {
            State::from_status(broadcast.status.as_ref(), |status| {
                matches!(status, BroadcastStatus::Sent | BroadcastStatus::Canceled)
            })
        })
    }
}
