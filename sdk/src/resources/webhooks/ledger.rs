//! What a webhook has told: its events, and the attempts to deliver each. (The specification is silent on all of it.)

use serde::{Deserialize, Serialize};

use super::{EventType, event::WebhookPayload};
use crate::{
    client::Item,
    types::{Timestamp, WebhookAttemptId, WebhookEventId},
};

open_enum! {
    /// How the delivery of an event stands.
    WebhookEventStatus {
        /// It waits for its first attempt, or for the next one.
        Pending = "pending",
        /// An attempt is under way.
        Attempting = "attempting",
        /// The endpoint has taken it.
        Success = "success",
        /// The last attempt failed, and there will be no other.
        Failed = "failed",
    }
}

/// An event of a webhook in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookEventSummary {
    /// The event's id: the same as [`Delivery::id`](super::Delivery::id).
    pub id: WebhookEventId,
    /// Of which type it is.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// When it happened, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// How its delivery stands.
    #[serde(default)]
    pub status: Option<WebhookEventStatus>,
}

impl Item for WebhookEventSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// An event of a webhook, with what it tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookEvent {
    /// What the list shows of it.
    #[serde(flatten)]
    pub summary: WebhookEventSummary,
    /// When it is tried next, in ISO 8601; `None` when there will be no other attempt.
    #[serde(default)]
    pub next_attempt_at: Option<Timestamp>,
    /// What is told: the body of each delivery.
    pub payload: WebhookPayload,
}

/// One attempt to deliver an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookAttempt {
    /// The attempt's id.
    pub id: WebhookAttemptId,
    /// What the endpoint answered; `None` or 0 when there was no answer.
    #[serde(default)]
    pub http_status_code: Option<u16>,
    /// The beginning of the answer's body, or why there was none. A stranger may have written it.
    #[serde(default)]
    pub response: Option<String>,
    /// When it was tried, in ISO 8601.
    #[serde(default)]
    pub sent_at: Option<Timestamp>,
}

impl Item for WebhookAttempt {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}
