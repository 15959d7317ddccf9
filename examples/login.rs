//! A person lets a program in with a browser, and the program sends in their name.

use std::time::Duration;

use posthaste::{
    Accepted, Client, Email,
    auth::{AuthorizationServer, MemoryStore, RedirectListener, Scope, Session},
};

/// Logs in at the service of this address. `open` shows the page to the person.
async fn log_in(base_url: &str, client_id: &str, open: impl FnOnce(&str)) -> posthaste::Result<Session> {
    let server = AuthorizationServer::discover(base_url).await?;
    let receiver = RedirectListener::bind().await?;
    let authorization =
        server.authorize(client_id, receiver.redirect_uri()).scope(Scope::EmailsSend).build()?;
    open(authorization.url().as_str());
    let code = receiver.wait(&authorization, Duration::from_mins(5)).await?;
    let tokens = server.exchange(&authorization, &code).await?;
    // In memory the login ends with the program; a store of your own keeps it (see shared_login).
    Session::start(MemoryStore::new(), tokens).await
}

/// Renews the access token when a call needs it, and takes the access back at the end.
async fn story(base_url: &str, open: impl FnOnce(&str)) -> posthaste::Result<Accepted> {
    let session = log_in(base_url, "posthaste-cli", open).await?;
    let client = Client::builder().base_url(base_url).session(session.clone()).build()?;
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
    let accepted = client.emails().send(&email).await?;
    session.logout().await?;
    Ok(accepted)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the address is for the person to open")]
async fn main() -> posthaste::Result<()> {
    let base_url = std::env::var("POSTHASTE_BASE_URL").unwrap_or_else(|_| "http://127.0.0.1:4010".to_owned());
    let accepted = story(&base_url, |page| println!("Open {page}")).await?;
    println!("accepted {}", accepted.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use posthaste_conformance::person::Person;
    use posthaste_reference_server::{ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn a_person_lets_the_program_in_and_it_sends() {
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
        story(&server.base_url(), open).await.unwrap();
        assert_eq!(server.service().mails("sb_test").len(), 1);
        let events = server.service().token_events();
        assert_eq!(events.len(), 1, "{events:?}");
    }
}
