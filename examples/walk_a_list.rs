//! Streaming all sent emails, page by page, in constant memory.

use futures_util::TryStreamExt as _;
use idempost::{Client, LastEvent};

async fn run(client: &Client) -> idempost::Result<(u64, Vec<String>)> {
    let (mut seen, mut bounced) = (0, Vec::new());
    let mut emails = client.emails().list().stream();
    while let Some(email) = emails.try_next().await? {
        seen += 1;
        if email.last_event == Some(LastEvent::Bounced) {
            bounced.extend(email.to);
        }
    }
    Ok((seen, bounced))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the count is the program's result")]
async fn main() -> idempost::Result<()> {
    let (seen, bounced) = run(&Client::from_env()?).await?;
    println!("{seen} emails, {} bounced: {}", bounced.len(), bounced.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::BatchEmail;
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn streaming_skips_and_repeats_nothing() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        for _ in 0..3 {
            let batch: Vec<_> = (0..75)
                .map(|i| BatchEmail::new("a@acme.test", "b@x.test", i.to_string()).text("x"))
                .collect();
            client.emails().send_batch(&batch).await.unwrap();
        }
        client
            .emails()
            .send(&idempost::Email::new("a@acme.test", "bounced@x.test", "s").text("x"))
            .await
            .unwrap();
        server.service().clock().advance(Duration::from_mins(1));
        assert_eq!(run(&client).await.unwrap(), (226, vec!["bounced@x.test".to_owned()]));
    }
}
