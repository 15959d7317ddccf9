//! Webhooks, their events and delivery attempts as the service returns them.

use super::event::{EventType, WebhookPayload};
use crate::types::{SigningSecret, Timestamp, WebhookAttemptId, WebhookEventId, WebhookId};

record! {
    /// A newly created webhook with its signing secret. Serializing the record omits the secret.
    pub struct CreatedWebhook {
        /// The webhook's ID.
        pub id: WebhookId,
        /// The signing secret, which [`Webhooks::get`](super::Webhooks::get) also returns.
        pub signing_secret - secret: SigningSecret,
    }
}

record! {
    /// A webhook in a list, without its signing secret.
    pub struct WebhookSummary {
        /// The webhook's ID.
        pub id: WebhookId,
        /// When the webhook was created.
        pub created_at: Option<Timestamp>,
        /// Whether the webhook is enabled.
        pub status: Option<WebhookStatus>,
        /// The URL to which events are delivered.
        pub endpoint: String,
        /// The subscribed event types.
        pub events: Option<Vec<EventType>>,
    }

    /// A webhook.
    pub struct Webhook: WebhookSummary {
        /// The signing secret.
        pub signing_secret - secret: Option<SigningSecret>,
    }
}

record! {
    /// A webhook's event in a list. (The specification doesn't define events and attempts.)
    pub struct WebhookEventSummary {
        /// The event's ID, the same as [`Delivery::id`](super::Delivery::id).
        pub id: WebhookEventId,
        /// The event's type.
        pub kind as "type": EventType,
        /// When the event occurred, in ISO 8601.
        pub created_at: Option<Timestamp>,
        /// The delivery status.
        pub status: Option<WebhookEventStatus>,
    }

    /// A webhook's event with its payload.
    pub struct WebhookEvent: WebhookEventSummary {
        /// When the next attempt is due, in ISO 8601; `None` if there is none.
        pub next_attempt_at: Option<Timestamp>,
        /// The payload, which is the body of each delivery. `None` if the service omits it or if it isn't an event.
        pub payload: Option<WebhookPayload>,
    }
}

record! {
    /// An attempt to deliver an event.
    pub struct WebhookAttempt {
        /// The attempt's ID.
        pub id: WebhookAttemptId,
        /// The HTTP status of the endpoint's response; `None` or 0 if there was no response.
        pub http_status_code: Option<u16>,
        /// The beginning of the response body, or why there was no response. It is untrusted.
        pub response: Option<String>,
        /// When the attempt was made, in ISO 8601.
        pub sent_at: Option<Timestamp>,
    }
}

items!(WebhookSummary, WebhookEventSummary, WebhookAttempt);

open_enum! {
    /// Whether a webhook is enabled.
    WebhookStatus {
        /// Events are delivered.
        Enabled = "enabled",
        /// Events aren't delivered.
        Disabled = "disabled",
    }
}

open_enum! {
    /// The delivery status of an event.
    WebhookEventStatus {
        /// Waiting for the first or the next attempt.
        Pending = "pending",
        /// An attempt is in progress.
        Attempting = "attempting",
        /// The endpoint accepted the event.
        Success = "success",
        /// The last attempt failed, and no more will follow.
        Failed = "failed",
    }
}
