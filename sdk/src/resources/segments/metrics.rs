//! Segment metrics. (The specification doesn't define them; the format is that of Resend's private beta.)

use crate::{problem::Validator, resources::shared::join_values, types::SegmentId};

open_enum! {
    /// A count of contacts.
    SegmentMetric {
        /// All contacts.
        AllContacts = "all_contacts",
        /// The contacts that receive broadcasts.
        Subscribers = "subscribers",
        /// The contacts that are unsubscribed from all broadcasts.
        Unsubscribers = "unsubscribers",
    }
}

open_enum! {
    /// A dimension that segment metrics are grouped by.
    SegmentMetricsDimension {
        /// By segment.
        Segment = "segment",
    }
}

/// The parameters of [`Segments::metrics`](super::Segments::metrics), all optional.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct SegmentMetricsQuery {
    metrics: Vec<SegmentMetric>,
    by_segment: bool,
    segments: Vec<SegmentId>,
}

impl SegmentMetricsQuery {
    /// Creates a query without parameters: the totals of all metrics.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the metrics. Default: all of them.
        metrics = [SegmentMetric];
        /// Adds a [row](SegmentMetrics::data) per segment.
        by_segment = true => by_segment;
        /// Counts only the contacts of these segments, at most 100.
        segments = [SegmentId];
    }

    /// Returns the query parameters that are set.
    pub(super) fn parameters(&self) -> Vec<(&'static str, String)> {
        let parameters = [
            ("metrics", join_values(&self.metrics)),
            ("dimensions", join_values(self.by_segment.then_some("segment"))),
            ("segment_id", join_values(&self.segments)),
        ];
        parameters.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    fn validate(&self, v: &mut Validator) {
        v.check_filter("segment_id", self.segments.iter().map(SegmentId::as_str));
    }
}

validate!(SegmentMetricsQuery);

record! {
    /// The values of metrics; `None` for metrics that weren't requested.
    #[derive(PartialEq, Eq)]
    pub struct SegmentMetricValues {
        /// The total number of contacts.
        pub all_contacts: Option<u64>,
        /// The number of contacts that receive broadcasts.
        pub subscribers: Option<u64>,
        /// The number of unsubscribed contacts.
        pub unsubscribers: Option<u64>,
    }
}

record! {
    /// The values for one segment.
    pub struct SegmentMetricsRow {
        /// The segment's ID.
        pub id: SegmentId,
        /// The segment's name.
        pub name: Option<String>,
        /// The total number of contacts in the segment.
        pub all_contacts: Option<u64>,
        /// The number of the segment's contacts that receive broadcasts.
        pub subscribers: Option<u64>,
        /// The number of the segment's unsubscribed contacts.
        pub unsubscribers: Option<u64>,
    }
}

record! {
    /// Counts of contacts, in total and by segment.
    pub struct SegmentMetrics {
        /// The metrics in [`totals`](Self::totals) and [`data`](Self::data).
        pub metrics: Vec<SegmentMetric>,
        /// The dimensions of [`data`](Self::data).
        pub dimensions: Vec<SegmentMetricsDimension>,
        /// The values across all segments; a contact in several segments counts once.
        pub totals: SegmentMetricValues,
        /// The values by segment, newest first, if requested. A contact counts in each of its segments.
        pub data: Vec<SegmentMetricsRow>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::codes;

    #[test]
    fn a_filter_has_at_most_a_hundred_ids_without_commas() {
        let ids = |count: usize| SegmentMetricsQuery::new().segments((0..count).map(|n| n.to_string()));
        assert_eq!(codes(ids(100).check()), "");
        assert_eq!(codes(ids(101).check()), "count /segment_id");
        assert_eq!(codes(SegmentMetricsQuery::new().segments(["a", "b,c"]).check()), "type /segment_id/1");
        let query = SegmentMetricsQuery::new()
            .metrics([SegmentMetric::Subscribers])
            .by_segment()
            .segments(["a", "b"]);
        let text = |name, value: &str| (name, value.to_owned());
        assert_eq!(
            query.parameters(),
            [text("metrics", "subscribers"), text("dimensions", "segment"), text("segment_id", "a,b")]
        );
    }
}
