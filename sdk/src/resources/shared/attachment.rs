//! Attachments of emails, sent and received.

use crate::types::{AttachmentId, Timestamp};

record! {
    /// An attachment, as listed in its email.
    pub struct EmailAttachmentSummary {
        /// The attachment's ID.
        pub id: AttachmentId,
        /// The file name. The sender chose it, so a received email's may contain `..` and `/`.
        pub filename: Option<String>,
        /// The media type declared in the email.
        pub content_type: Option<String>,
        /// The content ID, to which the HTML body refers as `cid:`.
        pub content_id: Option<String>,
        /// Whether the attachment is shown inline.
        pub content_disposition: Option<ContentDisposition>,
        /// The size in bytes.
        pub size: Option<u64>,
    }

    /// An attachment with an expiring download URL.
    pub struct EmailAttachment: EmailAttachmentSummary {
        /// A signed URL for [`Received::download`](crate::resources::received::Received::download), even for attachments of sent emails.
        pub download_url - url: String,
        /// When the URL expires.
        pub expires_at: Option<Timestamp>,
    }
}

items!(EmailAttachment);

open_enum! {
    /// How an attachment is shown.
    ContentDisposition {
        /// Inline, within the body.
        Inline = "inline",
        /// Separately, as a file.
        Attachment = "attachment",
    }
}
