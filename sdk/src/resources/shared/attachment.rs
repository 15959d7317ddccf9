//! Attachments of emails, sent and received.

use crate::types::{AttachmentId, Timestamp};

record! {
    /// An attachment, as listed in its email.
    pub struct EmailAttachmentSummary {
        /// The attachment's ID.
        pub id: AttachmentId,
        /// The file name. The sender chose it: that of a received email can contain `..` and `/`.
        pub filename: Option<String>,
        /// The media type that the email declares.
        pub content_type: Option<String>,
        /// The content ID that the HTML body refers to as `cid:`.
        pub content_id: Option<String>,
        /// Whether the attachment is shown inline.
        pub content_disposition: Option<ContentDisposition>,
        /// The size in bytes.
        pub size: Option<u64>,
    }

    /// An attachment with a download URL that expires.
    pub struct EmailAttachment: EmailAttachmentSummary {
        /// A signed URL for [`Received::download`](crate::resources::received::Received::download), also of a sent email.
        pub download_url: String,
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

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn an_attachment_size_of_any_form_never_fails_the_record() {
        for (size, read) in
            [(json!(1e30), None), (json!(-1), None), (json!("12"), Some(12)), (json!(12), Some(12))]
        {
            let sent = json!({ "id": "a", "size": size, "content_disposition": 7 });
            let file: EmailAttachmentSummary = from_value(sent).unwrap();
            assert_eq!((file.size, &to_value(&file).unwrap()["size"]), (read, &size));
            assert_eq!(to_value(&file).unwrap()["content_disposition"], 7);
        }
    }
}
