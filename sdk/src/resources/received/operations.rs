//! The operations on received emails.

use bytes::Bytes;

use super::{
    forward::Forward,
    record::{HtmlFormat, ReceivedEmail, ReceivedEmailSummary},
};
use crate::{
    call::{Call, Operation},
    client::List,
    resources::{emails::SharedEmail, shared::EmailAttachment},
    types::{AttachmentId, ReceivedEmailId},
};

operations! {
    /// The operations on received emails: [`Client::received`](crate::Client::received).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// for email in client.received().list().await?.data {
    ///     let whole = client.received().get(&email.id).await?;
    ///     for attachment in client.received().attachments(&email.id).await?.data {
    ///         let fresh = client.received().attachment(&email.id, &attachment.id).await?;
    ///         let bytes = client.received().download(&fresh.download_url).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct Received;

    /// Returns the operations on received emails and their attachments.
    accessor received;

    /// Lists received emails, newest first: `GET /emails/receiving`. Awaited without a page size, it returns all of them.
    fn list() -> List<ReceivedEmailSummary> = GET["/emails/receiving"];

    /// Gets a received email with its bodies: `GET /emails/receiving/{email_id}`. [`Call::html_format`] selects how the HTML refers to images.
    fn get(id: ReceivedEmailId) -> Call<ReceivedEmail> = GET["/emails/receiving/" id];

    /// Lists a received email's attachments in order: `GET /emails/receiving/{email_id}/attachments`. Awaited without a page size, it returns all of
    /// them.
    fn attachments(id: ReceivedEmailId) -> List<EmailAttachment> = GET["/emails/receiving/" id "/attachments"];

    /// Gets an attachment with a new download URL: `GET /emails/receiving/{email_id}/attachments/{attachment_id}`.
    fn attachment(id: ReceivedEmailId, attachment: AttachmentId) -> Call<EmailAttachment>
        = GET["/emails/receiving/" id "/attachments/" attachment];

    /// Creates a link that lets anyone read a received email for 48 hours: `POST /emails/{id}/share`. [`Call::expires_in`] shortens this time. A link
    /// can't be revoked. (The specification doesn't define this operation.)
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use std::time::Duration;
    ///
    /// let id = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c";
    /// let link = client.received().share(id).expires_in(Duration::from_secs(7_200)).await?;
    /// println!("{}", link.url);
    /// # Ok(())
    /// # }
    /// ```
    fn share(id: ReceivedEmailId) -> Call<SharedEmail> = POST["/emails/" id "/share"].idempotent();
}

impl Received<'_> {
    /// Lists the emails received after a given one, newest first. As a stream, it starts with the oldest of them and includes emails that arrive in
    /// the meantime, so a program that resumes from the last processed ID neither misses nor repeats an email.
    ///
    /// If the service has deleted the given email, it rejects the ID with [`Error::Api`](crate::Error::Api) (the specification doesn't define this).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, mut last: idempost::ReceivedEmailId) -> idempost::Result<()> {
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

    /// Prepares a copy of a received email, with its subject, bodies and attachments, for other recipients. Set the sender and recipients, and
    /// [send](crate::resources::emails::Emails::send) it.
    ///
    /// It requests the email and downloads its attachments, including inline images. Other headers of the email aren't copied.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let id = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c";
    /// let email = client.received().forward(id).await?.from("hi@acme.test").to("ada@example.com");
    /// client.emails().send(&email).idempotency_key(format!("forward-{id}")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn forward(&self, id: impl Into<ReceivedEmailId>) -> Forward {
        Forward::new(self.client, id.into(), false)
    }

    /// Prepares an email that contains the received one, complete and unchanged, as the attachment `forwarded_message.eml`. Set the sender,
    /// recipients and a body, and [send](crate::resources::emails::Emails::send) it. The subject gets the prefix `Fwd: `.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let id = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c";
    /// let email = client.received().forward_as_attachment(id).await?;
    /// let email = email.from("hi@acme.test").to("abuse@example.com").text("This is what we received.");
    /// client.emails().send(&email).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn forward_as_attachment(&self, id: impl Into<ReceivedEmailId>) -> Forward {
        Forward::new(self.client, id.into(), true)
    }

    /// Downloads the content of a received email's or an attachment's `download_url`: into memory when awaited (at most
    /// [`ClientBuilder::response_limit`](crate::ClientBuilder::response_limit) bytes), or into a writer with [`Call::write_to`].
    ///
    /// The URL itself authorizes the download and may be on another host: the client sends neither its credential nor its default headers, follows no
    /// redirects, and rejects plain http if its base URL is https.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the URL isn't absolute, or isn't https although the base URL is;
    /// [`Error::Api`](crate::Error::Api) with status 403 if the URL has expired.
    pub fn download(&self, url: &str) -> Call<Bytes> {
        let core = &self.client.core;
        Call::download(core, Operation::external("received.download", url, &core.base_url))
    }
}

impl Call<ReceivedEmail> {
    /// Sets how the HTML refers to the email's images. By default, they are embedded as `data:` URIs; with [`HtmlFormat::Cid`], the response is
    /// small, and each image is an attachment with a `content_id`. (The specification doesn't define this parameter.)
    pub fn html_format(self, format: impl Into<HtmlFormat>) -> Self {
        self.with_query("html_format", format.into().as_str())
    }
}
