//! Metrics as the service returns them.

use crate::types::{BroadcastId, DomainId, EmailId, Timestamp};

open_enum! {
    /// An email metric: a number of events, or the ratio of two such numbers.
    EmailMetric {
        /// The number of emails that the service accepted.
        Received = "received",
        /// The number of sent emails.
        Sent = "sent",
        /// The number of delivered emails.
        Delivered = "delivered",
        /// The number of temporary delivery failures.
        DeliveryDelayed = "delivery_delayed",
        /// The number of emails that could not be sent.
        Failed = "failed",
        /// The number of emails with suppressed recipients.
        Suppressed = "suppressed",
        /// The number of bounces of any type.
        Bounced = "bounced",
        /// The number of temporary bounces.
        BouncedTransient = "bounced_transient",
        /// The number of permanent bounces.
        BouncedPermanent = "bounced_permanent",
        /// The number of bounces of unknown type.
        BouncedUndetermined = "bounced_undetermined",
        /// The number of opens, including repeated ones.
        Opened = "opened",
        /// The number of emails that were opened.
        UniqueOpened = "unique_opened",
        /// The number of clicks, including repeated ones.
        Clicked = "clicked",
        /// The number of emails whose links were clicked.
        UniqueClicked = "unique_clicked",
        /// The number of spam complaints.
        Complained = "complained",
        /// The number of unsubscriptions through unsubscribe links.
        Unsubscribed = "unsubscribed",
        /// The share of sent emails that were delivered, in percent.
        DeliveryRate = "delivery_rate",
        /// The share of sent emails that bounced, in percent.
        BounceRate = "bounce_rate",
        /// The share of delivered emails that were opened, in percent.
        OpenRate = "open_rate",
        /// The share of delivered emails with a click, in percent.
        ClickRate = "click_rate",
        /// The share of delivered emails with a spam complaint, in percent.
        ComplaintRate = "complaint_rate",
        /// The share of delivered emails with an unsubscription, in percent.
        UnsubscribeRate = "unsubscribe_rate",
    }
}

open_enum! {
    /// A dimension that metrics are grouped by.
    MetricsDimension {
        /// By hour, day, week or month: [`MetricsGranularity`].
        Period = "period",
        /// By the sender's domain.
        Domain = "domain",
        /// By email.
        Email = "email",
        /// By broadcast.
        Broadcast = "broadcast",
    }
}

open_enum! {
    /// The length of the periods.
    MetricsGranularity {
        /// Hours.
        Hourly = "hourly",
        /// Days.
        Daily = "daily",
        /// Weeks.
        Weekly = "weekly",
        /// Months.
        Monthly = "monthly",
    }
}

record! {
    /// The values of metrics; `None` for metrics that weren't requested.
    pub struct EmailMetricValues {
        /// The number of emails that the service accepted.
        pub received: Option<u64>,
        /// The number of sent emails.
        pub sent: Option<u64>,
        /// The number of delivered emails.
        pub delivered: Option<u64>,
        /// The number of temporary delivery failures.
        pub delivery_delayed: Option<u64>,
        /// The number of emails that could not be sent.
        pub failed: Option<u64>,
        /// The number of emails with suppressed recipients.
        pub suppressed: Option<u64>,
        /// The number of bounces of any type.
        pub bounced: Option<u64>,
        /// The number of temporary bounces.
        pub bounced_transient: Option<u64>,
        /// The number of permanent bounces.
        pub bounced_permanent: Option<u64>,
        /// The number of bounces of unknown type.
        pub bounced_undetermined: Option<u64>,
        /// The number of opens, including repeated ones.
        pub opened: Option<u64>,
        /// The number of emails that were opened.
        pub unique_opened: Option<u64>,
        /// The number of clicks, including repeated ones.
        pub clicked: Option<u64>,
        /// The number of emails whose links were clicked.
        pub unique_clicked: Option<u64>,
        /// The number of spam complaints.
        pub complained: Option<u64>,
        /// The number of unsubscriptions through unsubscribe links.
        pub unsubscribed: Option<u64>,
        /// The share of sent emails that were delivered, in percent.
        pub delivery_rate: Option<f64>,
        /// The share of sent emails that bounced, in percent.
        pub bounce_rate: Option<f64>,
        /// The share of delivered emails that were opened, in percent.
        pub open_rate: Option<f64>,
        /// The share of delivered emails with a click, in percent.
        pub click_rate: Option<f64>,
        /// The share of delivered emails with a spam complaint, in percent.
        pub complaint_rate: Option<f64>,
        /// The share of delivered emails with an unsubscription, in percent.
        pub unsubscribe_rate: Option<f64>,
    }

    /// The values for one combination of the requested dimensions.
    pub struct EmailMetricsRow: EmailMetricValues {
        /// The period, if requested; days are formatted as `2026-07-01`. (Resend doesn't document the other formats. The sandbox identifies a week or
        /// month by its first day, and an hour by its start with the UTC offset.)
        pub period: Option<String>,
        /// The ID of the sender's domain, if requested. The sandbox has none for unregistered domains.
        pub domain_id: Option<DomainId>,
        /// The domain's name.
        pub domain_name: Option<String>,
        /// The email, if requested.
        pub email_id: Option<EmailId>,
        /// The broadcast, if requested; `None` for emails that aren't part of one.
        pub broadcast_id: Option<BroadcastId>,
        /// The broadcast's name.
        pub broadcast_name: Option<String>,
    }
}

record! {
    /// The metrics of emails over a time range.
    pub struct EmailMetrics {
        /// The beginning, in ISO 8601 format.
        pub start_date: Option<Timestamp>,
        /// The end, in ISO 8601 format. The service replaces a future end with the current time.
        pub end_date: Option<Timestamp>,
        /// The metrics in [`totals`](Self::totals) and [`data`](Self::data).
        pub metrics: Vec<EmailMetric>,
        /// The dimensions of [`data`](Self::data).
        pub dimensions: Vec<MetricsDimension>,
        /// The length of the periods.
        pub granularity: Option<MetricsGranularity>,
        /// The values over the whole range.
        pub totals: EmailMetricValues,
        /// The values by the requested dimensions, with periods in chronological order. Empty without dimensions.
        pub data: Vec<EmailMetricsRow>,
    }
}
