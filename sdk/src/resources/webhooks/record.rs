//! What the service says of webhooks, and what they can tell.

use serde::{Deserialize, Serialize};

use crate::{
    client::Item,
    types::{SigningSecret, Timestamp, WebhookId},
};

/// A webhook that was made, with the secret that signs what it tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreatedWebhook {
    /// The webhook's id.
    pub id: WebhookId,
    /// The secret; [`Webhooks::get`](super::Webhooks::get) returns it again. Serializing the record leaves it out.
    #[serde(skip_serializing)]
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
    /// The secret that signs its events. Serializing the record leaves it out.
    #[serde(default, skip_serializing)]
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
