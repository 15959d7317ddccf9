//! Emails as the service returns them.

use serde::{Deserialize, Serialize};

use crate::types::{EmailId, Timestamp, TopicId, lenient::null_default};

/// The answer to a send: the service accepted the email. Delivery may still fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Accepted {
    /// The email's ID.
    pub id: EmailId,
}

/// The answer to a batch.
///
/// Its IDs and indexes are read strictly: an entry that was left out would assign the others to the wrong emails.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AcceptedBatch {
    /// The accepted emails in the order of the request. Unless the call was permissive, entry i belongs to email i.
    pub data: Vec<Accepted>,
    /// The emails that a permissive call left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_default")]
    pub errors: Vec<BatchError>,
}

record! {
    /// An email that a permissive batch left out.
    #[derive(PartialEq, Eq)]
    pub struct BatchError {
        /// The email's position in the request, from 0.
        pub index: usize,
        /// Why the email was refused.
        pub message: String,
    }
}

record! {
    direct
    /// A sent email in a list (`SPEC.md`, Sent email).
    pub struct SentEmail {
        /// The email's ID.
        pub id: EmailId,
        /// The value of the `Message-ID` header, in angle brackets.
        pub message_id: Option<String>,
        /// The recipients.
        pub to: Vec<String>,
        /// The sender, with the display name if there was one.
        pub from: String,
        /// When the service accepted the email.
        pub created_at: Timestamp,
        /// The subject.
        pub subject: String,
        /// The recipients of blind copies.
        pub bcc: Option<Vec<String>>,
        /// The recipients of copies.
        pub cc: Option<Vec<String>>,
        /// The addresses for replies.
        pub reply_to: Option<Vec<String>>,
        /// The latest delivery event.
        pub last_event: Option<LastEvent>,
        /// The time to send at, if the email was scheduled.
        pub scheduled_at: Option<Timestamp>,
    }

    /// An email with its body. (The specification names the operation and is silent on the fields.)
    pub struct EmailRecord: SentEmail {
        /// The HTML body.
        pub html: Option<String>,
        /// The plain-text body.
        pub text: Option<String>,
        /// The tags.
        pub tags: Option<Vec<Tag>>,
        /// The topic whose subscribers receive the email.
        pub topic_id: Option<TopicId>,
    }
}

items!(SentEmail);

/// A name and a value for the sender's own classification: ASCII letters, digits, `_` and `-`, at most 256 each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

strict!(Tag);

open_enum! {
    /// The latest delivery event of an email.
    LastEvent {
        /// Queued for delivery.
        Queued = "queued",
        /// Scheduled for a later time.
        Scheduled = "scheduled",
        /// Canceled before it was sent.
        Canceled = "canceled",
        /// Sent to the recipient's server.
        Sent = "sent",
        /// The recipient's server accepted it.
        Delivered = "delivered",
        /// The recipient's server asked for another attempt later.
        DeliveryDelayed = "delivery_delayed",
        /// The recipient opened it.
        Opened = "opened",
        /// The recipient followed a link in it.
        Clicked = "clicked",
        /// The recipient's server refused it permanently.
        Bounced = "bounced",
        /// The recipient reported it as spam.
        Complained = "complained",
        /// It could not be sent.
        Failed = "failed",
        /// It was not sent: the recipient bounced or complained before.
        Suppressed = "suppressed",
    }
}

impl LastEvent {
    /// Returns whether the email was delivered. Later events, such as an open, imply a delivery.
    pub fn is_delivered(&self) -> bool {
        matches!(self, Self::Delivered | Self::Opened | Self::Clicked | Self::Complained)
    }

    /// Returns whether the email will never be delivered.
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Bounced | Self::Failed | Self::Suppressed | Self::Canceled)
    }
}
