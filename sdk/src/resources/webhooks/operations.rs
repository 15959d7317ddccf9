//! The operations on webhooks.

use super::{
    new::NewWebhook,
    patch::WebhookPatch,
    record::{CreatedWebhook, Webhook, WebhookAttempt, WebhookEvent, WebhookEventSummary, WebhookSummary},
};
use crate::{
    call::Call,
    client::List,
    resources::shared::{Deleted, Reference},
    types::{WebhookEventId, WebhookId},
};

operations! {
    /// The operations on webhooks: [`Client::webhooks`](crate::Client::webhooks).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::webhooks::{EventType, NewWebhook, WebhookPatch, WebhookStatus};
    ///
    /// let webhook = NewWebhook::new("https://acme.test/hook", [EventType::EmailBounced]);
    /// let created = client.webhooks().create(&webhook).await?;
    /// std::fs::write("secret", created.signing_secret.expose()).unwrap();
    /// client.webhooks().update(&created.id, &WebhookPatch::new().status(WebhookStatus::Disabled)).await?;
    /// client.webhooks().get(&created.id).await?;
    /// client.webhooks().list().await?;
    ///
    /// // Replay the events that no attempt could deliver.
    /// for event in client.webhooks().events(&created.id).await?.data {
    ///     println!("{} at {:?}", event.kind, event.created_at);
    ///     let attempts = client.webhooks().attempts(&created.id, &event.id).await?;
    ///     if attempts.data.iter().all(|attempt| attempt.http_status_code != Some(200)) {
    ///         println!("{:?}", client.webhooks().event(&created.id, &event.id).await?.payload);
    ///         client.webhooks().replay(&created.id, &event.id).await?;
    ///     }
    /// }
    ///
    /// // Rotate the secret; the previous one stays valid for 24 hours.
    /// let rotated = client.webhooks().rotate_secret(&created.id).await?;
    /// std::fs::write("secret", rotated.signing_secret.expose()).unwrap();
    /// client.webhooks().delete(&created.id).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct Webhooks;

    /// Returns the operations on webhooks.
    accessor webhooks;

    /// Creates a webhook: `POST /webhooks`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewWebhook::check`] finds, before anything is sent.
    fn create() with (webhook: &NewWebhook) -> Call<CreatedWebhook> = POST["/webhooks"];

    /// Lists webhooks, newest first: `GET /webhooks`. Awaited without a page size, it returns all of them.
    fn list() -> List<WebhookSummary> = GET["/webhooks"];

    /// Gets a webhook with its signing secret: `GET /webhooks/{webhook_id}`.
    fn get(id: WebhookId) -> Call<Webhook> = GET["/webhooks/" id];

    /// Updates a webhook: `PATCH /webhooks/{webhook_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`WebhookPatch::check`] finds, before anything is sent.
    fn update(id: WebhookId) with (patch: &WebhookPatch) -> Call<Reference<WebhookId>> = PATCH["/webhooks/" id];

    /// Deletes a webhook: `DELETE /webhooks/{webhook_id}`.
    fn delete(id: WebhookId) -> Call<Deleted<WebhookId>> = DELETE["/webhooks/" id];

    /// Lists the events of a webhook, newest first: `GET /webhooks/{webhook_id}/events`. Only [`after`](List::after) is supported as a
    /// cursor, not `before`.
    fn events(id: WebhookId) -> List<WebhookEventSummary> = GET["/webhooks/" id "/events"];

    /// Gets an event of a webhook with its payload: `GET /webhooks/{webhook_id}/events/{event_id}`.
    fn event(id: WebhookId, event: WebhookEventId) -> Call<WebhookEvent> = GET["/webhooks/" id "/events/" event];

    /// Lists the delivery attempts of an event, newest first: `GET /webhooks/{webhook_id}/events/{event_id}/attempts`. Only
    /// [`after`](List::after) is supported as a cursor, not `before`.
    fn attempts(id: WebhookId, event: WebhookEventId) -> List<WebhookAttempt>
        = GET["/webhooks/" id "/events/" event "/attempts"];

    /// Delivers an event again immediately: `POST /webhooks/{webhook_id}/events/{event_id}/replay`. The delivery has the same
    /// [ID](super::Delivery::id).
    fn replay(id: WebhookId, event: WebhookEventId) -> Call<Reference<WebhookEventId>>
        = POST["/webhooks/" id "/events/" event "/replay"];

    /// Rotates the signing secret: `POST /webhooks/{webhook_id}/signing-secret/rotate`. For 24 hours, the service signs with the previous secret as
    /// well, so that receivers can switch ([`WebhookVerifier::add_secret`](super::WebhookVerifier::add_secret)).
    fn rotate_secret(id: WebhookId) -> Call<CreatedWebhook> = POST["/webhooks/" id "/signing-secret/rotate"];
}
