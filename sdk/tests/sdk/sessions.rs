//! Logins in use, against the strict server: each refresh token is good once, and one that comes back ends the grant. Time is moved, never waited for:
//! a session's wall clock is the server's, or one of its own that stands still.

mod answers;
mod callbacks;
mod cut;
mod endpoint;
mod logout;
mod lost;
mod many;
mod stores;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use http::Method;
use posthaste::{
    Client, Email, Error, RateLimit,
    auth::{AuthError, MemoryStore, Session, SessionBuilder, TokenRecord, TokenStore},
};
use posthaste_reference_server::{
    ReferenceServer, Service, Settings, TokenEventKind,
    faults::{Action, Rule},
};

const CLIENT: &str = "posthaste-cli";

/// A server with one grant, and a store that has its login.
struct House {
    server: ReferenceServer,
    store: MemoryStore,
}

impl House {
    /// The access token is no longer good: a call has to renew it first.
    async fn expired() -> Self {
        let house = Self::fresh().await;
        house.pass(901);
        house
    }

    /// The access token was issued now.
    async fn fresh() -> Self {
        let server = ReferenceServer::over_http(Settings::default()).await;
        let house = Self { server, store: MemoryStore::new() };
        let record = house.grant();
        house.builder().start(house.store.clone(), record).await.unwrap();
        house
    }

    /// The tokens of another grant.
    fn grant(&self) -> TokenRecord {
        grant(self.server.service(), &self.server.base_url())
    }

    fn now(&self) -> SystemTime {
        self.server.service().clock().now().into()
    }

    fn pass(&self, seconds: u64) {
        self.server.service().clock().advance(Duration::from_secs(seconds));
    }

    /// Settings of a session with the server's clock, that doesn't wait for anybody else.
    fn builder(&self) -> SessionBuilder {
        let service = Arc::clone(self.server.service());
        Session::builder().wall_clock(move || service.clock().now().into()).max_wait(Duration::from_secs(20))
    }

    /// A session that never waits, but says at once how long it would have to.
    fn impatient(&self) -> Session {
        self.builder().max_wait(Duration::ZERO).open(self.store.clone())
    }

    /// Another process, as far as a store can tell.
    fn session(&self) -> Session {
        self.builder().open(self.store.clone())
    }

    fn client(&self, session: &Session) -> Client {
        let builder = Client::builder().base_url(self.server.base_url()).session(session.clone());
        builder.rate_limit(RateLimit::Off).build().unwrap()
    }

    fn fault(&self, action: Action) {
        self.server.service().faults().add(Rule::new(action).on(Method::POST, "/oauth/token"));
    }

    async fn record(&self) -> TokenRecord {
        self.store.read().await.unwrap().unwrap()
    }

    /// What the token endpoint did since the grant was made.
    fn events(&self) -> Vec<TokenEventKind> {
        let events = self.server.service().token_events();
        events.into_iter().map(|event| event.kind).filter(|kind| *kind != TokenEventKind::Issued).collect()
    }

    fn rotations(&self) -> usize {
        assert!(!self.events().iter().any(|kind| matches!(kind, TokenEventKind::Reused { .. })));
        self.events().len()
    }

    /// Requests to the token endpoint, also those that met a fault.
    fn shown(&self) -> usize {
        let requests = self.server.service().requests();
        requests.iter().filter(|request| request.path == "/oauth/token").count()
    }
}

/// The tokens of a new grant.
fn grant(service: &Service, base_url: &str) -> TokenRecord {
    let issued = service.grant(CLIENT, "sb_test", "full_access");
    let token = format!("{base_url}/oauth/token");
    let mut record = TokenRecord::new(base_url, token, CLIENT, issued.refresh_token.into());
    record.revocation_endpoint = Some(format!("{base_url}/oauth/revoke"));
    record.scope = issued.scope;
    record.access_token = serde_json::from_value(issued.access_token.into()).unwrap();
    record.obtained_at = service.clock().now().into();
    record.expires_in = Duration::from_mins(15);
    record
}

fn email() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")
}

fn auth(error: &Error) -> &AuthError {
    match error {
        Error::Auth(error) => error,
        other => panic!("{other:?}"),
    }
}

/// A listener that remembers.
fn notices(builder: SessionBuilder) -> (SessionBuilder, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    (builder.on_event(move |notice| told.lock().unwrap().push(notice.to_string())), heard)
}
