//! A user authorizes a program in the browser, and the program sends on their behalf.

use std::time::Duration;

use idempost::{
    Accepted, Client, Email,
    auth::{AuthorizationServer, MemoryStore, RedirectListener, Scope, Session},
};

/// Logs in at the service with this base URL. `open` shows the consent page to the user.
async fn log_in(base_url: &str, client_id: &str, open: impl FnOnce(&str)) -> idempost::Result<Session> {
    let server = AuthorizationServer::discover(base_url).await?;
    let receiver = RedirectListener::bind().await?;
    let authorization =
        server.authorize(client_id, receiver.redirect_uri()).scope(Scope::EmailsSend).build()?;
    open(authorization.url().as_str());
    let code = receiver.wait(&authorization, Duration::from_mins(5)).await?;
    let tokens = server.exchange(&authorization, &code).await?;
    // In memory the login ends with the program; a custom store keeps it (see shared_login).
    Session::start(MemoryStore::new(), &tokens).await
}

/// Sends an email, with an access token that is refreshed on demand, and logs out.
async fn run(base_url: &str, open: impl FnOnce(&str)) -> idempost::Result<Accepted> {
    let session = log_in(base_url, "idempost-cli", open).await?;
    let client = Client::builder().base_url(base_url).session(session.clone()).build()?;
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
    let accepted = client.emails().send(&email).await?;
    session.logout().await?;
    Ok(accepted)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the address is for the person to open")]
async fn main() -> idempost::Result<()> {
    let base_url = std::env::var("IDEMPOST_BASE_URL").unwrap_or_else(|_| "http://127.0.0.1:4010".to_owned());
    let accepted = run(&base_url, |page| println!("Open {page}")).await?;
    println!("accepted {}", accepted.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_conformance::person::Person;
    use idempost_reference_server::{ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn a_user_authorizes_the_program_and_it_sends() {
        let server = ReferenceServer::over_http(Settings::default()).await;
        server.service().listens_at(&server.base_url());
        let open = |page: &str| {
            let page = page.to_owned();
            tokio::spawn(async move {
                let person = Person::of("sb_test");
                let back = person.allows(&page).await;
                person.goes_back(&back).await
            });
        };
        run(&server.base_url(), open).await.unwrap();
        assert_eq!(server.service().mails("sb_test").len(), 1);
        let events = server.service().token_events();
        assert_eq!(events.len(), 1, "{events:?}");
    }
}
