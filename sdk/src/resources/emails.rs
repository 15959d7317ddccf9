//! Emails: sending, individually or in batches, and sent emails.

mod fields;
mod from_json;
#[cfg(feature = "lettre")]
mod from_lettre;
mod message;
mod metrics;
mod new;
mod operations;
mod record;
mod share;

pub use super::shared::Attachment;
pub use fields::{EmailFields, TemplateFields};
pub use metrics::{
    EmailMetric, EmailMetricValues, EmailMetrics, EmailMetricsQuery, EmailMetricsRow, MetricsDimension,
    MetricsGranularity,
};
pub use new::{BatchEmail, Email, check_batch};
pub use operations::Emails;
pub use record::{Accepted, AcceptedBatch, BatchError, LastEvent, SentEmail, SentEmailSummary, Tag};
pub use share::SharedEmail;
