//! What a webhook tells, decoded: an envelope with a type, and a payload of that type.
//!
//! The specification is silent on payloads; they have the shapes of the public service that speaks this format, and are read
//! leniently: where descriptions of it differ, both forms are taken.

mod account;
mod email;
mod shapes;

pub use account::{
    ContactEvent, ContactTopicChoice, ContactTopicsEvent, DomainEvent, SuppressionEvent, SuppressionOrigin,
    TopicEvent,
};
pub use email::{
    Bounce, Click, EmailBounced, EmailClicked, EmailEvent, EmailFailed, EmailHeader, EmailSuppressed,
    Failure, ReceivedEmailEvent, Suppressed,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::EventType;
use crate::types::Timestamp;

/// What a webhook tells: of which type, when it happened, and what.
///
/// Written as JSON, it is what the service wrote, with everything that this version of the client has no name for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebhookPayload {
    /// Of which type it is.
    pub kind: EventType,
    /// When it happened, in ISO 8601.
    pub created_at: Option<Timestamp>,
    /// What happened.
    pub data: EventData,
    raw: Value,
}

impl WebhookPayload {
    /// Reads the body of a delivery, or what is inside of it.
    ///
    /// # Errors
    /// It is not a JSON object with a `type`.
    pub fn from_slice(body: &[u8]) -> Result<Self, NotAnEvent> {
        let raw = serde_json::from_slice(body).map_err(|error| NotAnEvent { found: error.to_string() })?;
        Self::from_value(raw)
    }

    /// The same, of JSON that was read already.
    ///
    /// # Errors
    /// It is not an object with a `type`.
    pub fn from_value(raw: Value) -> Result<Self, NotAnEvent> {
        let Some(kind) = raw.get("type").and_then(Value::as_str) else {
            let what = match (&raw, raw.get("type")) {
                (Value::Object(_), None) => "no `type`",
                (Value::Object(_), Some(_)) => "a `type` that is not a text",
                _ => "no object",
            };
            return Err(NotAnEvent { found: what.to_owned() });
        };
        let kind = EventType::from(kind.to_owned());
        let created_at = raw.get("created_at").and_then(Value::as_str).map(Timestamp::from);
        let data = EventData::read(&kind, raw.get("data").unwrap_or(&Value::Null));
        Ok(Self { kind, created_at, data, raw })
    }

    /// All of it as the service wrote it, whatever [`data`](Self::data) could be read as.
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

/// A body that is not an event: the service sends none such.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is a JSON object with a `type` (found {found})")]
#[non_exhaustive]
pub struct NotAnEvent {
    /// What it is instead.
    pub found: String,
}

/// Data that has no type here: of an event that this version of the client has no name for, or of another shape than it knows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OtherData {
    /// The data as the service wrote it.
    pub value: Value,
    /// Why it could not be read, if its type is known.
    pub problem: Option<String>,
}

/// Defines [`EventData`]: what each type of event carries.
macro_rules! event_data {
    ($($(#[$doc:meta])* $kind:ident($data:ty),)+) => {
        /// What happened, by the event's type. The variants are named as those of [`EventType`].
        ///
        /// The set is open: data of an unknown type, or of another shape than this version of the client knows, arrives as `Other`.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum EventData {
            $($(#[$doc])* $kind($data),)+
            /// Data that has no type here.
            Other(OtherData),
        }

        impl EventData {
            /// Reads the data of an event of this type. What can't be read is kept.
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
    /// An email was taken by the sending side.
    EmailSent(EmailEvent),
    /// An email was scheduled.
    EmailScheduled(EmailEvent),
    /// An email was delivered.
    EmailDelivered(EmailEvent),
    /// An email could not be delivered yet.
    EmailDeliveryDelayed(EmailEvent),
    /// An email was refused for good.
    EmailBounced(EmailBounced),
    /// A recipient called an email spam.
    EmailComplained(EmailEvent),
    /// An email was opened.
    EmailOpened(EmailEvent),
    /// A link in an email was followed.
    EmailClicked(EmailClicked),
    /// An email could not be sent.
    EmailFailed(EmailFailed),
    /// An email was held back from an address that bounced or complained before.
    EmailSuppressed(EmailSuppressed),
    /// An email came in.
    EmailReceived(ReceivedEmailEvent),
    /// A contact was made.
    ContactCreated(ContactEvent),
    /// A contact was changed.
    ContactUpdated(ContactEvent),
    /// A contact was deleted.
    ContactDeleted(ContactEvent),
    /// A contact chose about topics.
    ContactTopicsUpdated(ContactTopicsEvent),
    /// A domain was registered.
    DomainCreated(DomainEvent),
    /// A domain's status changed.
    DomainUpdated(DomainEvent),
    /// A domain was deleted.
    DomainDeleted(DomainEvent),
    /// An address gets no more emails.
    SuppressionAdded(SuppressionEvent),
    /// An address may get emails again.
    SuppressionRemoved(SuppressionEvent),
    /// A topic was made.
    TopicCreated(TopicEvent),
    /// A topic was changed.
    TopicUpdated(TopicEvent),
    /// A topic was deleted.
    TopicDeleted(TopicEvent),
}

#[cfg(test)]
mod tests;
