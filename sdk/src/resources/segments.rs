//! Segments: groups of contacts to which broadcasts are sent.

mod metrics;
mod operations;

pub use metrics::{
    SegmentMetric, SegmentMetricValues, SegmentMetrics, SegmentMetricsDimension, SegmentMetricsQuery,
    SegmentMetricsRow,
};
pub use operations::Segments;

pub use super::shared::Segment;
