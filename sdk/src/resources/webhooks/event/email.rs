//! Payloads of events about emails.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    resources::shared::EmailAttachmentSummary,
    types::{
        BroadcastId, EmailId, ReceivedEmailId, TemplateId, Timestamp,
        lenient::{Lenient, Reading},
    },
};

record! {
    /// An event about a sent email.
    pub struct EmailEvent {
        /// The email's ID.
        pub email_id: EmailId,
        /// When the email was created, in ISO 8601.
        pub created_at: Option<Timestamp>,
        /// The sender.
        pub from: Option<String>,
        /// The recipients.
        pub to: Vec<String>,
        /// The subject.
        pub subject: Option<String>,
        /// The `Message-ID` header.
        pub message_id: Option<String>,
        /// The broadcast that the email is part of.
        pub broadcast_id: Option<BroadcastId>,
        /// The template from which the email was created.
        pub template_id: Option<TemplateId>,
        /// The tag values by name.
        pub tags: BTreeMap<String, String>,
        /// The custom headers.
        pub headers: Vec<EmailHeader>,
    }

    /// An email bounced permanently.
    pub struct EmailBounced: EmailEvent {
        /// Why the email bounced.
        pub bounce: Bounce,
    }

    /// A link in an email was clicked.
    pub struct EmailClicked: EmailEvent {
        /// The click.
        pub click: Click,
    }

    /// An email failed to be sent.
    pub struct EmailFailed: EmailEvent {
        /// Why the email failed.
        pub failed: Failure,
    }

    /// An email was not sent because the recipient is on the suppression list.
    pub struct EmailSuppressed: EmailEvent {
        /// Why the recipient is on the list.
        pub suppressed: Suppressed,
    }
}

/// A header of an email.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmailHeader {
    /// The header's name.
    pub name: String,
    /// The header's value.
    pub value: String,
}

impl Lenient for EmailHeader {
    fn read(header: &Value) -> Reading<Self> {
        let Some(Value::String(name)) = header.get("name") else { return Reading::Unreadable };
        let Some(value) = header.get("value") else { return Reading::Unreadable };
        String::read(value).map(|value| Self { name: name.clone(), value })
    }

    /// Decodes one entry of a headers object.
    fn from_entry(name: &str, value: &Value) -> Option<Self> {
        match String::read(value) {
            Reading::Exact(value) | Reading::Converted(value) => Some(Self { name: name.to_owned(), value }),
            Reading::Unreadable => None,
        }
    }
}

record! {
    /// Why an email bounced. `kind` and `sub_kind` are plain text, since descriptions of the API disagree on their values.
    #[derive(PartialEq, Eq)]
    pub struct Bounce {
        /// The recipient server's message.
        pub message: Option<String>,
        /// The bounce type, such as `Permanent`, `Transient`, `Temporary` or `Undetermined`.
        pub kind as "type": Option<String>,
        /// The subtype, such as `General`, `NoEmail`, `MailboxFull`, `MessageTooLarge`, `ContentRejected` or `Suppressed`.
        pub sub_kind as "subType": Option<String>,
        /// The recipient server's diagnostic lines.
        pub diagnostic_code as "diagnosticCode": Vec<String>,
    }
}

record! {
    /// A click on a link. The values come from the recipient's browser.
    #[derive(PartialEq, Eq)]
    pub struct Click {
        /// The link.
        pub link: Option<String>,
        /// When the link was clicked, in ISO 8601.
        pub timestamp: Option<Timestamp>,
        /// The recipient's IP address.
        pub ip_address as "ipAddress": Option<String>,
        /// The browser's `User-Agent` header.
        pub user_agent as "userAgent": Option<String>,
    }
}

record! {
    /// Why an email failed to be sent.
    #[derive(PartialEq, Eq)]
    pub struct Failure {
        /// The reason, such as `reached_daily_quota`.
        pub reason: Option<String>,
    }
}

record! {
    /// Why an email was suppressed.
    #[derive(PartialEq, Eq)]
    pub struct Suppressed {
        /// A description.
        pub message: Option<String>,
        /// The type, such as `Suppressed` or `OnAccountSuppressionList`.
        pub kind as "type": Option<String>,
        /// The reason, such as `previous_bounce` or `previous_complaint`.
        pub reason: Option<String>,
        /// The recipient server's diagnostic lines.
        pub diagnostic_code as "diagnosticCode": Vec<String>,
    }
}

record! {
    /// An email was received. [`Received::get`](crate::resources::received::Received::get) returns its body.
    pub struct ReceivedEmailEvent {
        /// The email's ID.
        pub email_id: ReceivedEmailId,
        /// When the email arrived, in ISO 8601.
        pub created_at: Option<Timestamp>,
        /// The `From` address, without a display name. Senders can forge it.
        pub from: Option<String>,
        /// The `To` addresses.
        pub to: Vec<String>,
        /// The `Cc` addresses.
        pub cc: Vec<String>,
        /// The `Bcc` addresses, if the email has any.
        pub bcc: Vec<String>,
        /// The envelope recipients for whom the email was received.
        pub received_for: Vec<String>,
        /// The `Message-ID` header.
        pub message_id: Option<String>,
        /// The subject.
        pub subject: Option<String>,
        /// The attachments.
        pub attachments: Vec<EmailAttachmentSummary>,
    }
}
