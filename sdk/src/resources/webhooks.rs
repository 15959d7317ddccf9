//! Webhooks: where the service tells its events, and which (`SPEC.md`, Webhook and Events).

pub mod delivery;
pub mod event;
mod ledger;
mod record;

pub use delivery::{Delivery, SecretError, VerificationError, WebhookVerifier};
pub use event::{EventData, NotAnEvent, OtherData, WebhookPayload};
pub use ledger::{WebhookAttempt, WebhookEvent, WebhookEventStatus, WebhookEventSummary};
pub use record::{CreatedWebhook, EventType, Webhook, WebhookStatus, WebhookSummary};

use http::Method;
use serde::Serialize;
use url::Url;

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, List},
    problem::Validator,
    types::{Patch, WebhookEventId, WebhookId},
};

/// A webhook to be made with [`Webhooks::create`].
#[derive(Clone, Debug, Serialize)]
pub struct NewWebhook {
    endpoint: String,
    events: Vec<EventType>,
}

impl NewWebhook {
    /// A webhook that tells these events, at least one, to this address: an absolute http or https one.
    pub fn new(endpoint: impl Into<String>, events: impl IntoIterator<Item = EventType>) -> Self {
        Self { endpoint: endpoint.into(), events: events.into_iter().collect() }
    }

    fn validate(&self, v: &mut Validator) {
        v.required("endpoint", &self.endpoint);
        if !self.endpoint.trim().is_empty() {
            check_endpoint(v, &self.endpoint);
        }
        if self.events.is_empty() {
            v.report_at("events", "required", "`events` names at least one type");
        }
    }
}

validate!(NewWebhook);

/// What to change of a webhook: [`Webhooks::update`]. What is not named stays as it is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WebhookPatch {
    #[serde(skip_serializing_if = "Patch::is_keep")]
    endpoint: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    events: Patch<Vec<EventType>>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    status: Patch<WebhookStatus>,
}

impl WebhookPatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another address, an absolute http or https one.
    #[must_use]
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Patch::Set(endpoint.into());
        self
    }

    /// Other events instead of all those before; at least one.
    #[must_use]
    pub fn events(mut self, events: impl IntoIterator<Item = EventType>) -> Self {
        self.events = Patch::Set(events.into_iter().collect());
        self
    }

    /// Switches it on or off.
    #[must_use]
    pub fn status(mut self, status: WebhookStatus) -> Self {
        self.status = Patch::Set(status);
        self
    }

    fn validate(&self, v: &mut Validator) {
        if let Some(endpoint) = self.endpoint.value() {
            check_endpoint(v, endpoint);
        }
        if self.events.value().is_some_and(Vec::is_empty) {
            v.report_at("events", "count", "`events` names at least one type");
        }
        if let Some(WebhookStatus::Unknown(value)) = self.status.value() {
            let rule = "`status` is enabled or disabled";
            v.field("status", |v| v.report_found("type", rule, value.as_str()));
        }
    }
}

validate!(WebhookPatch);

/// The operations on webhooks: [`Client::webhooks`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::{EventType, NewWebhook, WebhookPatch, WebhookStatus};
///
/// let webhook = NewWebhook::new("https://acme.test/hook", [EventType::EmailBounced]);
/// let made = client.webhooks().create(&webhook).await?;
/// std::fs::write("secret", made.signing_secret.expose()).unwrap();
/// client.webhooks().update(&made.id, &WebhookPatch::new().status(WebhookStatus::Disabled)).await?;
/// client.webhooks().get(&made.id).await?;
/// client.webhooks().list().await?;
///
/// // What it has told, and what could not be delivered: once more.
/// for event in client.webhooks().events(&made.id).await?.data {
///     println!("{} at {:?}", event.kind, event.created_at);
///     let attempts = client.webhooks().attempts(&made.id, &event.id).await?;
///     if attempts.data.iter().all(|attempt| attempt.http_status_code != Some(200)) {
///         println!("{:?}", client.webhooks().event(&made.id, &event.id).await?.payload.data);
///         client.webhooks().replay(&made.id, &event.id).await?;
///     }
/// }
///
/// // Another secret; the old one signs, too, for 24 hours.
/// let rotated = client.webhooks().rotate_secret(&made.id).await?;
/// std::fs::write("secret", rotated.signing_secret.expose()).unwrap();
/// client.webhooks().delete(&made.id).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Webhooks<'a> {
    client: &'a Client,
}

impl Client {
    /// Webhooks: where the service tells its events.
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks { client: self }
    }
}

