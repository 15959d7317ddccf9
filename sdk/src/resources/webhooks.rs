//! Webhooks: where the service tells its events, and which (`SPEC.md`, Webhook and Events).

use http::Method;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    check::{Problem, Problems},
    client::Client,
    page::{Item, List},
    types::{Patch, SigningSecret, Timestamp, WebhookId},
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

    /// Whether the webhook keeps all rules that can be checked here.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.endpoint.trim().is_empty() {
            problems.push(Problem::new("/endpoint", "required", "`endpoint` is required"));
        } else {
            problems.extend(endpoint_problem(&self.endpoint));
        }
        if self.events.is_empty() {
            problems.push(Problem::new("/events", "required", "`events` names at least one type"));
        }
        problems
    }
}

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

    /// Whether the change keeps all rules that can be checked here.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    fn problems(&self) -> Vec<Problem> {
        let endpoint = self.endpoint.value().and_then(|endpoint| endpoint_problem(endpoint));
        let events = self.events.value().and_then(|events| events_problem(events));
        let status = self.status.value().and_then(|status| {
            let WebhookStatus::Unknown(value) = status else { return None };
            Some(Problem::new("/status", "type", "`status` is enabled or disabled").found(value.as_str()))
        });
        endpoint.into_iter().chain(events).chain(status).collect()
    }
}

/// A webhook that was made, with the secret that signs what it tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreatedWebhook {
    /// The webhook's id.
    pub id: WebhookId,
    /// The secret; [`Webhooks::get`] tells it again.
    pub signing_secret: SigningSecret,
}

/// One webhook.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Webhook {
    /// The webhook's id.
    pub id: WebhookId,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Whether it is switched on.
    #[serde(default)]
    pub status: Option<WebhookStatus>,
    /// Where it tells.
    pub endpoint: String,
    /// What it tells.
    #[serde(default)]
    pub events: Option<Vec<EventType>>,
    /// What signs it.
    #[serde(default)]
    pub signing_secret: Option<SigningSecret>,
}

/// A webhook in a list, which doesn't tell its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookSummary {
    /// The webhook's id.
    pub id: WebhookId,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Whether it is switched on.
    #[serde(default)]
    pub status: Option<WebhookStatus>,
    /// Where it tells.
    pub endpoint: String,
    /// What it tells.
    #[serde(default)]
    pub events: Option<Vec<EventType>>,
}

impl Item for WebhookSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

open_enum! {
    /// Whether a webhook tells anything.
    WebhookStatus {
        /// It does.
        Enabled = "enabled",
        /// It doesn't.
        Disabled = "disabled",
    }
}

open_enum! {
    /// What a webhook can tell. The specification names `email.sent`, `email.delivered`, `email.received` and `domain.updated`, and says
    /// that there are more.
    EventType {
        /// An email was taken by the sending side.
        EmailSent = "email.sent",
        /// An email was scheduled.
        EmailScheduled = "email.scheduled",
        /// An email was delivered.
        EmailDelivered = "email.delivered",
        /// An email could not be delivered yet.
        EmailDeliveryDelayed = "email.delivery_delayed",
        /// An email was refused for good.
        EmailBounced = "email.bounced",
        /// A recipient called an email spam.
        EmailComplained = "email.complained",
        /// An email was opened.
        EmailOpened = "email.opened",
        /// A link in an email was followed.
        EmailClicked = "email.clicked",
        /// An email could not be sent.
        EmailFailed = "email.failed",
        /// An email was held back from an address that bounced or complained before.
        EmailSuppressed = "email.suppressed",
        /// An email came in.
        EmailReceived = "email.received",
        /// A contact was made.
        ContactCreated = "contact.created",
        /// A contact was changed.
        ContactUpdated = "contact.updated",
        /// A contact was deleted.
        ContactDeleted = "contact.deleted",
        /// A contact chose about topics.
        ContactTopicsUpdated = "contact.topics.updated",
        /// A domain was registered.
        DomainCreated = "domain.created",
        /// A domain's status changed.
        DomainUpdated = "domain.updated",
        /// A domain was deleted.
        DomainDeleted = "domain.deleted",
        /// An address gets no more emails.
        SuppressionAdded = "suppression.added",
        /// An address may get emails again.
        SuppressionRemoved = "suppression.removed",
        /// A topic was made.
        TopicCreated = "topic.created",
        /// A topic was changed.
        TopicUpdated = "topic.updated",
        /// A topic was deleted.
        TopicDeleted = "topic.deleted",
    }
}

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
/// client.webhooks().delete(&made.id).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Webhooks<'a> {
    client: &'a Client,
}

impl<'a> Webhooks<'a> {
    pub(crate) fn of(client: &'a Client) -> Self {
        Self { client }
    }

    /// Makes a webhook: `POST /webhooks`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewWebhook::check`] finds, before anything is sent.
    pub fn create(&self, webhook: &NewWebhook) -> Call<CreatedWebhook> {
        let operation = Operation::new("webhooks.create", Method::POST, "/webhooks");
        Call::new(self.client, operation.with_problems(webhook.problems()).with_json(webhook))
    }

    /// The webhooks, newest first: `GET /webhooks`, all of them unless a limit is given.
    pub fn list(&self) -> List<WebhookSummary> {
        List::new(self.client, Operation::get("webhooks.list", "/webhooks"))
    }

    /// One webhook, with its secret: `GET /webhooks/{webhook_id}`.
    pub fn get(&self, id: impl Into<WebhookId>) -> Call<Webhook> {
        Call::new(self.client, on("webhooks.get", Method::GET, &id.into()))
    }

    /// Changes a webhook: `PATCH /webhooks/{webhook_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`WebhookPatch::check`] finds, before anything is sent.
    pub fn update(&self, id: impl Into<WebhookId>, patch: &WebhookPatch) -> Call<Reference<WebhookId>> {
        let operation = on("webhooks.update", Method::PATCH, &id.into());
        Call::new(self.client, operation.with_problems(patch.problems()).with_json(patch))
    }

    /// Deletes a webhook: `DELETE /webhooks/{webhook_id}`.
    pub fn delete(&self, id: impl Into<WebhookId>) -> Call<Deleted<WebhookId>> {
        Call::new(self.client, on("webhooks.delete", Method::DELETE, &id.into()))
    }
}

fn endpoint_problem(endpoint: &str) -> Option<Problem> {
    let fits =
        Url::parse(endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let rule = "`endpoint` is an absolute http or https address";
    (!fits).then(|| Problem::new("/endpoint", "url", rule).found(endpoint.escape_debug()))
}

fn events_problem(events: &[EventType]) -> Option<Problem> {
    events.is_empty().then(|| Problem::new("/events", "count", "`events` names at least one type"))
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
        let paths = |checked: Result<(), Problems>| -> Vec<_> {
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
