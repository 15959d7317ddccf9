//! A contact subscribes to a newsletter, lists its segments, and leaves again.

use futures_util::TryStreamExt as _;
use idempost::{
    Client,
    contacts::{ContactPatch, NewContact},
};

/// Returns the names of the segments that the contact was in.
async fn run(client: &Client, email: &str) -> idempost::Result<Vec<String>> {
    let weekly = client.segments().create("Readers of the weekly").await?.id;

    // Creating a contact twice is harmless: an address identifies one contact.
    let person = NewContact::new(email).first_name("Ada").segment(&weekly);
    client.contacts().create(&person).await?;
    client.contacts().update(email, &ContactPatch::new().last_name("Lovelace")).await?;

    // An address is accepted in place of a contact's ID.
    let segments: Vec<_> = client.contacts().segments(email).stream().try_collect().await?;

    client.contacts().remove_from_segment(email, &weekly).await?;
    Ok(segments.into_iter().filter_map(|segment| segment.name).collect())
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the segments are the program's result")]
async fn main() -> idempost::Result<()> {
    for name in run(&Client::from_env()?, "ada@example.com").await? {
        println!("left {name}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn a_contact_is_a_member_of_the_segment_until_it_leaves() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let email = "ada+news@example.com";
        assert_eq!(run(&client, email).await.unwrap(), ["Readers of the weekly"]);
        let ada = client.contacts().get(email).await.unwrap();
        assert_eq!((ada.first_name.as_deref(), ada.last_name.as_deref()), (Some("Ada"), Some("Lovelace")));
        assert!(client.contacts().segments(&ada).await.unwrap().data.is_empty());
        let segment = &client.segments().list().await.unwrap().data[0];
        assert!(client.segments().contacts(&segment.id).await.unwrap().data.is_empty());
    }
}
