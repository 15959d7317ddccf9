//! Emails as the service returns them.

use serde::{Deserialize, Serialize};

use crate::{
    resources::shared::EmailAttachmentSummary,
    types::{EmailId, Timestamp, TopicId, accepted_id, lenient::null_default},
};

/// An email as accepted by the service. Delivery may still fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Accepted {
    /// The email's ID.
    #[serde(deserialize_with = "accepted_id")]
    pub id: EmailId,
}

/// A batch as accepted by the service.
///
/// IDs and indexes are decoded strictly: a missing entry would assign the others to the wrong emails.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AcceptedBatch {
    /// The accepted emails in the order of the request. Unless the call was permissive, entry i belongs to email i.
    pub data: Vec<Accepted>,
    /// The emails of a permissive batch that were rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_default")]
    pub errors: Vec<BatchError>,
}

record! {
    /// A rejected email of a permissive batch.
    #[derive(PartialEq, Eq)]
    pub struct BatchError {
        /// The email's index in the request, from 0.
        pub index: usize,
        /// Why the email was rejected.
        pub message: String,
    }
}

record! {
    direct
    /// A sent email in a list (`docs/specification.md`, Sent email).
    pub struct SentEmailSummary {
        /// The email's ID.
        pub id: EmailId,
        /// The value of the `Message-ID` header, in angle brackets.
        pub message_id: Option<String>,
        /// The recipients.
        pub to: Vec<String>,
        /// The sender, including the display name if there is one.
        pub from: String,
        /// When the service accepted the email.
        pub created_at: Timestamp,
        /// The subject.
        pub subject: String,
        /// The `Bcc` recipients.
        pub bcc: Option<Vec<String>>,
        /// The `Cc` recipients.
        pub cc: Option<Vec<String>>,
        /// The `Reply-To` addresses.
        pub reply_to: Option<Vec<String>>,
        /// The latest delivery event.
        pub last_event: Option<LastEvent>,
        /// When the email is or was scheduled to be sent.
        pub scheduled_at: Option<Timestamp>,
        /// The topic to whose subscribers the email is restricted. (The specification's table doesn't list it.)
        pub topic_id: Option<TopicId>,
    }

    /// A sent email with its body and attachments. (The specification names both but doesn't define their fields.)
    pub struct SentEmail: SentEmailSummary {
        /// The HTML body.
        pub html: Option<String>,
        /// The plain-text body.
        pub text: Option<String>,
        /// The tags.
        pub tags: Option<Vec<Tag>>,
        /// The attachments with stored content; `None` if the service doesn't list them here.
        pub attachments: Option<Vec<EmailAttachmentSummary>>,
    }
}

items!(SentEmailSummary);

/// A name and a value for classifying emails: ASCII letters, digits, `_` and `-`, at most 256 characters each.
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
        /// The recipient's server asked to retry later.
        DeliveryDelayed = "delivery_delayed",
        /// The recipient opened it.
        Opened = "opened",
        /// The recipient followed a link in it.
        Clicked = "clicked",
        /// The recipient's server rejected it permanently.
        Bounced = "bounced",
        /// The recipient reported it as spam.
        Complained = "complained",
        /// It could not be sent.
        Failed = "failed",
        /// It was not sent: the recipient is on the suppression list.
        Suppressed = "suppressed",
    }
}

impl LastEvent {
    /// Returns whether the email was delivered. Later events, such as an open, imply delivery.
    pub fn is_delivered(&self) -> bool {
        matches!(self, Self::Delivered | Self::Opened | Self::Clicked | Self::Complained)
    }

    /// Returns whether the email will never be delivered.
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Bounced | Self::Failed | Self::Suppressed | Self::Canceled)
    }
}
