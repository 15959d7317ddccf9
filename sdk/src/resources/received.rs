//! Received emails and their attachments (`docs/specification.md`, Received email).

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
