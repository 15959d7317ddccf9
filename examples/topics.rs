//! A newsletter that contacts can unsubscribe from: one topic, and one email that is sent only to subscribers.

use idempost::{
    Accepted, Client, Email, TopicId,
    contacts::NewContact,
    topics::{NewTopic, Subscription},
};

/// Creates the topic. Only contacts that opted in receive its emails.
async fn found(client: &Client) -> idempost::Result<TopicId> {
    let topic =
        NewTopic::new("Weekly letter", Subscription::OptOut).description("Every Friday, nothing else");
    Ok(client.topics().create(&topic).await?.id)
}

/// Called when a user ticks the box in the sign-up form.
async fn join(client: &Client, topic: &TopicId, address: &str) -> idempost::Result<()> {
    client.contacts().create(&NewContact::new(address).topic(topic, Subscription::OptIn)).await?;
    Ok(())
}

/// Called when a user unsubscribes.
async fn leave(client: &Client, topic: &TopicId, address: &str) -> idempost::Result<()> {
    client.contacts().update_topics(address, [(topic, Subscription::OptOut)]).await?;
    Ok(())
}

/// The data for a preference page.
async fn choices(client: &Client, address: &str) -> idempost::Result<Vec<(String, Option<Subscription>)>> {
    let topics = client.contacts().topics(address).await?;
    Ok(topics.data.into_iter().map(|topic| (topic.name, topic.subscription)).collect())
}

/// The service drops recipients that opted out. An email that has no recipients left is still accepted, and then fails.
async fn send(client: &Client, topic: &TopicId, addresses: &[&str]) -> idempost::Result<Accepted> {
    let email = Email::new("Acme <news@acme.test>", addresses.to_vec(), "Your week").text("All is well.");
    client.emails().send(&email.topic_id(topic)).await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "what recipients chose is the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    let topic = found(&client).await?;
    for address in ["ada@example.com", "bob@example.com"] {
        join(&client, &topic, address).await?;
    }
    leave(&client, &topic, "bob@example.com").await?;
    println!("{:?}", choices(&client, "bob@example.com").await?);
    println!("sent {}", send(&client, &topic, &["ada@example.com", "bob@example.com"]).await?.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::{
        emails::LastEvent,
        topics::{TopicPatch, Visibility},
    };
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn contacts_that_opted_out_get_nothing() {
        // EMAIL-24, EMAIL-26, EMAIL-27
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let topic = found(&client).await.unwrap();
        for address in ["ada@example.com", "bob@example.com"] {
            join(&client, &topic, address).await.unwrap();
        }
        leave(&client, &topic, "bob@example.com").await.unwrap();
        let chosen = choices(&client, "bob@example.com").await.unwrap();
        assert_eq!(chosen, [("Weekly letter".to_owned(), Some(Subscription::OptOut))]);

        let recipients = ["ada@example.com", "bob@example.com", "stranger@example.com"];
        send(&client, &topic, &recipients).await.unwrap();
        let mails = server.service().mails("sb_test");
        assert_eq!((mails.len(), &mails[0].to), (1, &vec!["ada@example.com".to_owned()]));

        let unwanted = send(&client, &topic, &["bob@example.com"]).await.unwrap();
        server.service().clock().advance(Duration::from_secs(10));
        let record = client.emails().get(&unwanted.id).await.unwrap();
        assert_eq!(record.last_event, Some(LastEvent::Failed));
        assert_eq!(server.service().mails("sb_test").len(), 1, "nothing else was sent");
    }

    #[tokio::test]
    async fn a_topic_is_updated_and_deleted() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let topic = found(&client).await.unwrap();
        client.topics().update(&topic, &TopicPatch::new().visibility(Visibility::Public)).await.unwrap();
        assert_eq!(client.topics().get(&topic).await.unwrap().visibility, Some(Visibility::Public));
        assert_eq!(client.topics().list().await.unwrap().data.len(), 1);
        client.topics().delete(&topic).await.unwrap();
        assert!(send(&client, &topic, &["ada@example.com"]).await.is_err(), "the topic is deleted");
    }
}
