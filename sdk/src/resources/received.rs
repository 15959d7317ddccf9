//! Received emails and their attachments (`SPEC.md`, Received email).

mod forward;
mod operations;
mod record;
mod reply;

pub use forward::Forward;
pub use operations::Received;
pub use record::{
    AuthenticationResult, EmailAuthentication, HtmlFormat, RawEmail, ReceivedEmail, ReceivedEmailSummary,
};

pub use super::shared::{ContentDisposition, EmailAttachment, EmailAttachmentSummary};
