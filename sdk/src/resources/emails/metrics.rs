//! Metrics of emails. (The specification doesn't define them; the shapes are Resend's.)

mod query;
mod record;

pub use query::EmailMetricsQuery;
pub use record::{
    EmailMetric, EmailMetricValues, EmailMetrics, EmailMetricsRow, MetricsDimension, MetricsGranularity,
};
