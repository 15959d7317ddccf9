//! A user authorizes a program in the browser, and the program sends on their behalf.

use std::time::Duration;

use idempost::{
    Accepted, Client, Email,
    auth::{AuthError, AuthorizationServer, FileStore, RedirectListener, Scope, Session, TokenStore as _},
};

/// Uses the stored login, or else lets the user log in. `open` shows the consent page to the user.
async fn log_in(base_url: &str, store: FileStore, open: impl FnOnce(&str)) -> idempost::Result<Session> {
    if store.read().await.map_err(AuthError::Store)?.is_some() {
        return Ok(Session::open(store));
    }
    let server = AuthorizationServer::discover(base_url).await?;
    let receiver = RedirectListener::bind().await?;
    let request =
        server.authorize("idempost-cli", receiver.redirect_uri()).scope(Scope::EmailsSend).build()?;
    open(request.url().as_str());
    let code = receiver.wait(&request, Duration::from_mins(5)).await?;
    Session::start(store, &server.exchange(&request, &code).await?).await
}

/// Sends an email. Without `close`, a refresh in flight would lose the new tokens at the end of the program.
async fn run(base_url: &str, store: FileStore, open: impl FnOnce(&str)) -> idempost::Result<Accepted> {
    let session = log_in(base_url, store, open).await?;
    let client = Client::builder().base_url(base_url).session(session.clone()).build()?;
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
    let sent = client.emails().send(&email).await;
    session.close().await;
    sent
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the address is for the person to open")]
async fn main() -> idempost::Result<()> {
    let base_url = std::env::var("IDEMPOST_BASE_URL").unwrap_or_else(|_| "http://127.0.0.1:4010".to_owned());
    run(&base_url, FileStore::new("login"), |page| println!("Open {page}")).await.map(drop)
}

#[cfg(test)]
mod tests {
    use idempost_conformance::person::Person;
    use idempost_reference_server::{ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn a_user_authorizes_the_program_once_and_it_sends() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::new(folder.path().join("login"));
        let server = ReferenceServer::start_http(Settings::default()).await;
        server.service().set_base_url(&server.base_url());
        let open = |page: &str| {
            let page = page.to_owned();
            tokio::spawn(async move {
                let person = Person::of("sb_test");
                let back = person.allows(&page).await;
                person.goes_back(&back).await
            });
        };
        run(&server.base_url(), store.clone(), open).await.unwrap();
        run(&server.base_url(), store, |_| panic!("the login is stored")).await.unwrap();
        assert_eq!(server.service().mails("sb_test").len(), 2);
        let events = server.service().token_events();
        assert_eq!(events.len(), 1, "{events:?}");
    }
}
