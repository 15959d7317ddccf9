//! The parameters of a metrics request.

use std::time::Duration;

use super::record::{EmailMetric, MetricsDimension, MetricsGranularity};
use crate::{
    problem::Validator,
    resources::shared::join_values,
    types::{BroadcastId, DomainId, EmailId, Timestamp},
};

/// The time between the beginning of a day and its last moment.
const END_OF_DAY: Duration = Duration::from_nanos(24 * 60 * 60 * 1_000_000_000 - 1);

/// The parameters of [`Emails::metrics`](crate::resources::emails::Emails::metrics), all optional.
///
/// By default, the service returns the totals of all metrics over the last seven days.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct EmailMetricsQuery {
    start_date: Option<Timestamp>,
    end_date: Option<Timestamp>,
    timezone: Option<String>,
    granularity: Option<MetricsGranularity>,
    metrics: Vec<EmailMetric>,
    dimensions: Vec<MetricsDimension>,
    domains: Vec<DomainId>,
    emails: Vec<EmailId>,
    broadcasts: Vec<BroadcastId>,
}

impl EmailMetricsQuery {
    /// Creates a query without parameters.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the beginning: a date (in UTC) or a date and time, in ISO 8601 format. Default: six days before the end.
        start_date: Timestamp;
        /// Sets the end, inclusive: a date includes its whole day. Default: now.
        end_date: Timestamp;
        /// Sets the time zone of the periods by its IANA name, such as `Europe/Berlin`. Default: UTC.
        timezone: String;
        /// Sets the length of the periods; at most 10,000 periods are returned. Default: daily. Has no effect without [`MetricsDimension::Period`].
        granularity: MetricsGranularity;
        /// Sets the metrics. Default: all of them.
        metrics = [EmailMetric];
        /// Sets the dimensions by which the metrics are grouped into [rows](super::EmailMetrics::data). The dimensions email and broadcast are mutually
        /// exclusive.
        dimensions = [MetricsDimension];
        /// Counts only emails from these domains, at most 100.
        domains = [DomainId];
        /// Counts only these emails, at most 100. Mutually exclusive with [`broadcasts`](Self::broadcasts) and the broadcast dimension.
        emails = [EmailId];
        /// Counts only the emails of these broadcasts, at most 100. Mutually exclusive with [`emails`](Self::emails) and the email dimension.
        broadcasts = [BroadcastId];
    }

    /// Returns the query parameters that are set.
    pub(in crate::resources::emails) fn parameters(&self) -> Vec<(&'static str, String)> {
        let parameters = [
            ("start_date", join_values(&self.start_date)),
            ("end_date", join_values(&self.end_date)),
            ("timezone", join_values(&self.timezone)),
            ("granularity", join_values(&self.granularity)),
            ("metrics", join_values(&self.metrics)),
            ("dimensions", join_values(&self.dimensions)),
            ("domain_id", join_values(&self.domains)),
            ("email_id", join_values(&self.emails)),
            ("broadcast_id", join_values(&self.broadcasts)),
        ];
        parameters.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    fn validate(&self, v: &mut Validator) {
        for (name, date) in [("start_date", &self.start_date), ("end_date", &self.end_date)] {
            if let Some(date) = date.as_ref().filter(|date| date.to_system_time().is_none()) {
                v.field(name, |v| {
                    let rule = format!("`{name}` must be an ISO 8601 date, or a date and time");
                    v.report_found("type", rule, date.as_str().escape_debug());
                });
            }
        }
        let end = self.end_date.as_ref().and_then(|end| {
            let last = end.to_system_time()?;
            Some(if is_date(end) { last + END_OF_DAY } else { last })
        });
        let after =
            |start: &&Timestamp| end.zip(start.to_system_time()).is_some_and(|(end, start)| start > end);
        if let Some(start) = self.start_date.as_ref().filter(after) {
            v.field("start_date", |v| {
                v.report_found(
                    "range",
                    "`start_date` must not be after `end_date`",
                    start.as_str().escape_debug(),
                );
            });
        }
        v.check_not_blank("timezone", self.timezone.as_deref());
        let by = |dimension| self.dimensions.contains(&dimension);
        let (by_email, by_broadcast) = (by(MetricsDimension::Email), by(MetricsDimension::Broadcast));
        if by_email && by_broadcast {
            v.report_at(
                "dimensions",
                "exclusive",
                "the dimensions `email` and `broadcast` can't be used together",
            );
        }
        let filters: [(_, Vec<&str>, _, _); 3] = [
            ("domain_id", self.domains.iter().map(DomainId::as_str).collect(), false, ""),
            ("email_id", self.emails.iter().map(EmailId::as_str).collect(), by_broadcast, "broadcast"),
            ("broadcast_id", self.broadcasts.iter().map(BroadcastId::as_str).collect(), by_email, "email"),
        ];
        for (name, ids, is_excluded, dimension) in filters {
            v.check_filter(name, ids.iter().copied());
            if is_excluded && !ids.is_empty() {
                let rule = format!("`{name}` can't be used with the dimension `{dimension}`");
                v.report_at(name, "exclusive", rule);
            }
        }
        if !self.emails.is_empty() && !self.broadcasts.is_empty() {
            v.report_at("broadcast_id", "exclusive", "`email_id` and `broadcast_id` can't be used together");
        }
    }
}

