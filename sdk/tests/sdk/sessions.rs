//! Sessions against the strict server: each refresh token is valid once, and reuse revokes the grant. Time is advanced, never awaited:
//! a session's wall clock is the server's, or a stopped one.

/// Checks that a result is this authentication error, and returns the error.
macro_rules! assert_auth {
    ($result:expr, $expected:pat) => {{
        let error = $result.unwrap_err();
        assert!(matches!(auth(&error), $expected), "{error:?}");
        error
    }};
}

mod answers;
mod callbacks;
mod cut;
mod endpoint;
mod hooked;
mod logout;
mod lost;
mod many;
mod stores;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use http::Method;
use idempost::{
    Client, Error,
    auth::{AuthError, MemoryStore, RefreshRequest, Session, SessionBuilder, TokenRecord, TokenStore},
    call::RateLimit,
    types::AccessToken,
};
use idempost_reference_server::{
    ReferenceServer, Service, Settings, TokenEventKind,
    faults::{Action, Rule},
};
use tokio::task::JoinHandle;

use super::script::email;

const CLIENT: &str = "idempost-cli";
/// The address of a service to which the tests pass requests directly.
const ADDRESS: &str = "http://127.0.0.1:9";

/// A server with one grant, and a store with its login.
struct Fixture {
    server: ReferenceServer,
    store: MemoryStore,
}

impl Fixture {
    /// With an expired access token: a call must refresh first.
    async fn expired() -> Self {
        let fixture = Self::fresh().await;
        fixture.pass(901);
        fixture
    }

    /// With an access token issued now.
    async fn fresh() -> Self {
        let server = ReferenceServer::start_http(Settings::default()).await;
        let fixture = Self { server, store: MemoryStore::new() };
        let record = fixture.grant();
        fixture.builder().start(fixture.store.clone(), &record).await.unwrap();
        fixture
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

    /// A session's settings with the server's clock, without waiting for other processes.
    fn builder(&self) -> SessionBuilder {
        let service = Arc::clone(self.server.service());
        Session::builder().wall_clock(move || service.clock().now().into()).max_wait(Duration::from_secs(20))
    }

    /// A session that never waits, but reports how long it would have waited.
    fn impatient(&self) -> Session {
        self.builder().max_wait(Duration::ZERO).open(self.store.clone())
    }

    /// Another process, from the store's point of view.
    fn session(&self) -> Session {
        self.builder().open(self.store.clone())
    }

    /// A session's settings with a wall clock that the test moves, starting at the server's time.
    fn movable_clock(&self) -> (SessionBuilder, Arc<Mutex<SystemTime>>) {
        let wall = Arc::new(Mutex::new(self.now()));
        let reads = Arc::clone(&wall);
        (self.builder().wall_clock(move || *reads.lock().unwrap()), wall)
    }

    /// A client with a token but no session.
    fn client_with(&self, token: &AccessToken) -> Client {
        Client::builder().base_url(self.server.base_url()).access_token(token.expose()).build().unwrap()
    }

    fn client(&self, session: &Session) -> Client {
        let builder = Client::builder().base_url(self.server.base_url()).session(session.clone());
        builder.rate_limit(RateLimit::Off).build().unwrap()
    }

    fn fault(&self, action: Action) {
        self.server.service().faults().add(Rule::new(action).on_request(Method::POST, "/oauth/token"));
    }

    async fn record(&self) -> TokenRecord {
        self.store.read().await.unwrap().unwrap()
    }

    /// The number of token rotations since the grant was created.
    fn events(&self) -> Vec<TokenEventKind> {
        let events = self.server.service().token_events();
        events.into_iter().map(|event| event.kind).filter(|kind| *kind != TokenEventKind::Issued).collect()
    }

    fn rotations(&self) -> usize {
        assert!(!self.events().iter().any(|kind| matches!(kind, TokenEventKind::Reused { .. })));
        self.events().len()
    }

    /// The requests to the token endpoint, including those that met a fault.
    fn shown(&self) -> usize {
        let requests = self.server.service().requests();
        requests.iter().filter(|request| request.path == "/oauth/token").count()
    }
}

/// The tokens of a new grant.
fn grant(service: &Service, base_url: &str) -> TokenRecord {
    grant_with(service, base_url, "full_access")
}

fn grant_with(service: &Service, base_url: &str, scope: &str) -> TokenRecord {
    let issued = service.grant(CLIENT, "sb_test", scope);
    let token = format!("{base_url}/oauth/token");
    let mut record = TokenRecord::new(base_url, token, CLIENT, issued.refresh_token.into());
    record.revocation_endpoint = Some(format!("{base_url}/oauth/revoke"));
    record.scope = issued.scope;
    record.access_token = serde_json::from_value(issued.access_token.into()).unwrap();
    record.obtained_at = service.clock().now().into();
    record.expires_in = Duration::from_mins(15);
    record
}

/// A store with tokens that a service without an address has just issued.
async fn login_without_address() -> (Arc<Service>, MemoryStore) {
    let (service, store) = (Service::new(Settings::default()), MemoryStore::new());
    Session::start(store.clone(), &grant(&service, ADDRESS)).await.unwrap();
    (service, store)
}

/// A session's settings with a wall clock that is stopped this many seconds from now.
fn stopped_in(seconds: u64) -> SessionBuilder {
    let later = SystemTime::now() + Duration::from_secs(seconds);
    Session::builder().wall_clock(move || later)
}

fn refresh_token(record: &TokenRecord) -> &str {
    record.refresh_token.as_ref().unwrap().expose()
}

/// Requests the access token in a task.
fn spawn_request(session: &Session) -> JoinHandle<Result<(), Error>> {
    let session = session.clone();
    tokio::spawn(async move { session.access_token().await.map(drop) })
}

fn auth(error: &Error) -> &AuthError {
    match error {
        Error::Auth(error) => error,
        other => panic!("{other:?}"),
    }
}

/// Refreshes with another session, as a delegate does.
async fn refresh_by(helper: Session, request: RefreshRequest) -> Result<(), AuthError> {
    helper.refresh(request).await.map_err(|error| match error {
        Error::Auth(error) => Arc::into_inner(error).unwrap(),
        other => panic!("{other:?}"),
    })
}

/// A listener that records events.
fn notices(builder: SessionBuilder) -> (SessionBuilder, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notices = Arc::clone(&heard);
    (builder.on_event(move |notice| notices.lock().unwrap().push(notice.to_string())), heard)
}
