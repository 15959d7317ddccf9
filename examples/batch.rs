//! A batch of emails in one request; invalid ones are rejected individually and reported.

use idempost::{BatchEmail, Client, emails::AcceptedBatch};

async fn run(client: &Client, people: &[(&str, &str)]) -> idempost::Result<AcceptedBatch> {
    let invitation = |(name, address): &(&str, &str)| {
        BatchEmail::new("Acme <hi@acme.test>", *address, format!("{name}, you are invited"))
            .text("Friday, 7 pm")
    };
    let emails: Vec<_> = people.iter().map(invitation).collect();
    client.emails().send_batch(&emails).permissive().idempotency_key("invitations-2026-47").await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "what became of the batch is the program's result")]
async fn main() -> idempost::Result<()> {
    let sent = run(&Client::from_env()?, &[("Ada", "ada@example.com"), ("Bob", "bob@@example.com")]).await?;
    for email in &sent.data {
        println!("accepted {}", email.id);
    }
    for error in &sent.errors {
        println!("rejected email {}: {}", error.index, error.message);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn the_valid_emails_are_sent_and_the_other_is_reported() {
        // BATCH-13
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let people = [("Ada", "ada@example.com"), ("Bob", "bob@@example.com"), ("Cyd", "cyd@example.com")];
        let sent = run(&client, &people).await.unwrap();
        assert_eq!((sent.data.len(), sent.errors[0].index), (2, 1));
        assert_eq!(server.service().mails("sb_test").len(), 2);
    }
}
