//! The results of a broadcast: its rates, its most clicked links, and the contacts whose addresses bounced, which are unsubscribed.

#![expect(clippy::print_stdout, reason = "the report is the program's result")]

use futures_util::TryStreamExt as _;
use idempost::{
    BroadcastId, Client,
    broadcasts::{BounceType, RecipientType},
    contacts::ContactPatch,
    emails::{EmailMetric, EmailMetricsQuery},
};

/// Prints the rates and the most clicked links.
async fn report(client: &Client, id: &BroadcastId) -> idempost::Result<()> {
    let query = EmailMetricsQuery::new()
        .start_date("2026-01-01")
        .metrics([EmailMetric::Delivered, EmailMetric::OpenRate, EmailMetric::ClickRate])
        .broadcasts([id]);
    let all = client.emails().metrics(&query).await?.totals;
    println!("{:?} delivered, {:?} % opened, {:?} % clicked", all.delivered, all.open_rate, all.click_rate);
    for link in client.broadcasts().clicked_links(id).page_size(5).await?.data {
        println!("{:?} clicks by {:?} recipients: {}", link.clicks, link.unique_clicks, link.url);
    }
    Ok(())
}

/// Unsubscribes the contacts whose addresses don't exist. Returns their number.
async fn clean(client: &Client, id: &BroadcastId) -> idempost::Result<usize> {
    let list = client.broadcasts().recipients(id, RecipientType::Bounced).bounce_type(BounceType::Permanent);
    let (mut bounced, mut cleaned) = (list.stream(), 0);
    while let Some(recipient) = bounced.try_next().await? {
        if let Some(contact) = recipient.contact_id {
            client.contacts().update(contact.as_str(), &ContactPatch::new().unsubscribed(true)).await?;
            cleaned += 1;
        }
    }
    Ok(cleaned)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let id = std::env::args().nth(1).ok_or("usage: broadcast_report ID")?.into();
    let client = Client::from_env()?;
    report(&client, &id).await?;
    println!("{} contacts unsubscribed", clean(&client, &id).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::{broadcasts::NewBroadcast, contacts::NewContact};
    use idempost_reference_server::{ClockStart, ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn bounced_contacts_are_unsubscribed() {
        let clock = ClockStart::Frozen("2026-03-02T12:00:00Z".parse().unwrap());
        let server = ReferenceServer::start_with(Settings { clock, ..Settings::default() }).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let segment = client.segments().create("Readers").await.unwrap().id;
        for email in ["clicked@example.com", "bounced@example.com", "bounced+gone@example.com"] {
            client.contacts().create(&NewContact::new(email).segment(&segment)).await.unwrap();
        }
        let html = "<a href='https://acme.test/docs'>Docs</a>";
        let draft = NewBroadcast::new(&segment, "news@acme.test", "Your week").html(html).send_now();
        let id = client.broadcasts().create(&draft).await.unwrap().id;
        server.service().clock().advance(Duration::from_mins(1));

        report(&client, &id).await.unwrap();
        let clicked = client.broadcasts().recipients(&id, RecipientType::Clicked).await.unwrap().data;
        assert_eq!((clicked.len(), clicked[0].count), (1, Some(1)));
        assert_eq!(clicked[0].clicked_links[0].url, "https://acme.test/docs");
        client.contacts().delete("bounced+gone@example.com").await.unwrap();
        assert_eq!(clean(&client, &id).await.unwrap(), 1);
        assert_eq!(client.contacts().get("bounced@example.com").await.unwrap().unsubscribed, Some(true));
    }
}
