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

use super::event_type::EventType;
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

/// Defines [`EventData`]: the data of each event type.
macro_rules! event_data {
    ($($(#[$doc:meta])* $kind:ident($data:ty),)+) => {
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

event_data! {
    /// An email was accepted for delivery.
    EmailSent(EmailEvent),
    /// An email was scheduled.
    EmailScheduled(EmailEvent),
    /// An email was delivered.
    EmailDelivered(EmailEvent),
    /// The delivery of an email was delayed.
    EmailDeliveryDelayed(EmailEvent),
    /// An email bounced permanently.
    EmailBounced(EmailBounced),
    /// A recipient reported an email as spam.
    EmailComplained(EmailEvent),
    /// An email was opened.
    EmailOpened(EmailEvent),
    /// A link in an email was clicked.
    EmailClicked(EmailClicked),
    /// An email failed to be sent.
    EmailFailed(EmailFailed),
    /// An email was not sent because the recipient is on the suppression list.
    EmailSuppressed(EmailSuppressed),
    /// An email was received.
    EmailReceived(ReceivedEmailEvent),
    /// A contact was created.
    ContactCreated(ContactEvent),
    /// A contact was updated.
    ContactUpdated(ContactEvent),
    /// A contact was deleted.
    ContactDeleted(ContactEvent),
    /// A contact's topic subscriptions changed.
    ContactTopicsUpdated(ContactTopicsEvent),
    /// A domain was registered.
    DomainCreated(DomainEvent),
    /// A domain's status changed.
    DomainUpdated(DomainEvent),
    /// A domain was deleted.
    DomainDeleted(DomainEvent),
    /// An address was added to the suppression list.
    SuppressionAdded(SuppressionEvent),
    /// An address was removed from the suppression list.
    SuppressionRemoved(SuppressionEvent),
    /// A topic was created.
    TopicCreated(TopicEvent),
    /// A topic was updated.
    TopicUpdated(TopicEvent),
    /// A topic was deleted.
    TopicDeleted(TopicEvent),
    /// An inbox was created.
    InboxCreated(InboxEvent),
    /// An inbox was updated.
    InboxUpdated(InboxEvent),
    /// An inbox was deleted.
    InboxDeleted(InboxEvent),
    /// A thread was created in an inbox.
    InboxThreadCreated(InboxEvent),
    /// A thread was moved to another folder.
    InboxThreadFolderUpdated(InboxEvent),
    /// A thread was assigned.
    InboxThreadAssigned(InboxEvent),
    /// A thread's assignment was removed.
    InboxThreadUnassigned(InboxEvent),
    /// The labels of a thread changed.
    InboxThreadLabelsUpdated(InboxEvent),
    /// An inbox received an email.
    InboxEmailReceived(InboxEvent),
    /// An email was sent from an inbox.
    InboxEmailSent(InboxEvent),
    /// A draft was created in an inbox.
    InboxDraftCreated(InboxEvent),
    /// A draft was updated.
    InboxDraftUpdated(InboxEvent),
    /// A draft was sent.
    InboxDraftSent(InboxEvent),
    /// A draft was deleted.
    InboxDraftDeleted(InboxEvent),
}

#[cfg(test)]
mod tests;
