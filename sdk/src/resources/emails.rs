//! Emails: sent one at a time or in batches, and sent emails.

mod fields;
mod from_json;
mod message;
mod new;
mod operations;
mod record;
mod variable;

pub use super::shared::Attachment;
pub use fields::{EmailFields, TemplateFields};
pub use new::{BatchEmail, Email, check_batch};
pub use operations::Emails;
pub use record::{Accepted, AcceptedBatch, BatchError, LastEvent, SentEmail, SentEmailSummary, Tag};
pub use variable::VariableValue;
