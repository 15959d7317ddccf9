//! Webhook events: an envelope with a type, and data according to that type.
//!
//! The specification doesn't define payloads; they follow Resend. Where Resend's descriptions differ, both forms are accepted.

mod account;
mod email;
mod inbox;

pub use account::{
    ContactEvent, ContactTopicChoice, ContactTopicsEvent, DomainEvent, SuppressionEvent, TopicEvent,
};
pub use email::{
    Bounce, Click, EmailBounced, EmailClicked, EmailEvent, EmailFailed, EmailHeader, EmailSuppressed,
    Failure, ReceivedEmailEvent, Suppressed,
};
pub use inbox::InboxEvent;

pub use crate::resources::shared::SuppressionOrigin;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::types::Timestamp;

/// An event: its type, time and data.
///
/// It serializes to the JSON that the service sent, including fields that this version of the client doesn't know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebhookPayload {
    /// The event's type.
    pub kind: EventType,
    /// When the event occurred, in ISO 8601 format.
    pub created_at: Option<Timestamp>,
    /// The event's data.
    pub data: EventData,
    raw: Value,
}

impl WebhookPayload {
    /// Parses the body of a delivery.
    ///
    /// # Errors
    /// The body isn't a JSON object with a `type`.
    pub fn from_slice(body: &[u8]) -> Result<Self, NotAnEvent> {
        let raw = serde_json::from_slice(body).map_err(|error| NotAnEvent { found: error.to_string() })?;
        Self::from_value(raw)
    }

    /// Converts parsed JSON to an event.
    ///
    /// # Errors
    /// The value isn't an object with a `type`.
    pub fn from_value(raw: Value) -> Result<Self, NotAnEvent> {
        let Some(kind) = raw.get("type").and_then(Value::as_str) else {
            let what = match (&raw, raw.get("type")) {
                (Value::Object(_), None) => "no `type`",
                (Value::Object(_), Some(_)) => "a `type` that isn't a string",
                _ => "a value that isn't an object",
            };
            return Err(NotAnEvent { found: what.to_owned() });
        };
        let kind = EventType::from(kind.to_owned());
        let created_at = raw.get("created_at").and_then(Value::as_str).map(Timestamp::from);
        let data = EventData::read(&kind, raw.get("data").unwrap_or(&Value::Null));
        Ok(Self { kind, created_at, data, raw })
    }

    /// Returns the whole event as the service sent it.
    pub fn raw(&self) -> &Value {
        &self.raw
    }
}

impl Serialize for WebhookPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WebhookPayload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

strict!(WebhookPayload);

/// A body that isn't an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event must be a JSON object with a `type` (found {found})")]
#[non_exhaustive]
pub struct NotAnEvent {
    /// A description of the value.
    pub found: String,
}

/// Data of an event type that this version of the client doesn't know, or data in an unexpected format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OtherData {
    /// The data as the service sent it.
    pub value: Value,
    /// Why the data couldn't be read, if the event type is known.
    pub problem: Option<String>,
}

