//! The first email. With `IDEMPOST_BASE_URL` and `IDEMPOST_API_KEY` set: `cargo run --example send`.

use idempost::{Accepted, Client, Email};

async fn run(client: &Client) -> idempost::Result<Accepted> {
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello")
        .html("<p>It <em>works</em>.</p>")
        .tag("kind", "greeting");
    client.emails().send(&email).await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the id is the program's result")]
async fn main() -> idempost::Result<()> {
    let accepted = run(&Client::from_env()?).await?;
    println!("{}", accepted.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;

    use super::*;

    #[tokio::test]
    async fn the_email_arrives() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let accepted = run(&client).await.unwrap();
        assert_eq!(client.emails().get(accepted.id).await.unwrap().subject, "Hello");
    }
}
