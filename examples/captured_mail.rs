//! Testing an application's emails without an account: the reference server runs in the test and captures them.

use idempost::{Client, Email};

/// Code somewhere deep inside an application.
async fn sign_up(client: &Client, address: &str) -> idempost::Result<()> {
    let welcome = Email::new("Acme <hi@acme.test>", address, "Welcome")
        .html(r#"<p>Your code is <b>482 913</b>. <a href="https://acme.test/verify?t=1">Verify</a></p>"#);
    client.emails().send(&welcome).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> idempost::Result<()> {
    sign_up(&Client::from_env()?, "ada@example.com").await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost_reference_server::{CapturedMail, ReferenceServer};

    use super::*;

    #[tokio::test]
    async fn a_new_user_gets_a_code() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        sign_up(&client, "ada@example.com").await.unwrap();
        let mail = &server.service().mails(&server.api_key())[0];
        assert_eq!((mail.to[0].as_str(), mail.subject.as_str()), ("ada@example.com", "Welcome"));
        assert_eq!((mail.codes[0].as_str(), mail.links[0].text.as_str()), ("482913", "Verify"));
        assert_eq!(mail.text.as_deref(), Some("Your code is 482 913. Verify (https://acme.test/verify?t=1)"));
    }

    #[tokio::test]
    async fn a_mail_sent_in_the_background_is_awaited() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        tokio::spawn(async move { sign_up(&client, "ada@example.com").await });
        let welcome = |mail: &CapturedMail| mail.to == ["ada@example.com"] && mail.subject == "Welcome";
        let timeout = Duration::from_secs(10);
        let mail = server.service().wait_for_mail(&server.api_key(), timeout, welcome).await.unwrap();
        assert_eq!(mail.codes[0], "482913");
    }
}