impl Webhooks<'_> {
    /// Makes a webhook: `POST /webhooks`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewWebhook::check`] finds, before anything is sent.
    pub fn create(&self, webhook: &NewWebhook) -> Call<CreatedWebhook> {
        let operation = Operation::new("webhooks.create", Method::POST, "/webhooks");
        Call::new(&self.client.core, operation.validated(webhook).with_json(webhook))
    }

    /// The webhooks, newest first: `GET /webhooks`, all of them unless a limit is given.
    pub fn list(&self) -> List<WebhookSummary> {
        List::new(self.client, Operation::get("webhooks.list", "/webhooks"))
    }

    /// One webhook, with its secret: `GET /webhooks/{webhook_id}`.
    pub fn get(&self, id: impl Into<WebhookId>) -> Call<Webhook> {
        Call::new(&self.client.core, on("webhooks.get", Method::GET, &id.into()))
    }

    /// Changes a webhook: `PATCH /webhooks/{webhook_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`WebhookPatch::check`] finds, before anything is sent.
    pub fn update(&self, id: impl Into<WebhookId>, patch: &WebhookPatch) -> Call<Reference<WebhookId>> {
        let operation = on("webhooks.update", Method::PATCH, &id.into());
        Call::new(&self.client.core, operation.validated(patch).with_json(patch))
    }

    /// Deletes a webhook: `DELETE /webhooks/{webhook_id}`.
    pub fn delete(&self, id: impl Into<WebhookId>) -> Call<Deleted<WebhookId>> {
        Call::new(&self.client.core, on("webhooks.delete", Method::DELETE, &id.into()))
    }

    /// What a webhook has told, newest first: `GET /webhooks/{webhook_id}/events`. It can be walked with
    /// [`after`](List::after) only: the service knows no `before` here.
    pub fn events(&self, id: impl Into<WebhookId>) -> List<WebhookEventSummary> {
        let path = Operation::on("webhooks.events", Method::GET, "/webhooks/", id.into().as_str(), "/events");
        List::new(self.client, path)
    }

    /// One event of a webhook, with what it tells: `GET /webhooks/{webhook_id}/events/{event_id}`.
    pub fn event(&self, id: impl Into<WebhookId>, event: impl Into<WebhookEventId>) -> Call<WebhookEvent> {
        Call::new(&self.client.core, within("webhooks.event", Method::GET, &id.into(), &event.into(), ""))
    }

    /// The attempts to deliver an event, newest first: `GET /webhooks/{webhook_id}/events/{event_id}/attempts`. It can be walked
    /// with [`after`](List::after) only: the service knows no `before` here.
    pub fn attempts(
        &self,
        id: impl Into<WebhookId>,
        event: impl Into<WebhookEventId>,
    ) -> List<WebhookAttempt> {
        let operation = within("webhooks.attempts", Method::GET, &id.into(), &event.into(), "/attempts");
        List::new(self.client, operation)
    }

    /// Delivers an event once more, at once: `POST /webhooks/{webhook_id}/events/{event_id}/replay`. The receiver sees the same
    /// [id](super::webhooks::Delivery::id) again.
    pub fn replay(
        &self,
        id: impl Into<WebhookId>,
        event: impl Into<WebhookEventId>,
    ) -> Call<Reference<WebhookEventId>> {
        let operation = within("webhooks.replay", Method::POST, &id.into(), &event.into(), "/replay");
        Call::new(&self.client.core, operation)
    }

    /// Gives a webhook another secret: `POST /webhooks/{webhook_id}/signing-secret/rotate`. For 24 hours the service signs with the
    /// old one, too, so a receiver has that long to learn the new one ([`WebhookVerifier::or`]).
    pub fn rotate_secret(&self, id: impl Into<WebhookId>) -> Call<CreatedWebhook> {
        let rest = "/signing-secret/rotate";
        let operation =
            Operation::on("webhooks.rotate_secret", Method::POST, "/webhooks/", id.into().as_str(), rest);
        Call::new(&self.client.core, operation)
    }
}

fn within(
    name: &'static str,
    method: Method,
    id: &WebhookId,
    event: &WebhookEventId,
    rest: &'static str,
) -> Operation {
    Operation::on_inner(name, method, ("/webhooks/", id.as_str()), ("/events/", event.as_str()), rest)
}

fn check_endpoint(v: &mut Validator, endpoint: &str) {
    let fits =
        Url::parse(endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let rule = "`endpoint` is an absolute http or https address";
    if !fits {
        v.field("endpoint", |v| v.report_found("url", rule, endpoint.escape_debug()));
    }
}

fn on(name: &'static str, method: Method, id: &WebhookId) -> Operation {
    Operation::on(name, method, "/webhooks/", id.as_str(), "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_named_goes_out() {
        // HOOK-12
        let patch = |patch: WebhookPatch| serde_json::to_value(patch).unwrap();
        assert_eq!(patch(WebhookPatch::new()), json!({}));
        assert_eq!(
            patch(WebhookPatch::new().status(WebhookStatus::Disabled)),
            json!({ "status": "disabled" })
        );
        assert_eq!(
            patch(WebhookPatch::new().events([EventType::from("x.y".to_owned())])),
            json!({ "events": ["x.y"] })
        );
    }

    #[test]
    fn the_secret_never_shows_in_debug() {
        // HOOK-15
        let made: CreatedWebhook =
            serde_json::from_value(json!({ "id": "w", "signing_secret": "whsec_sentinel" })).unwrap();
        assert!(!format!("{made:?}").contains("sentinel"));
        assert_eq!(made.signing_secret.expose(), "whsec_sentinel");
    }

    #[test]
    fn a_webhook_needs_an_address_and_an_event() {
        // HOOK-04, HOOK-05
        let paths = |checked: Result<(), crate::Problems>| -> Vec<_> {
            checked.unwrap_err().iter().map(|problem| (problem.path.clone(), problem.code)).collect()
        };
        let both = |endpoint, events| [("/endpoint".to_owned(), endpoint), ("/events".to_owned(), events)];
        assert_eq!(paths(NewWebhook::new("", []).check()), both("required", "required"));
        for endpoint in ["x", "/hook", "ftp://a.test/", "mailto:a@b.test"] {
            assert_eq!(paths(NewWebhook::new(endpoint, []).check()), both("url", "required"));
            assert_eq!(
                paths(WebhookPatch::new().endpoint(endpoint).events([]).check()),
                both("url", "count")
            );
        }
        assert!(NewWebhook::new("http://localhost:1/x", [EventType::EmailSent]).check().is_ok());
        assert!(WebhookPatch::new().check().is_ok());
        let unknown = WebhookPatch::new().status(WebhookStatus::from("paused".to_owned()));
        assert_eq!(paths(unknown.check()), [("/status".to_owned(), "type")]);
    }
}