/// Defines [`EventType`] and [`EventData`]: the types of events, and the data of each.
macro_rules! events {
    ($($(#[$doc:meta])* $kind:ident = $wire:literal: $data:ty,)+) => {
        open_enum! {
            /// The type of a webhook event. The specification names `email.sent`, `email.delivered`, `email.received` and `domain.updated`, and
            /// mentions that there are more. Inbox events are in private beta, so not every account can subscribe to them.
            EventType {
                $($(#[$doc])* $kind = $wire,)+
            }
        }

        /// An event's data, by type. The variants are named as in [`EventType`].
        ///
        /// The set is open: data of an unknown type or in an unexpected format is `Other`.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum EventData {
            $($(#[$doc])* $kind($data),)+
            /// Data of an unknown type or in an unexpected format.
            Other(OtherData),
        }

        impl EventData {
            /// Decodes the data of an event of this type. Data that can't be decoded is preserved.
            fn read(kind: &EventType, data: &Value) -> Self {
                let read = match kind {
                    $(EventType::$kind => <$data>::deserialize(data).map(Self::$kind),)+
                    EventType::Unknown(_) => {
                        return Self::Other(OtherData { value: data.clone(), problem: None });
                    }
                };
                read.unwrap_or_else(|error| {
                    Self::Other(OtherData { value: data.clone(), problem: Some(error.to_string()) })
                })
            }
        }
    };
}

events! {
    /// An email was accepted for delivery.
    EmailSent = "email.sent": EmailEvent,
    /// An email was scheduled.
    EmailScheduled = "email.scheduled": EmailEvent,
    /// An email was delivered.
    EmailDelivered = "email.delivered": EmailEvent,
    /// The delivery of an email was delayed.
    EmailDeliveryDelayed = "email.delivery_delayed": EmailEvent,
    /// An email bounced permanently.
    EmailBounced = "email.bounced": EmailBounced,
    /// A recipient reported an email as spam.
    EmailComplained = "email.complained": EmailEvent,
    /// An email was opened.
    EmailOpened = "email.opened": EmailEvent,
    /// A link in an email was clicked.
    EmailClicked = "email.clicked": EmailClicked,
    /// An email failed to be sent.
    EmailFailed = "email.failed": EmailFailed,
    /// An email was not sent because the recipient is on the suppression list.
    EmailSuppressed = "email.suppressed": EmailSuppressed,
    /// An email was received.
    EmailReceived = "email.received": ReceivedEmailEvent,
    /// A contact was created.
    ContactCreated = "contact.created": ContactEvent,
    /// A contact was updated.
    ContactUpdated = "contact.updated": ContactEvent,
    /// A contact was deleted.
    ContactDeleted = "contact.deleted": ContactEvent,
    /// A contact's topic subscriptions changed.
    ContactTopicsUpdated = "contact.topics.updated": ContactTopicsEvent,
    /// A domain was registered.
    DomainCreated = "domain.created": DomainEvent,
    /// A domain's status changed.
    DomainUpdated = "domain.updated": DomainEvent,
    /// A domain was deleted.
    DomainDeleted = "domain.deleted": DomainEvent,
    /// An address was added to the suppression list.
    SuppressionAdded = "suppression.added": SuppressionEvent,
    /// An address was removed from the suppression list.
    SuppressionRemoved = "suppression.removed": SuppressionEvent,
    /// A topic was created.
    TopicCreated = "topic.created": TopicEvent,
    /// A topic was updated.
    TopicUpdated = "topic.updated": TopicEvent,
    /// A topic was deleted.
    TopicDeleted = "topic.deleted": TopicEvent,
    /// An inbox was created.
    InboxCreated = "inbox.created": InboxEvent,
    /// An inbox was updated.
    InboxUpdated = "inbox.updated": InboxEvent,
    /// An inbox was deleted.
    InboxDeleted = "inbox.deleted": InboxEvent,
    /// A thread was created in an inbox.
    InboxThreadCreated = "inbox.thread.created": InboxEvent,
    /// A thread was moved to another folder.
    InboxThreadFolderUpdated = "inbox.thread.folder.updated": InboxEvent,
    /// A thread was assigned.
    InboxThreadAssigned = "inbox.thread.assigned": InboxEvent,
    /// A thread's assignment was removed.
    InboxThreadUnassigned = "inbox.thread.unassigned": InboxEvent,
    /// The labels of a thread changed.
    InboxThreadLabelsUpdated = "inbox.thread.labels.updated": InboxEvent,
    /// An inbox received an email.
    InboxEmailReceived = "inbox.email.received": InboxEvent,
    /// An email was sent from an inbox.
    InboxEmailSent = "inbox.email.sent": InboxEvent,
    /// A draft was created in an inbox.
    InboxDraftCreated = "inbox.draft.created": InboxEvent,
    /// A draft was updated.
    InboxDraftUpdated = "inbox.draft.updated": InboxEvent,
    /// A draft was sent.
    InboxDraftSent = "inbox.draft.sent": InboxEvent,
    /// A draft was deleted.
    InboxDraftDeleted = "inbox.draft.deleted": InboxEvent,
}

#[cfg(test)]
mod tests;
