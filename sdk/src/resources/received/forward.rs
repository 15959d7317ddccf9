//! Forwarding received emails.

use std::{
    future::{Future, IntoFuture},
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use tokio::io::AsyncWrite;

use super::{
    record::{HtmlFormat, ReceivedEmail},
    reply::{NO_SUBJECT, prefix_subject, to_one_line},
};
use crate::{
    client::Client,
    error::{Error, Result},
    problem::{Problem, limits},
    resources::{
        emails::{Attachment, Email},
        shared::EmailAttachment,
    },
    types::ReceivedEmailId,
};

/// The maximum total size of an email's attachments in bytes, before Base64.
const MAX_BYTES: u64 = limits::ATTACHMENTS_ENCODED_BYTES / 4 * 3;

/// A lazy request that prepares an [`Email`] from a received one: `.await` it.
///
/// It only reads, so it can be repeated: the same received email always yields the same email, so if both are sent with the same idempotency key,
/// only one is delivered. (The specification defines no operation for this.)
///
/// Downloads follow the rules of [`Received::download`](super::Received::download). At most 30 MB, the maximum that can be sent, are held in memory.
///
/// # Errors
/// The errors of the calls; [`Error::Invalid`] if the attachments exceed 30 MB or the service has no raw message.
#[derive(Debug)]
#[must_use = "a forward does nothing until it is awaited"]
pub struct Forward {
    client: Client,
    id: ReceivedEmailId,
    as_attachment: bool,
}

impl Forward {
    pub(super) fn new(client: &Client, id: ReceivedEmailId, as_attachment: bool) -> Self {
        Self { client: client.clone(), id, as_attachment }
    }

    /// Prepares the email and blocks the thread until it is complete (feature `blocking`).
    ///
    /// # Errors
    /// The errors of the preparation.
    #[cfg(feature = "blocking")]
    pub fn blocking(self) -> Result<Email> {
        crate::client::block_on(self.into_future())
    }

    async fn prepare(self) -> Result<Email> {
        let received = self.client.received();
        let email = received.get(&self.id).html_format(HtmlFormat::Cid).await?;
        if self.as_attachment {
            self.forward_as_attachment_email(&email).await
        } else {
            self.forward_as_copy(&email).await
        }
    }

    async fn forward_as_attachment_email(&self, email: &ReceivedEmail) -> Result<Email> {
        let raw = email.raw.as_ref().filter(|raw| !raw.download_url.is_empty()).ok_or_else(|| {
            Problem::new(
                "/raw",
                "required",
                "an email can't be forwarded as an attachment without its raw message",
            )
        })?;
        let content = self.download(&raw.download_url, &mut 0).await?;
        let file = Attachment::from_bytes("forwarded_message.eml", content).content_type("message/rfc822");
        Ok(Email::default().subject(prefix_subject("Fwd:", email.subject.as_deref())).attach(file))
    }

    async fn forward_as_copy(&self, email: &ReceivedEmail) -> Result<Email> {
        let subject = to_one_line(email.subject.as_deref().unwrap_or_default());
        let mut copy = Email::default().subject(if subject.is_empty() { NO_SUBJECT } else { &subject });
        let filled = |body: &Option<String>| body.clone().filter(|body| !body.is_empty());
        copy = filled(&email.html).into_iter().fold(copy, Email::html);
        copy = filled(&email.text).into_iter().fold(copy, Email::text);
        if copy.fields().html.is_none() && copy.fields().text.is_none() {
            // An email must have a body, even if it consists only of attachments.
            copy = copy.text(" ");
        }
        let files: Vec<_> = self.client.received().attachments(&self.id).stream().try_collect().await?;
        // Checked before the download, using the stated sizes.
        let announced =
            files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size.unwrap_or_default()));
        if announced > MAX_BYTES {
            return Err(too_large(announced));
        }
        let mut downloaded = 0;
        for file in &files {
            let content = self.download(&file.download_url, &mut downloaded).await?;
            copy = copy.attach(attachment(file, content));
        }
        Ok(copy)
    }

    /// Downloads a file, unless the total size of all files exceeds the maximum that can be sent.
    async fn download(&self, url: &str, downloaded: &mut u64) -> Result<Bytes> {
        let mut content = Limited { bytes: Vec::new(), left: MAX_BYTES - *downloaded };
        match self.client.received().download(url).write_to(&mut content).await {
            Ok(size) => *downloaded += size,
            Err(Error::Write(_)) => return Err(too_large(MAX_BYTES + 1)),
            Err(error) => return Err(error),
        }
        Ok(content.bytes.into())
    }
}

impl IntoFuture for Forward {
    type Output = Result<Email>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Email>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.prepare())
    }
}

fn too_large(found: u64) -> Error {
    let rule = "the attachments of a forwarded email must have at most 30 MB in total (40 MB after Base64)";
    Problem::new("/attachments", "size", rule).with_value(format_args!("at least {found} bytes")).into()
}

/// Creates the attachment for a copy. The sender chose all fields, so values that aren't valid in an email are omitted.
fn attachment(file: &EmailAttachment, content: Bytes) -> Attachment {
    let name = to_one_line(file.filename.as_deref().unwrap_or_default());
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let copy = Attachment::from_bytes(if name.is_empty() { "attachment" } else { name }, content);
    let content_type = file.content_type.as_deref().filter(|kind| is_media_type(kind));
    let copy = content_type.into_iter().fold(copy, Attachment::content_type);
    let id = file.content_id.as_deref().map(|id| id.trim_matches(['<', '>']));
    let id = id.filter(|id| {
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'))
    });
    id.into_iter().fold(copy, Attachment::content_id)
}

/// Returns whether this is `type/subtype`, except `multipart`, which can't be a file (RFC 2046).
fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, subtype)| {
        token(kind) && token(subtype) && !kind.eq_ignore_ascii_case("multipart")
    })
}

/// A buffer that rejects data beyond its limit.
struct Limited {
    bytes: Vec<u8>,
    left: u64,
}

impl AsyncWrite for Limited {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let left = self.left.checked_sub(bytes.len() as u64);
        Poll::Ready(left.map_or_else(
            || Err(io::Error::from(io::ErrorKind::FileTooLarge)),
            |left| {
                self.left = left;
                self.bytes.extend_from_slice(bytes);
                Ok(bytes.len())
            },
        ))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
