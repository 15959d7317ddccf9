//! A report on the last days: an alert for days and domains with many bounces or complaints, and the share of contacts that are still subscribed.

use idempost::{
    Client,
    emails::{EmailMetric, EmailMetricsQuery, EmailMetricsRow, MetricsDimension},
    segments::{SegmentMetricsQuery, SegmentMetricsRow},
};

/// Percentages above which mailbox providers start to distrust a sender.
const MAX_BOUNCE_RATE: f64 = 5.0;
const MAX_COMPLAINT_RATE: f64 = 0.1;

/// The days and domains with too many bounces or complaints.
async fn alarming(client: &Client, since: &str) -> idempost::Result<Vec<EmailMetricsRow>> {
    let query = EmailMetricsQuery::new()
        .start_date(since)
        .metrics([EmailMetric::Sent, EmailMetric::BounceRate, EmailMetric::ComplaintRate])
        .dimensions([MetricsDimension::Period, MetricsDimension::Domain]);
    let rows = client.emails().metrics(&query).await?.data.into_iter();
    let above = |rate: Option<f64>, max| rate.is_some_and(|rate| rate > max);
    let bounced = |row: &EmailMetricsRow| above(row.bounce_rate, MAX_BOUNCE_RATE);
    let complained = |row: &EmailMetricsRow| above(row.complaint_rate, MAX_COMPLAINT_RATE);
    Ok(rows.filter(|row| bounced(row) || complained(row)).collect())
}

/// The share of subscribed contacts of each segment, in percent; segments without contacts are left out.
async fn subscribed(client: &Client) -> idempost::Result<Vec<(String, u64)>> {
    let segments = client.segments().metrics(&SegmentMetricsQuery::new().by_segment()).await?.data;
    let share = |segment: SegmentMetricsRow| {
        let percent = (100 * segment.subscribers?).checked_div(segment.all_contacts?)?;
        Some((segment.name.unwrap_or_default(), percent))
    };
    Ok(segments.into_iter().filter_map(share).collect())
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the report is the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    for row in alarming(&client, "2026-07-01").await? {
        let (day, domain) = (row.period.unwrap_or_default(), row.domain_name.unwrap_or_default());
        println!("{day} {domain}: {:?} % bounced, {:?} % complained", row.bounce_rate, row.complaint_rate);
    }
    for (segment, percent) in subscribed(&client).await? {
        println!("{segment}: {percent} % subscribed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::{Email, contacts::NewContact};
    use idempost_reference_server::{ClockStart, ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn a_day_with_bounces_raises_an_alarm_for_its_domain() {
        let clock = ClockStart::Frozen("2026-03-02T12:00:00Z".parse().unwrap());
        let server = ReferenceServer::start_with(Settings { clock, ..Settings::default() }).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        for (from, to) in [
            ("hi@acme.test", "ada@example.com"),
            ("hi@acme.test", "bob@example.com"),
            ("news@other.test", "ada@example.com"),
            ("news@other.test", "bounced@example.com"),
        ] {
            client.emails().send(&Email::new(from, to, "Hello").text("It works")).await.unwrap();
        }
        server.service().clock().advance(Duration::from_mins(1));
        let rows = alarming(&client, "2026-03-01").await.unwrap();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!(
            (row.period.as_deref(), row.domain_name.as_deref()),
            (Some("2026-03-02"), Some("other.test"))
        );
        assert_eq!((row.sent, row.bounce_rate, row.opened), (Some(2), Some(50.0), None));
        assert!(alarming(&client, "2026-03-02T12:00:30Z").await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_share_of_subscribers_is_known_by_segment() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let readers = client.segments().create("Readers").await.unwrap().id;
        client.segments().create("Empty").await.unwrap();
        for (email, unsubscribed) in [("ada@example.com", false), ("bob@example.com", true)] {
            let contact = NewContact::new(email).unsubscribed(unsubscribed).segment(&readers);
            client.contacts().create(&contact).await.unwrap();
        }
        assert_eq!(subscribed(&client).await.unwrap(), [("Readers".to_owned(), 50)]);
    }
}
