//! Received emails as the service returns them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    resources::shared::ReceivedAttachmentSummary,
    types::{ReceivedEmailId, Timestamp},
};

record! {
    /// A received email in a list.
    pub struct ReceivedEmailSummary {
        /// The email's ID.
        pub id: ReceivedEmailId,
        /// The `To` addresses.
        pub to: Vec<String>,
        /// The `From` address. Senders can forge it.
        pub from: Option<String>,
        /// When the email arrived.
        pub created_at: Timestamp,
        /// The subject.
        pub subject: Option<String>,
        /// The `Bcc` addresses, if the email has any.
        pub bcc: Vec<String>,
        /// The `Cc` addresses.
        pub cc: Vec<String>,
        /// The `Reply-To` addresses.
        pub reply_to: Vec<String>,
        /// The `Message-ID` header.
        pub message_id: Option<String>,
        /// The envelope recipients that the email was received for. (The specification is silent on this field.)
        pub received_for: Vec<String>,
        /// The attachments.
        pub attachments: Vec<ReceivedAttachmentSummary>,
    }

    /// A received email with its bodies. (The specification is silent on this record.)
    pub struct ReceivedEmail: ReceivedEmailSummary {
        /// The HTML body, which is untrusted.
        pub html: Option<String>,
        /// The plain-text body.
        pub text: Option<String>,
        /// The headers by lower-case name.
        pub headers: Option<BTreeMap<String, Value>>,
        /// The download of the raw message.
        pub raw: Option<RawEmail>,
    }
}

items!(ReceivedEmailSummary);

record! {
    /// The download of a raw message (RFC 5322).
    pub struct RawEmail {
        /// A signed URL for [`Received::download`](super::Received::download).
        pub download_url: String,
        /// When the URL expires.
        pub expires_at: Option<Timestamp>,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn null_lists_are_empty() {
        // RECV-07
        let email: ReceivedEmailSummary = from_value(json!({
            "id": "e", "created_at": "2026-01-01T00:00:00Z", "to": null, "cc": null, "bcc": null, "reply_to": null, "attachments": null,
        }))
        .unwrap();
        assert!(email.to.is_empty() && email.cc.is_empty() && email.attachments.is_empty());
    }

    #[test]
    fn an_attachment_without_an_id_or_with_a_malformed_size_never_fails_the_email() {
        let attachments =
            json!([{ "id": "a1", "size": 1e30 }, { "size": 3 }, "x", { "id": 2, "size": "12" }]);
        let email: ReceivedEmail =
            from_value(json!({ "id": "e", "to": "a@x.test", "attachments": attachments, "headers": 1 }))
                .unwrap();
        let sizes: Vec<_> = email.attachments.iter().map(|file| (file.id.as_str(), file.size)).collect();
        assert_eq!(sizes, [("a1", None), ("2", Some(12))]);
        assert_eq!(email.to, ["a@x.test"]);
        assert_eq!(to_value(&email).unwrap()["attachments"], attachments);
    }
}
