//! Received emails as the service returns them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    resources::shared::EmailAttachmentSummary,
    types::{ReceivedEmailId, Timestamp},
};

record! {
    /// A received email in a list.
    pub struct ReceivedEmailSummary {
        /// The email's ID.
        pub id: ReceivedEmailId,
        /// The `To` addresses.
        pub to: Vec<String>,
        /// The `From` address without a display name. Senders can forge it: see [`EmailAuthentication`].
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
        /// The envelope recipients for whom the email was received. (The specification doesn't define this field.)
        pub received_for: Vec<String>,
        /// The attachments.
        pub attachments: Vec<EmailAttachmentSummary>,
    }

    /// A received email with its bodies. (The specification doesn't define this record.)
    pub struct ReceivedEmail: ReceivedEmailSummary {
        /// The HTML body, which is untrusted.
        pub html: Option<String>,
        /// How the HTML refers to the email's images. It may differ from the requested format: above 100 MB, the service returns [`HtmlFormat::Cid`].
        pub html_format: Option<HtmlFormat>,
        /// The plain-text body.
        pub text: Option<String>,
        /// The headers by lower-case name.
        pub headers: Option<BTreeMap<String, Value>>,
        /// The results of the service's sender checks.
        pub authentication: Option<EmailAuthentication>,
        /// The raw message's download.
        pub raw: Option<RawEmail>,
    }
}

items!(ReceivedEmailSummary);

open_enum! {
    /// How a received email's HTML refers to its images: [`Call::html_format`](crate::Call::html_format).
    HtmlFormat {
        /// The images are embedded as `data:` URIs. The default.
        DataUri = "data_uri",
        /// As in the message: `cid:` followed by the content ID of an attachment.
        Cid = "cid",
    }
}

record! {
    /// The results of the service's sender checks for a received email. (The specification doesn't define them; the format is Resend's.)
    ///
    /// Any `From` address can be forged. Only DMARC (RFC 7489) ties the checks to that address: SPF and DKIM may pass for another domain.
    #[derive(PartialEq, Eq)]
    pub struct EmailAuthentication {
        /// SPF (RFC 7208): whether the sending server may send for the envelope sender's domain.
        pub spf: Option<AuthenticationResult>,
        /// DKIM (RFC 6376): whether a signature of the email is valid.
        pub dkim: Option<AuthenticationResult>,
        /// DMARC: whether SPF or DKIM passed for the domain of the `From` address.
        pub dmarc: Option<AuthenticationResult>,
    }
}

open_enum! {
    /// The result of one sender check.
    AuthenticationResult {
        /// The check passed.
        Pass = "pass",
        /// The check failed.
        Fail = "fail",
        /// Neither: the domain has no policy, or a weak one.
        Gray = "gray",
        /// The check couldn't be completed.
        ProcessingFailed = "processing_failed",
        /// The email wasn't checked: `unknown` on the wire.
        Unchecked = "unknown",
    }
}

impl ReceivedEmail {
    /// Returns whether the domain of the `From` address authorized this email, that is, whether DMARC passed. `false` if the service didn't check
    /// that.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let email = client.received().get("4ef9a417-02e9-4d39-ad75-9611e0fcc33c").await?;
    /// if !email.is_authenticated() {
    ///     println!("{:?} may be forged: {:?}", email.from, email.authentication);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_authenticated(&self) -> bool {
        let dmarc = self.authentication.as_ref().and_then(|checks| checks.dmarc.as_ref());
        dmarc == Some(&AuthenticationResult::Pass)
    }
}

record! {
    /// The download of a raw message (RFC 5322).
    pub struct RawEmail {
        /// A signed URL for [`Received::download`](super::Received::download).
        pub download_url - url: String,
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
    fn an_email_is_authenticated_only_if_dmarc_passed() {
        let read = |authentication: Value| {
            from_value::<ReceivedEmail>(json!({ "id": "e", "authentication": authentication })).unwrap()
        };
        for (authentication, expected) in [
            (json!({ "spf": "pass", "dkim": "pass", "dmarc": "pass" }), true),
            (json!({ "dmarc": "pass" }), true),
            (json!({ "spf": "pass", "dkim": "pass", "dmarc": "fail" }), false),
            (json!({ "spf": "pass", "dkim": "pass", "dmarc": "gray" }), false),
            (json!({ "spf": "pass", "dkim": "pass" }), false),
            (json!({ "dmarc": "PASS" }), false),
            (json!({ "dmarc": true }), false),
            (json!({}), false),
            (json!("pass"), false),
            (json!(null), false),
        ] {
            let email = read(authentication.clone());
            assert_eq!(email.is_authenticated(), expected, "{authentication}");
        }
        let unchecked =
            read(json!({ "spf": "unknown", "dkim": "processing_failed" })).authentication.unwrap();
        assert_eq!(unchecked.spf, Some(AuthenticationResult::Unchecked));
        assert_eq!(unchecked.dkim, Some(AuthenticationResult::ProcessingFailed));
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
