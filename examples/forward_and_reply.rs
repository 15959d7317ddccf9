//! Forwards received emails to a colleague, and replies to their senders. If it runs again within 24 hours, such as after a crash, nothing is sent
//! twice: the idempotency keys are derived from the ID of the received email. `tickets.rs` remembers which emails it has processed.

use idempost::{Client, EmailId, ReceivedEmailId};

/// Forwards a received email, and replies to its sender.
async fn hand_over(client: &Client, id: &ReceivedEmailId, to: &str) -> idempost::Result<[EmailId; 2]> {
    let from = "Support <support@acme.test>";
    let email = client.received().get(id).await?;
    // Anyone can put any sender into an email: an unauthenticated one is forwarded as a complete attachment, as evidence, and without a reply to all.
    let forward = if email.is_authenticated() {
        client.received().forward(id).await?
    } else {
        client.received().forward_as_attachment(id).await?.text("The sender of this email may be forged.")
    };
    let forwarded =
        client.emails().send(&forward.from(from).to(to)).idempotency_key(format!("forward-{id}")).await?;
    let reply = if email.is_authenticated() { email.reply_all(from) } else { email.reply(from) };
    let reply = reply.text("Thank you. A colleague will answer you.");
    let replied = client.emails().send(&reply).idempotency_key(format!("reply-{id}")).await?;
    Ok([forwarded.id, replied.id])
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the IDs are the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    let to = std::env::args().nth(1).unwrap_or_else(|| "delivered@example.com".to_owned());
    for email in client.received().list().page_size(10).await?.data {
        let [forwarded, replied] = hand_over(&client, &email.id, &to).await?;
        println!("{}: forwarded as {forwarded}, replied as {replied}", email.id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;

    use super::*;

    const MAIL: &str = "From: Ada <ada@example.com>\r\nTo: support@acme.test, bob@example.com\r\nSubject: Help\r\n\
        Message-ID: <m1@example.com>\r\n\r\nIt broke.\r\n";

    #[tokio::test]
    async fn an_email_is_forwarded_and_answered_once() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let id = server.service().receive(&server.api_key(), &["support@acme.test"], MAIL).unwrap().into();
        let ids = hand_over(&client, &id, "dan@example.com").await.unwrap();
        assert_eq!(hand_over(&client, &id, "dan@example.com").await.unwrap(), ids);
        let mails = server.service().mails(&server.api_key());
        let [reply, forward] = &mails[..] else { panic!("{mails:?}") };
        // The sandbox doesn't check senders, so the email isn't authenticated.
        assert_eq!((forward.subject.as_str(), forward.attachments[0].size), ("Fwd: Help", MAIL.len()));
        assert_eq!(
            (reply.subject.as_str(), &reply.to[..]),
            ("Re: Help", &["ada@example.com".to_owned()][..])
        );
        let source = String::from_utf8_lossy(&reply.mime).into_owned();
        assert!(source.contains("\r\nIn-Reply-To: <m1@example.com>\r\n"), "{source}");
    }
}
