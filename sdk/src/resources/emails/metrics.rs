//! Email metrics. (The specification doesn't define them; the format is Resend's.)

mod query;
mod record;

pub use query::EmailMetricsQuery;
pub use record::{
    EmailMetric, EmailMetricValues, EmailMetrics, EmailMetricsRow, MetricsDimension, MetricsGranularity,
};