validate!(EmailMetricsQuery);

/// Returns whether this is a date without a time, which stands for the whole day.
fn is_date(date: &Timestamp) -> bool {
    date.as_str().len() == "2026-07-01".len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::codes;

    #[test]
    fn lists_are_joined_by_commas_and_absent_parameters_are_left_out() {
        assert_eq!(EmailMetricsQuery::new().parameters(), []);
        let query = EmailMetricsQuery::new()
            .start_date("2026-07-01")
            .metrics([EmailMetric::Sent, EmailMetric::OpenRate])
            .dimensions([MetricsDimension::Period, MetricsDimension::Domain])
            .granularity(MetricsGranularity::Weekly)
            .emails(["a", "b"]);
        let text = |name, value: &str| (name, value.to_owned());
        assert_eq!(
            query.parameters(),
            [
                text("start_date", "2026-07-01"),
                text("granularity", "weekly"),
                text("metrics", "sent,open_rate"),
                text("dimensions", "period,domain"),
                text("email_id", "a,b"),
            ]
        );
        assert_eq!(codes(query.check()), "");
    }

    #[test]
    fn dates_must_be_valid_and_in_order() {
        let dates =
            |start: &str, end: &str| codes(EmailMetricsQuery::new().start_date(start).end_date(end).check());
        for (start, end) in [
            ("2026-07-01", "2026-07-01"),
            ("2026-07-01T12:00:00Z", "2026-07-01"),
            ("2026-07-02T01:00:00+02:00", "2026-07-01"),
            ("2026-07-01T12:00:00+02:00", "2026-07-01T10:00:00Z"),
        ] {
            assert_eq!(dates(start, end), "", "{start} {end}");
        }
        for start in ["2026-07-02", "2026-07-02T00:00:00Z", "2026-07-01T23:00:00-02:00"] {
            assert_eq!(dates(start, "2026-07-01"), "range /start_date", "{start}");
        }
        assert_eq!(dates("2026-07-01T12:00:01Z", "2026-07-01T12:00:00Z"), "range /start_date");
        assert_eq!(dates("yesterday", "2026-07-01"), "type /start_date");
        assert_eq!(dates("2026-07-01", ""), "type /end_date");
    }

    #[test]
    fn emails_and_broadcasts_exclude_each_other() {
        use MetricsDimension::{Broadcast, Domain, Email};
        let query = EmailMetricsQuery::new;
        assert_eq!(codes(query().dimensions([Email, Broadcast]).check()), "exclusive /dimensions");
        assert_eq!(codes(query().emails(["e"]).dimensions([Broadcast]).check()), "exclusive /email_id");
        assert_eq!(codes(query().broadcasts(["b"]).dimensions([Email]).check()), "exclusive /broadcast_id");
        assert_eq!(codes(query().emails(["e"]).broadcasts(["b"]).check()), "exclusive /broadcast_id");
        assert_eq!(codes(query().emails(["e"]).domains(["d"]).dimensions([Email, Domain]).check()), "");
    }

    #[test]
    fn a_filter_has_at_most_a_hundred_ids() {
        let ids = |count: usize| (0..count).map(|n| n.to_string());
        assert_eq!(codes(EmailMetricsQuery::new().domains(ids(100)).check()), "");
        assert_eq!(codes(EmailMetricsQuery::new().domains(ids(101)).check()), "count /domain_id");
        assert_eq!(codes(EmailMetricsQuery::new().emails(["a,b"]).check()), "type /email_id/0");
        assert_eq!(EmailMetricsQuery::new().timezone(" ").check().unwrap_err().len(), 1);
    }
}
