//! Emails as the service returns them.

use serde::{Deserialize, Serialize};

use crate::{
    client::Item,
    types::{EmailId, Timestamp, TopicId, null_default},
};

/// The answer to a send: the email was accepted and has a name now. It may still fail on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Accepted {
    /// The email's id.
    pub id: EmailId,
}

/// The answer to a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AcceptedBatch {
    /// The accepted emails in the order in which they were given. Unless the call was permissive, entry i belongs to email i.
    pub data: Vec<Accepted>,
    /// The emails that a permissive call left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_default")]
    pub errors: Vec<BatchError>,
}

/// One email that a permissive batch left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchError {
    /// Which email of the request, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub message: String,
}

/// An email as the list shows it (`SPEC.md`, Sent email).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SentEmail {
    /// The email's id.
    pub id: EmailId,
    /// The value of its `Message-ID` header, in angle brackets.
    #[serde(default)]
    pub message_id: Option<String>,
    /// The recipients.
    pub to: Vec<String>,
    /// The sender, with the friendly name if there was one.
    pub from: String,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Its subject.
    pub subject: String,
    /// Blind copies.
    #[serde(default)]
    pub bcc: Option<Vec<String>>,
    /// Copies.
    #[serde(default)]
    pub cc: Option<Vec<String>>,
    /// Where answers go.
    #[serde(default)]
    pub reply_to: Option<Vec<String>>,
    /// The newest thing that happened to it.
    #[serde(default)]
    pub last_event: Option<LastEvent>,
    /// When it is to go out, if it was scheduled.
    #[serde(default)]
    pub scheduled_at: Option<Timestamp>,
}

impl Item for SentEmail {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// One email with its body. (The specification names the operation and is silent on the fields.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailRecord {
    /// What the list shows of it.
    #[serde(flatten)]
    pub summary: SentEmail,
    /// The HTML body.
    #[serde(default)]
    pub html: Option<String>,
    /// The plain-text body.
    #[serde(default)]
    pub text: Option<String>,
    /// The tags it was sent with.
    #[serde(default)]
    pub tags: Option<Vec<Tag>>,
    /// The topic it was sent under.
    #[serde(default)]
    pub topic_id: Option<TopicId>,
}

/// A name and a value that an email carries for its sender's own sorting: ASCII letters, digits, `_` and `-`, at most 256 each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

open_enum! {
    /// The newest thing that happened to an email.
    LastEvent {
        /// It waits to be sent.
        Queued = "queued",
        /// It goes out at a later time.
        Scheduled = "scheduled",
        /// It was taken back before it went out.
        Canceled = "canceled",
        /// It left the service.
        Sent = "sent",
        /// The recipient's server took it.
        Delivered = "delivered",
        /// The recipient's server asked to try again later.
        DeliveryDelayed = "delivery_delayed",
        /// The recipient opened it.
        Opened = "opened",
        /// The recipient followed a link in it.
        Clicked = "clicked",
        /// The recipient's server refused it for good.
        Bounced = "bounced",
        /// The recipient called it spam.
        Complained = "complained",
        /// It could not be sent.
        Failed = "failed",
        /// It was not sent because the recipient bounced or complained before.
        Suppressed = "suppressed",
    }
}

impl LastEvent {
    /// Whether the email has arrived: it was delivered, or something happened that only happens afterwards.
    pub fn is_delivered(&self) -> bool {
        matches!(self, Self::Delivered | Self::Opened | Self::Clicked | Self::Complained)
    }

    /// Whether it will never arrive.
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Bounced | Self::Failed | Self::Suppressed | Self::Canceled)
    }
}
