//! Receiving emails: their attachments are saved under our own file names.

use std::error::Error;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt as _;
use idempost::{Client, received::ReceivedEmailSummary};

/// Saves the attachments of an email. The sender chose their file names, so the IDs are used instead.
async fn save(
    client: &Client,
    email: &ReceivedEmailSummary,
    folder: &Path,
) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut saved = Vec::new();
    let mut attachments = client.received().attachments(&email.id).stream();
    while let Some(attachment) = attachments.try_next().await? {
        // The URL is signed and expires. The API key isn't sent to it.
        let content = client.received().download(&attachment.download_url).await?;
        let path = folder.join(attachment.id.as_str());
        std::fs::write(&path, content)?;
        saved.push(path);
    }
    Ok(saved)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the paths are the program's result")]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::from_env()?;
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    for email in client.received().list().page_size(10).await?.data {
        println!("{}", email.subject.as_deref().unwrap_or("(no subject)"));
        for path in save(&client, &email, &folder).await? {
            println!("  {}", path.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;

    use super::*;

    const MAIL: &str = concat!(
        "From: ada@example.com\r\nTo: in@acme.test\r\nSubject: Invoice\r\nMIME-Version: 1.0\r\n",
        "Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\n\r\nHere it is.\r\n",
        "--m\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"../invoice.pdf\"\r\n",
        "Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjc=\r\n--m--\r\n",
    );

    #[tokio::test]
    async fn attachments_are_saved_unchanged() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        server.service().receive(&server.api_key(), &["in@acme.test"], MAIL).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let email = client.received().list().await.unwrap().data.remove(0);
        let saved = save(&client, &email, folder.path()).await.unwrap();
        assert_eq!(saved.len(), 1);
        assert_eq!(std::fs::read(&saved[0]).unwrap(), b"%PDF-1.7");
        assert_eq!(saved[0].parent(), Some(folder.path()));
    }
}
