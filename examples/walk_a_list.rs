//! Streaming all sent emails in constant memory, from the position where the last run stopped.

use std::{error::Error, fs, path::Path};

use futures_util::TryStreamExt as _;
use idempost::{Client, emails::LastEvent, page::ListPosition};

async fn run(client: &Client, file: &Path) -> Result<(u64, Vec<String>), Box<dyn Error>> {
    let (mut seen, mut bounced) = (0, Vec::new());
    let stored = fs::read(file).ok();
    let position: Option<ListPosition> = stored.map(|json| serde_json::from_slice(&json)).transpose()?;
    let mut emails = client.emails().list().resume(position).stream();
    while let Some(email) = emails.try_next().await? {
        seen += 1;
        if email.last_event == Some(LastEvent::Bounced) {
            bounced.extend(email.to);
        }
        if seen % 100 == 0 {
            fs::write(file, serde_json::to_vec(&emails.position())?)?;
        }
    }
    Ok((seen, bounced))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the count is the program's result")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (seen, bounced) = run(&Client::from_env()?, "walk_a_list.json".as_ref()).await?;
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
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("position.json");
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
        assert_eq!(run(&client, &file).await.unwrap(), (226, vec!["bounced@x.test".to_owned()]));
        // A run that stopped after the last write would continue with the rest.
        assert_eq!(run(&client, &file).await.unwrap().0, 26);
    }
}
