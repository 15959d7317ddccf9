//! Somebody signs up for a newsletter, looks at what they signed up for, and leaves again.

use futures_util::TryStreamExt as _;
use posthaste::{Client, ContactPatch, NewContact};

/// The names of the segments that the person was in before leaving the newsletter.
async fn story(client: &Client, email: &str) -> posthaste::Result<Vec<String>> {
    let weekly = client.segments().create("Readers of the weekly").await?.id;

    // Signing up twice makes no second contact: an address names one.
    let person = NewContact::new(email).first_name("Ada").segment(&weekly);
    client.contacts().create(&person).await?;
    client.contacts().update(email, &ContactPatch::new().last_name("Lovelace")).await?;

    // A path takes the address wherever it takes the id.
    let segments: Vec<_> = client.contacts().segments(email).stream().try_collect().await?;

    client.contacts().remove_from_segment(email, &weekly).await?;
    Ok(segments.into_iter().filter_map(|segment| segment.name).collect())
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the segments are the program's result")]
async fn main() -> posthaste::Result<()> {
    for name in story(&Client::from_env()?, "ada@example.com").await? {
        println!("left {name}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use posthaste_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn who_signed_up_is_a_member_until_leaving() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let email = "ada+news@example.com";
        assert_eq!(story(&client, email).await.unwrap(), ["Readers of the weekly"]);
        let ada = client.contacts().get(email).await.unwrap();
        assert_eq!((ada.first_name.as_deref(), ada.last_name.as_deref()), (Some("Ada"), Some("Lovelace")));
        assert!(client.contacts().segments(&ada).await.unwrap().data.is_empty());
        let segment = &client.segments().list().await.unwrap().data[0];
        assert!(client.segments().contacts(&segment.id).await.unwrap().data.is_empty());
    }
}
