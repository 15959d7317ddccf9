//! Metrics of emails and broadcasts, and the account's usage.

use resend_rs::types::{
    BroadcastRecipientBounceType, BroadcastRecipientEventType, CreateBroadcastOptions, CreateContactOptions,
    CreateDomainOptions, GetEmailMetricsOptions, ListRecipientsOptions, Metric, MetricsGranularity,
};
use resend_rs::{Resend, Result};

use crate::call;
use crate::support::{NOTHING, email, eventually, page, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let domain = call!(client.domains.create(CreateDomainOptions::new("acme.test")))?.id;
    let sent = call!(client.emails.send(email("ada@example.com", "Counted")))?.id;
    call!(client.emails.send(email("bounced@example.com", "Counted")))?;
    let metrics = [Metric::Sent, Metric::Delivered, Metric::Bounced, Metric::DeliveryRate];
    let options = || GetEmailMetricsOptions::default().with_metrics(metrics);
    let counted = eventually(
        async || call!(client.emails.metrics(options())),
        |answer| answer.totals["delivered"] == 1.0 && answer.totals["bounced"] == 1.0,
    );
    let counted = counted.await?;
    assert_eq!((counted.totals["sent"], counted.totals["delivery_rate"]), (2.0, 50.0));
    assert!(counted.data.is_none());
    let by_day = GetEmailMetricsOptions::default()
        .with_period_dimension()
        .with_domain_dimension()
        .with_domain_id(&domain)
        .with_granularity(MetricsGranularity::Daily)
        .with_timezone("Europe/Paris")
        .with_metric(Metric::Sent);
    let rows = call!(client.emails.metrics(by_day))?.data.expect("rows");
    assert_eq!(rows.iter().map(|row| row.metrics["sent"]).sum::<f64>(), 2.0);
    assert_eq!(rows[0].domain_name.as_deref(), Some("acme.test"));
    let of_email = GetEmailMetricsOptions::default()
        .with_email_dimension()
        .with_email_id(&sent)
        .with_metric(Metric::Delivered);
    let rows = call!(client.emails.metrics(of_email))?.data.expect("rows");
    assert_eq!((rows[0].email_id.as_ref(), rows[0].metrics["delivered"]), (Some(&sent), 1.0));
    refused(
        call!(client.emails.metrics(GetEmailMetricsOptions::default().with_start_date("yesterday"))),
        "validation_error",
    );

    let segment = call!(client.segments.create("Readers"))?.id;
    for address in ["clicked@example.com", "bounced+2@example.com"] {
        call!(client.contacts.create(CreateContactOptions::new(address).with_segment(&segment)))?;
    }
    let html = r#"<a href="https://acme.test/pricing">Prices</a> <a href="{{{SERVICE_UNSUBSCRIBE_URL}}}">Unsubscribe</a>"#;
    let letter =
        CreateBroadcastOptions::new(&segment, "news@acme.test", "News").with_html(html).with_send(true);
    let broadcast = call!(client.broadcasts.create(letter))?.id;
    let of = ListRecipientsOptions::new;
    let recipients = async |options: &dyn Fn() -> ListRecipientsOptions| {
        eventually(
            async || call!(client.broadcasts.recipients(&broadcast, options())),
            |page| !page.is_empty(),
        )
        .await
    };
    let clicked = recipients(&|| of(BroadcastRecipientEventType::Clicked)).await?;
    let links = clicked[0].clicked_links.as_ref().expect("links");
    assert_eq!(
        (clicked[0].count, links[0].url.as_str(), links[0].clicks),
        (Some(1), "https://acme.test/pricing", 1)
    );
    let permanent = || {
        of(BroadcastRecipientEventType::Bounced)
            .with_bounce_type(BroadcastRecipientBounceType::Permanent)
            .with_email("bounced")
    };
    assert_eq!(recipients(&permanent).await?[0].email, "bounced+2@example.com");
    let first = recipients(&|| of(BroadcastRecipientEventType::Sent).with_limit(1)).await?;
    let after = of(BroadcastRecipientEventType::Sent).with_limit(1).list_after(&first[0].id);
    let second = call!(client.broadcasts.recipients(&broadcast, after))?;
    assert!(first.has_more && second[0].email != first[0].email);
    let links = call!(client.broadcasts.clicked_links(&broadcast, page(5)))?;
    assert_eq!(
        (links[0].url.as_str(), links[0].clicks, links[0].unique_clicks),
        ("https://acme.test/pricing", 1, 1)
    );
    refused(call!(client.broadcasts.clicked_links(NOTHING, page(5))), "not_found");
    let of_broadcast = GetEmailMetricsOptions::default()
        .with_broadcast_dimension()
        .with_broadcast_id(&broadcast)
        .with_metric(Metric::UniqueClicked);
    let rows = call!(client.emails.metrics(of_broadcast))?.data.expect("rows");
    assert_eq!((rows[0].broadcast_id.as_ref(), rows[0].metrics["unique_clicked"]), (Some(&broadcast), 1.0));

    let usage = call!(client.usage.get())?;
    assert_eq!((usage.emails.daily.sent, usage.contacts.used, usage.domains.used), (2, 2, 1));
    Ok(())
}
