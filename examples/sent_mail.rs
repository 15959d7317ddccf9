//! Sent emails: their attachments, and a link for someone without access to the account.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use idempost::{Client, EmailId};

/// How long a link is valid.
const LIFETIME: Duration = Duration::from_hours(2);

/// Returns the names and sizes of an email's attachments, and a link to the email.
async fn describe(client: &Client, id: &EmailId) -> idempost::Result<(Vec<(String, usize)>, String)> {
    let mut files = Vec::new();
    let mut attachments = client.emails().attachments(id).stream();
    while let Some(attachment) = attachments.try_next().await? {
        // The URL is signed and expires. The API key isn't sent to it.
        let content = client.received().download(&attachment.download_url).await?;
        files.push((attachment.filename.unwrap_or_default(), content.len()));
    }
    // Anyone with the URL can read the email, so the URL is as confidential as the email.
    let link = client.emails().share(id).expires_in(LIFETIME).await?;
    Ok((files, link.url))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the links are the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    for email in client.emails().list().page_size(5).await?.data {
        let (files, link) = describe(&client, &email.id).await?;
        println!("{}: {link}", email.subject);
        for (name, size) in files {
            println!("  {name}: {size} bytes");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost::{Attachment, Email};
    use idempost_sandbox::Settings;

    use super::*;

    #[tokio::test]
    async fn attachments_are_read_and_the_link_expires() {
        let server = idempost_sandbox::start(Settings::default()).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let email = Email::new("hi@acme.test", "ada@example.com", "Invoice").text("Attached");
        let email = email.attach(Attachment::from_bytes("invoice.txt", "17 apples"));
        let id = client.emails().send(&email).await.unwrap().id;
        let (files, link) = describe(&client, &id).await.unwrap();
        assert_eq!(files, [("invoice.txt".to_owned(), 9)]);
        let page = client.received().download(&link).await.unwrap();
        assert!(String::from_utf8_lossy(&page).contains("Invoice"));
        server.service().clock().advance(LIFETIME);
        assert_eq!(client.received().download(&link).await.unwrap_err().status().unwrap(), 403);
    }
}
