//! A weekly newsletter: contacts join a segment, and a broadcast is scheduled for Friday morning.

use idempost::{BroadcastId, Client, SegmentId, broadcasts::NewBroadcast, contacts::NewContact};

/// The content. Each contact's copy contains their name and their own unsubscribe link.
const LETTER: &str = r#"<h1>Your week</h1>
<p>Hello {{{contact.first_name|friend}}}, seventeen apples fell.</p>
<p><a href="{{{SERVICE_UNSUBSCRIBE_URL}}}">No more of this</a></p>"#;

async fn readers(client: &Client, people: &[(Option<&str>, &str)]) -> idempost::Result<SegmentId> {
    let segment = client.segments().create("Weekly readers").await?.id;
    for (name, address) in people {
        let contact = NewContact::new(*address).segment(&segment);
        let contact = match name {
            Some(name) => contact.first_name(*name),
            None => contact,
        };
        client.contacts().create(&contact).await?;
    }
    Ok(segment)
}

async fn run(client: &Client, segment: &SegmentId) -> idempost::Result<BroadcastId> {
    let broadcast =
        NewBroadcast::new(segment, "Acme <news@acme.test>", "{{{contact.first_name|Your}}}: the week")
            .html(LETTER)
            .preview_text("Seventeen apples")
            .name("Week 10")
            .send_at("friday at 9am");
    // The type doesn't allow a time to be set without sending.
    Ok(client.broadcasts().create(&broadcast).await?.id)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the broadcast's id and state are the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    let segment = readers(&client, &[(Some("Ada"), "ada@example.com"), (None, "bob@example.com")]).await?;
    let id = run(&client, &segment).await?;
    let broadcast = client.broadcasts().get(&id).await?;
    println!("{id} is {:?}, for {:?}", broadcast.status, broadcast.scheduled_at);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::broadcasts::BroadcastStatus;
    use idempost_reference_server::{CapturedMail, ClockStart, ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn every_contact_gets_the_broadcast_with_an_unsubscribe_link() {
        // BCAST-18, BCAST-26
        let wednesday = "2026-03-04T12:00:00Z".parse().unwrap();
        let settings = Settings { clock: ClockStart::Frozen(wednesday), ..Settings::default() };
        let server = ReferenceServer::start_with(settings).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let segment =
            readers(&client, &[(Some("Ada"), "ada@example.com"), (None, "bob@example.com")]).await.unwrap();
        let id = run(&client, &segment).await.unwrap();
        let status = async || client.broadcasts().get(&id).await.unwrap().status.unwrap();
        assert_eq!(status().await, BroadcastStatus::Scheduled);

        let (clock, hour) = (server.service().clock(), Duration::from_hours(1));
        clock.advance(44 * hour);
        assert!(server.service().mails("sb_test").is_empty(), "it is Friday, 8 a.m.");
        clock.advance(hour);
        assert_eq!(status().await, BroadcastStatus::Sent);

        let mails = server.service().mails("sb_test");
        let of = |to: &str| -> &CapturedMail { mails.iter().find(|mail| mail.to == [to]).unwrap() };
        let (ada, bob) = (of("ada@example.com"), of("bob@example.com"));
        assert_eq!(
            (mails.len(), ada.subject.as_str(), bob.subject.as_str()),
            (2, "Ada: the week", "Your: the week")
        );
        assert!(ada.html.as_deref().unwrap().contains("Hello Ada, seventeen"));
        assert!(bob.html.as_deref().unwrap().contains("Hello friend, seventeen"));
        assert_eq!(ada.captured_at.to_string(), "2026-03-06T09:00:00Z");

        // Bob's mail client uses the one-click unsubscribe header (RFC 8058).
        let (_, rest) = bob.html.as_deref().unwrap().split_once("href=\"").unwrap();
        let link = rest.split_once('"').unwrap().0;
        let path = link.strip_prefix(&server.base_url()).unwrap();
        let pressed = http::Request::post(path).body("List-Unsubscribe=One-Click".into()).unwrap();
        assert_eq!(server.service().handle(pressed).status(), 200);
        assert_eq!(client.contacts().get("bob@example.com").await.unwrap().unsubscribed, Some(true));

        let copy = client.broadcasts().duplicate(&id).await.unwrap().id;
        client.broadcasts().send(&copy).await.unwrap();
        client.broadcasts().wait(&copy).await.unwrap();
        assert_eq!(server.service().mails("sb_test").len(), 3, "the next broadcast goes only to Ada");
    }
}
