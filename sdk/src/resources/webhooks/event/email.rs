//! What is told of emails.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::shapes;
use crate::{
    resources::received::ReceivedFile,
    types::{BroadcastId, EmailId, ReceivedEmailId, TemplateId, Timestamp},
};

/// What every event of a sent email says of the email.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailEvent {
    /// The email's id.
    pub email_id: EmailId,
    /// When it was made, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Whom it is from.
    #[serde(default)]
    pub from: Option<String>,
    /// Whom it is for.
    #[serde(default, deserialize_with = "shapes::texts")]
    pub to: Vec<String>,
    /// Its subject.
    #[serde(default)]
    pub subject: Option<String>,
    /// The value of its header `Message-ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The broadcast that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcast_id: Option<BroadcastId>,
    /// The template that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_id: Option<TemplateId>,
    /// Its tags: values by name.
    #[serde(default, deserialize_with = "shapes::tags", skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The headers that it was given.
    #[serde(default, deserialize_with = "shapes::headers", skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<EmailHeader>,
}

/// A header of an email.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// An email was refused for good.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailBounced {
    /// The email.
    #[serde(flatten)]
    pub email: EmailEvent,
    /// Who refused it, and why.
    pub bounce: Bounce,
}

/// Why an email was refused. `kind` and `sub_kind` are open texts: descriptions of the format differ on their values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bounce {
    /// What the recipient's server said.
    #[serde(default)]
    pub message: Option<String>,
    /// Such as `Permanent`, `Transient`, `Temporary` or `Undetermined`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Such as `General`, `NoEmail`, `MailboxFull`, `MessageTooLarge`, `ContentRejected` or `Suppressed`.
    #[serde(default, rename = "subType")]
    pub sub_kind: Option<String>,
    /// The lines of the recipient's server.
    #[serde(
        default,
        rename = "diagnosticCode",
        deserialize_with = "shapes::texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub diagnostic_code: Vec<String>,
}

/// A link in an email was followed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailClicked {
    /// The email.
    #[serde(flatten)]
    pub email: EmailEvent,
    /// Which link, and by whom.
    pub click: Click,
}

/// A click on a link. What it says of the reader comes from the reader's browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Click {
    /// The link.
    #[serde(default)]
    pub link: Option<String>,
    /// When, in ISO 8601.
    #[serde(default)]
    pub timestamp: Option<Timestamp>,
    /// The reader's address.
    #[serde(default, rename = "ipAddress")]
    pub ip_address: Option<String>,
    /// The reader's browser.
    #[serde(default, rename = "userAgent")]
    pub user_agent: Option<String>,
}

/// An email could not be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailFailed {
    /// The email.
    #[serde(flatten)]
    pub email: EmailEvent,
    /// Why.
    pub failed: Failure,
}

/// Why an email could not be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// Such as `reached_daily_quota`.
    #[serde(default)]
    pub reason: Option<String>,
}

/// An email was held back from an address that bounced or complained before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailSuppressed {
    /// The email.
    #[serde(flatten)]
    pub email: EmailEvent,
    /// Why.
    pub suppressed: Suppressed,
}

/// Why an email was held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Suppressed {
    /// In words.
    #[serde(default)]
    pub message: Option<String>,
    /// Such as `Suppressed` or `OnAccountSuppressionList`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Such as `previous_bounce` or `previous_complaint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The lines of the recipient's server.
    #[serde(
        default,
        rename = "diagnosticCode",
        deserialize_with = "shapes::texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub diagnostic_code: Vec<String>,
}

/// An email came in. Its body is not told: ask for it with [`Received::get`](crate::resources::received::Received::get).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReceivedEmailEvent {
    /// The email's id.
    pub email_id: ReceivedEmailId,
    /// When it came in, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Who it says has sent it: a bare address. Anybody can write anything there.
    #[serde(default)]
    pub from: Option<String>,
    /// Whom it names as its recipients.
    #[serde(default, deserialize_with = "shapes::texts")]
    pub to: Vec<String>,
    /// Its further recipients.
    #[serde(default, deserialize_with = "shapes::texts")]
    pub cc: Vec<String>,
    /// Its blind recipients, if it names some.
    #[serde(default, deserialize_with = "shapes::texts")]
    pub bcc: Vec<String>,
    /// The recipients that it came in for.
    #[serde(default, deserialize_with = "shapes::texts")]
    pub received_for: Vec<String>,
    /// The value of its header `Message-ID`.
    #[serde(default)]
    pub message_id: Option<String>,
    /// Its subject.
    #[serde(default)]
    pub subject: Option<String>,
    /// What is attached.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub attachments: Vec<ReceivedFile>,
}
