//! Received emails and their attachments (`SPEC.md`, Received email).

mod operations;
mod record;

pub use operations::Received;
pub use record::{RawEmail, ReceivedEmail, ReceivedEmailSummary};

pub use super::shared::{ContentDisposition, ReceivedAttachment, ReceivedAttachmentSummary};
