//! Testing an application's emails without an account: the reference server runs in the test and captures them.

use idempost::{Client, Email};

/// Code somewhere deep inside an application.
async fn sign_up(client: &Client, address: &str) -> idempost::Result<()> {
    let welcome =
        Email::new("Acme <hi@acme.test>", address, "Welcome").html("<p>Your code is <b>4711</b>.</p>");
    client.emails().send(&welcome).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> idempost::Result<()> {
    sign_up(&Client::from_env()?, "ada@example.com").await
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn a_new_user_gets_a_code() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        sign_up(&client, "ada@example.com").await.unwrap();
        let mail = &server.service().mails("sb_test")[0];
        assert_eq!((mail.to[0].as_str(), mail.subject.as_str()), ("ada@example.com", "Welcome"));
        assert!(String::from_utf8_lossy(&mail.mime).contains("4711"));
    }
}
