//! Received emails and their attachments (`SPEC.md`, Received email).

mod operations;
mod record;

pub use operations::Received;
pub use record::{
    AuthenticationResult, EmailAuthentication, HtmlFormat, RawEmail, ReceivedEmail, ReceivedEmailSummary,
};

pub use super::shared::{ContentDisposition, ReceivedAttachment, ReceivedAttachmentSummary};
