//! The suppression list: copy an existing list to the service, and keep a database in sync with the addresses that bounces and complaints add.

use std::collections::BTreeSet;

use idempost::{
    Client, Error,
    problem::limits,
    suppressions::SuppressionOrigin,
    webhooks::{EventData, WebhookPayload},
};

/// Copies a list from elsewhere. It can be repeated: addresses on the list keep their entries.
async fn copy(client: &Client, addresses: &[&str]) -> idempost::Result<()> {
    for batch in addresses.chunks(limits::SUPPRESSIONS_PER_BATCH) {
        client.suppressions().add_batch(batch.iter().copied()).await?;
    }
    Ok(())
}

/// Called by the webhook handler for `suppression.added` and `suppression.removed`.
fn follow(known: &mut BTreeSet<String>, event: &WebhookPayload) {
    match &event.data {
        EventData::SuppressionAdded(entry) => drop(known.insert(entry.email.clone())),
        EventData::SuppressionRemoved(entry) => drop(known.remove(&entry.email)),
        _ => {}
    }
}

/// Whether the service would drop this address, and why.
async fn reason(client: &Client, address: &str) -> idempost::Result<Option<SuppressionOrigin>> {
    match client.suppressions().get(address).await {
        Ok(entry) => Ok(entry.origin),
        Err(Error::Api(error)) if error.status == 404 && error.name == "not_found" => Ok(None),
        Err(error) => Err(error),
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the list is the program's result")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::from_env()?;
    copy(&client, &["ada@example.com", "bob@example.com"]).await?;
    println!("ada@example.com: {:?}", reason(&client, "ada@example.com").await?);
    // Called when a customer has confirmed the address again.
    client.suppressions().remove_batch(["ada@example.com"]).await?;
    println!("{:?}", client.suppressions().list().origin(SuppressionOrigin::Bounce).await?.data);
    // A verified event, here from standard input.
    let mut known = BTreeSet::new();
    follow(&mut known, &serde_json::from_reader(std::io::stdin())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::{Email, emails::LastEvent};
    use idempost_reference_server::ReferenceServer;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_bounce_suppresses_the_address_until_it_is_removed() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let email = Email::new("hi@acme.test", "bounced@example.com", "Hello").text("It works");
        let send = async || {
            let id = client.emails().send(&email).await.unwrap().id;
            server.service().clock().advance(Duration::from_secs(10));
            client.emails().get(&id).await.unwrap().last_event
        };
        assert_eq!(reason(&client, "bounced@example.com").await.unwrap(), None);
        assert_eq!(send().await, Some(LastEvent::Bounced));
        assert_eq!(reason(&client, "BOUNCED@example.com").await.unwrap(), Some(SuppressionOrigin::Bounce));
        assert_eq!(send().await, Some(LastEvent::Suppressed));
        let allowed = client.suppressions().remove_batch(["bounced@example.com", "unknown@example.com"]);
        assert_eq!(allowed.await.unwrap().data.len(), 1);
        assert_eq!(send().await, Some(LastEvent::Bounced));
    }

    #[tokio::test]
    async fn a_list_is_copied_and_its_entries_are_removed() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        copy(&client, &["a@example.com", "b@example.com"]).await.unwrap();
        client.suppressions().add("c@example.com").await.unwrap();
        let listed = client.suppressions().list().origin(SuppressionOrigin::Manual).await.unwrap().data;
        assert_eq!(listed.len(), 3);
        client.suppressions().remove("a@example.com").await.unwrap();
        let removed = client.suppressions().remove_batch_by_id([&listed[0].id]).await.unwrap();
        assert_eq!(removed.data[0].id, listed[0].id);
        assert_eq!(client.suppressions().list().await.unwrap().data[0].email, "b@example.com");
    }

    #[test]
    fn the_database_follows_the_events() {
        let event = |kind: &str| -> WebhookPayload {
            let data = json!({ "id": "s1", "email": "ada@example.com", "origin": "complaint", "created_at": "2026-11-22T15:28:00.000Z" });
            let event = json!({ "type": kind, "created_at": "2026-11-22T15:28:00.000Z", "data": data });
            serde_json::from_value(event).unwrap()
        };
        let mut known = BTreeSet::new();
        follow(&mut known, &event("suppression.added"));
        assert!(known.contains("ada@example.com"));
        follow(&mut known, &event("suppression.removed"));
        assert!(known.is_empty());
    }
}
