//! Received emails and what is attached to them (`SPEC.md`, Received email).

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use serde::{Deserialize, Serialize};

use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    types::{AttachmentId, ReceivedEmailId, Timestamp},
};

/// A received email in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReceivedEmailSummary {
    /// The email's id.
    pub id: ReceivedEmailId,
    /// Whom it names as its recipients.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub to: Vec<String>,
    /// Who it says has sent it. Anybody can write anything there.
    #[serde(default)]
    pub from: Option<String>,
    /// When it came in.
    pub created_at: Timestamp,
    /// Its subject.
    #[serde(default)]
    pub subject: Option<String>,
    /// Its blind recipients, if it names some.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub bcc: Vec<String>,
    /// Its further recipients.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub cc: Vec<String>,
    /// Where answers are to go.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub reply_to: Vec<String>,
    /// The value of its header `Message-ID`.
    #[serde(default)]
    pub message_id: Option<String>,
    /// The recipients that it came in for. (The specification doesn't name this field.)
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub received_for: Vec<String>,
    /// What is attached.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub attachments: Vec<ReceivedFile>,
}

impl Item for ReceivedEmailSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A received email with its bodies. (The specification is silent on this record.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReceivedEmail {
    /// What the list says of it.
    #[serde(flatten)]
    pub summary: ReceivedEmailSummary,
    /// The HTML body. Strangers wrote it.
    #[serde(default)]
    pub html: Option<String>,
    /// The text body.
    #[serde(default)]
    pub text: Option<String>,
    /// Its headers by lower-case name.
    #[serde(default)]
    pub headers: Option<BTreeMap<String, serde_json::Value>>,
    /// Where the mail itself can be had as it came.
    #[serde(default)]
    pub raw: Option<RawEmail>,
}

/// Where a mail can be had as it came.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RawEmail {
    /// A signed address for [`Received::download`].
    pub download_url: String,
    /// When the address stops working.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// What a received email says of a file in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReceivedFile {
    /// The attachment's id.
    pub id: AttachmentId,
    /// Its name. A stranger chose it: it can hold `..` and `/`.
    #[serde(default)]
    pub filename: Option<String>,
    /// Its media type, as the mail says.
    #[serde(default)]
    pub content_type: Option<String>,
    /// What the HTML refers to as `cid:`.
    #[serde(default)]
    pub content_id: Option<String>,
    /// Whether it is shown within the body.
    #[serde(default)]
    pub content_disposition: Option<ContentDisposition>,
    /// In bytes.
    #[serde(default)]
    pub size: Option<u64>,
}

/// A file of a received email, and where it can be had for a while.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReceivedAttachment {
    /// What the email says of it.
    #[serde(flatten)]
    pub file: ReceivedFile,
    /// A signed address for [`Received::download`].
    pub download_url: String,
    /// When the address stops working.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

impl Item for ReceivedAttachment {
    fn cursor(&self) -> Option<&str> {
        Some(self.file.id.as_str())
    }
}

open_enum! {
    /// Where a file of an email is shown.
    ContentDisposition {
        /// Within the body.
        Inline = "inline",
        /// Beside it.
        Attachment = "attachment",
    }
}

/// The operations on received emails: [`Client::received`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// for email in client.received().list().await?.data {
///     let whole = client.received().get(&email.id).await?;
///     for attachment in client.received().attachments(&email.id).await?.data {
///         let again = client.received().attachment(&email.id, &attachment.file.id).await?;
///         let bytes = client.received().download(&again.download_url).await?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    client: &'a Client,
}

impl Client {
    /// Received emails, and what is attached to them.
    pub fn received(&self) -> Received<'_> {
        Received { client: self }
    }
}

impl Received<'_> {
    /// The received emails, newest first: `GET /emails/receiving`, all of them unless a limit is given.
    pub fn list(&self) -> List<ReceivedEmailSummary> {
        List::new(self.client, Operation::get("received.list", "/emails/receiving"))
    }

    /// The emails that came in after this one: [`list`](Self::list) from there towards newer ones. Streamed, the oldest of them comes first,
    /// and what comes in while the pages are walked follows at the end; so asking again with the last id that was seen loses nothing and repeats
    /// nothing, however much came in between.
    ///
    /// A service may forget the email itself; it then refuses the id, as [`Error::Api`](crate::Error::Api) (the specification is silent on that).
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client, mut last: posthaste::ReceivedEmailId) -> posthaste::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut new = client.received().since(&last).stream();
    /// while let Some(email) = new.try_next().await? {
    ///     println!("{:?} wrote: {:?}", email.from, email.subject);
    ///     last = email.id;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn since(&self, id: impl Into<ReceivedEmailId>) -> List<ReceivedEmailSummary> {
        self.list().before(id.into())
    }

    /// One received email: `GET /emails/receiving/{email_id}`.
    pub fn get(&self, id: impl Into<ReceivedEmailId>) -> Call<ReceivedEmail> {
        let operation =
            Operation::on("received.get", Method::GET, "/emails/receiving/", id.into().as_str(), "");
        Call::new(&self.client.core, operation)
    }

    /// What is attached to an email, in the order of the mail: `GET /emails/receiving/{email_id}/attachments`, all of it unless a limit is given.
    pub fn attachments(&self, id: impl Into<ReceivedEmailId>) -> List<ReceivedAttachment> {
        let id = id.into();
        let operation = Operation::on(
            "received.attachments",
            Method::GET,
            "/emails/receiving/",
            id.as_str(),
            "/attachments",
        );
        List::new(self.client, operation)
    }

    /// One attachment, with an address that works anew: `GET /emails/receiving/{email_id}/attachments/{attachment_id}`.
    pub fn attachment(
        &self,
        id: impl Into<ReceivedEmailId>,
        attachment: impl Into<AttachmentId>,
    ) -> Call<ReceivedAttachment> {
        let (id, attachment) = (id.into(), attachment.into());
        let operation = Operation::on_inner(
            "received.attachment",
            Method::GET,
            ("/emails/receiving/", id.as_str()),
            ("/attachments/", attachment.as_str()),
            "",
        );
        Call::new(&self.client.core, operation)
    }

    /// Downloads what a `download_url` leads to: into memory when awaited (at most
    /// [`ClientBuilder::response_limit`](crate::ClientBuilder::response_limit) bytes), or into a writer with [`Call::write_to`].
    ///
    /// The address is the permission, and it may be another company's: neither the client's credential nor the headers that it was built with
    /// go there, redirects are not followed, and a client that talks https doesn't fetch by plain http.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if it is no absolute address, or not an https one although the client's is;
    /// [`Error::Api`](crate::Error::Api) with status 403 once the address has expired.
    pub fn download(&self, url: &str) -> Call<Bytes> {
        Call::download(
            &self.client.core,
            Operation::external("received.download", url, &self.client.core.base_url),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_where_an_array_belongs_is_none() {
        // RECV-07
        let email: ReceivedEmailSummary = serde_json::from_value(json!({
            "id": "e", "created_at": "2026-01-01T00:00:00Z", "to": null, "cc": null, "bcc": null, "reply_to": null, "attachments": null,
        }))
        .unwrap();
        assert!(email.to.is_empty() && email.cc.is_empty() && email.attachments.is_empty());
    }
}
