//! The whole service as a plain function from request to response, and what a test sees of it: emails, requests, clocks and faults.

mod due;
mod exchange;
mod logins;
pub mod outbound;
mod record;

use std::sync::{Arc, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};

use self::due::DueWorker;
pub(crate) use self::exchange::collapse_slashes;
use crate::access::account;
use crate::clock::Clock;
use crate::lock::{lock, read, write};
use crate::model::mail::{CapturedMail, Mail};
use crate::model::received::Authentication;
use crate::reply::Reply;
use crate::resources::received::{self, NotReceived};
use crate::route::{Area, Routes};
use crate::routes::ROUTES;
use crate::settings::Settings;
use crate::state::arrivals::Seen;
use crate::state::event_bus::BusEventKind;
use crate::state::faults::Faults;
use crate::state::links::Links;
use crate::state::oauth::OAuthStore;
use crate::state::requests::RecordedRequest;
use crate::state::tenant::Tenant;
use crate::state::{State, keys};

type Listener<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// The email delivery service, in memory. Shared as an `Arc`; every method may be called from any thread.
///
/// ```
/// use bytes::Bytes;
/// use http::Request;
/// use idempost_reference_server::{Service, Settings};
///
/// let service = Service::new(Settings::default());
/// let request = Request::post("/emails")
///     .header("authorization", "Bearer sb_example")
///     .body(Bytes::from(
///         r#"{"from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works"}"#,
///     ))?;
/// assert_eq!(service.handle(request).status(), 200);
/// assert_eq!(service.mails("sb_example")[0].subject, "Hello");
/// # Ok::<(), http::Error>(())
/// ```
pub struct Service {
    state: Arc<State>,
    routes: &'static Routes,
    due_worker: DueWorker,
    listeners: RwLock<Vec<Listener<CapturedMail>>>,
    request_listeners: RwLock<Vec<Listener<RecordedRequest>>>,
    eviction_listeners: RwLock<Vec<Listener<str>>>,
}

impl Service {
    /// Creates a service with an empty state.
    pub fn new(settings: Settings) -> Arc<Self> {
        Self::with_routes(settings, &ROUTES)
    }

    /// Creates a service with an empty state and these routes.
    #[doc(hidden)]
    pub fn with_routes(settings: Settings, routes: &'static Routes) -> Arc<Self> {
        let links = Links::new(settings.seed);
        let logins = OAuthStore::new(settings.oauth_clients.clone(), settings.keep_records, settings.share());
        Self::from_parts(settings, links, logins, routes)
    }

    #[doc(hidden)]
    pub fn from_parts(
        settings: Settings,
        links: Links,
        oauth: OAuthStore,
        routes: &'static Routes,
    ) -> Arc<Self> {
        let service = Arc::new(Self {
            state: Arc::new(State::new(settings, links, oauth)),
            routes,
            due_worker: DueWorker::default(),
            listeners: RwLock::default(),
            request_listeners: RwLock::default(),
            eviction_listeners: RwLock::default(),
        });
        let weak = Arc::downgrade(&service);
        service.state.clock.on_move(move |account| {
            if let Some(service) = weak.upgrade() {
                // The jobs of an account that doesn't exist yet take their positions when they are scheduled.
                let tenant = account.and_then(|account| service.state.tenants.find(account));
                if tenant.is_some() || account.is_none() {
                    service.state.scheduler.reorder(tenant.map(|tenant| Arc::as_ptr(&tenant).addr()));
                }
                service.run_due();
                if tokio::runtime::Handle::try_current().is_ok() {
                    outbound::run_all(&service);
                }
                service.state.event_bus.publish_to_all(BusEventKind::Clock);
            }
        });
        service
    }

    /// Handles one request, without a socket: routes that need one, such as waiting for an email, return 501, and scripted faults on the wire
    /// don't apply.
    pub fn handle(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.reply(request).into_response()
    }

    /// Handles one request of a mount. A request that changes something waits while too many changes are unwritten.
    #[doc(hidden)]
    pub fn reply(&self, mut request: Request<Bytes>) -> Reply {
        collapse_slashes(request.uri_mut());
        let found = self.find(request.method(), request.uri().path());
        self.reply_to_match(&request, &found)
    }

    /// The clock of all accounts. Moving it runs the jobs that become due.
    pub fn clock(&self) -> &Clock {
        &self.state.clock
    }

    /// The clock of one account, named by its API key. Moving it runs the jobs of this account that become due.
    pub fn account_clock(&self, key: &str) -> Clock {
        self.state.clock.for_account(&self.tenant_name(key))
    }

    /// The scripted faults.
    pub fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// The settings of this service.
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }

    /// Returns the captured emails of a tenant, newest first. An API key names the tenant.
    pub fn mails(&self, tenant: &str) -> Vec<CapturedMail> {
        self.run_due();
        let Some(tenant) = self.find_tenant(tenant) else { return Vec::new() };
        lock(&tenant.captured).newest_first().map(Mail::to_captured).collect()
    }

    /// Waits until a captured email of a tenant matches, and returns the newest one that does; those captured earlier also count. An API key
    /// names the tenant. Returns `None` after the timeout, which is real time, whatever [`clock`](Self::clock) shows.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use idempost_reference_server::{ReferenceServer, Settings};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let server = ReferenceServer::start_http(Settings::default()).await;
    /// # let request = http::Request::post("/emails").header("authorization", "Bearer sb_test");
    /// # let email = r#"{"from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "Your code is 482 913"}"#;
    /// # server.service().handle(request.body(email.into())?);
    /// let to_ada = |mail: &idempost_reference_server::CapturedMail| mail.to == ["ada@example.com"];
    /// let mail = server.service().wait_for_mail("sb_test", Duration::from_secs(10), to_ada).await;
    /// assert_eq!(mail.expect("a mail to Ada").codes[0], "482913");
    /// # Ok::<(), http::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn wait_for_mail(
        &self,
        tenant: &str,
        timeout: Duration,
        matches: impl Fn(&CapturedMail) -> bool,
    ) -> Option<CapturedMail> {
        self.run_due();
        let name = self.tenant_name(tenant);
        let waiting = async {
            let (mut seen, mut arrivals) = (Seen::default(), self.state.arrivals.subscribe(&name));
            loop {
                let tenant = self.state.tenants.find(&name);
                let mail =
                    tenant.and_then(|tenant| seen.newest_match(&tenant, |mail| matches(&mail.to_captured())));
                if let Some(mail) = mail {
                    return mail.to_captured();
                }
                arrivals.next_capture().await;
            }
        };
        tokio::time::timeout(timeout, waiting).await.ok()
    }

    /// Receives an email (RFC 5322) for these recipients on behalf of the tenant of an API key. Returns the ID for `GET
    /// /emails/receiving/{email_id}`.
    ///
    /// Any domain can receive, unless [`Settings::strict_domains`] is set: then only the domains that the tenant has verified for
    /// receiving.
    ///
    /// # Errors
    /// Returns the reason why the email was not stored.
    pub fn receive(
        &self,
        tenant: &str,
        recipients: &[&str],
        message: impl Into<Bytes>,
    ) -> Result<String, NotReceived> {
        self.run_some_due();
        let _guard = self.state.snapshot_lock.enter();
        let credential = keys::find_credential(tenant, &self.state.tenants.api_key_index)
            .ok_or(NotReceived::UnknownKey)?;
        let tenant = self.state.tenants.tenant(&credential.tenant);
        self.notify_of_evictions();
        let recipients = recipients.iter().map(ToString::to_string).collect();
        received::receive(&self.state, &tenant, recipients, Authentication::UNKNOWN, message.into())
            .map(|id| id.to_string())
    }

    fn find_tenant(&self, key: &str) -> Option<Arc<Tenant>> {
        self.state.tenants.find(&self.tenant_name(key))
    }

    /// The name of the tenant of a key, or the tenant's own name.
    fn tenant_name(&self, key: &str) -> String {
        let credential = keys::find_credential(key, &self.state.tenants.api_key_index);
        credential.map_or_else(|| key.to_owned(), |credential| credential.tenant.into_owned())
    }

    /// Returns the recorded requests, oldest first, within [`Settings::keep_requests`] and [`Settings::keep_request_bytes`].
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.tenants.requests.all()
    }

    /// Lists every route as method and path, with `{…}` for a parameter. Those under `/_/` are excluded.
    pub fn routes() -> impl Iterator<Item = (Method, &'static str)> {
        ROUTES.operations().map(|route| (route.method.clone(), route.path))
    }

    /// Lists the routes that need no credential.
    pub fn open_routes() -> impl Iterator<Item = (Method, &'static str)> {
        ROUTES.in_area(Area::OAuth).map(|route| (route.method.clone(), route.path))
    }

    /// Registers a callback for every captured email. It runs while the request is handled, or when a schedule is due.
    pub fn on_captured(&self, listener: impl Fn(&CapturedMail) + Send + Sync + 'static) {
        write(&self.listeners).push(Arc::new(listener));
    }

    /// Registers a callback for every request, which runs before the response is sent. The sandbox's own routes are excluded.
    pub fn on_request(&self, listener: impl Fn(&RecordedRequest) + Send + Sync + 'static) {
        write(&self.request_listeners).push(Arc::new(listener));
    }

    /// Registers a callback for every tenant that is evicted, with all its data, because there are more than [`Settings::keep_tenants`]. It
    /// receives the beginning of the tenant's name. Those evicted while the state was restored are reported immediately.
    pub fn on_evicted(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        write(&self.eviction_listeners).push(Arc::new(listener));
        self.notify_of_evictions();
    }

    /// Deletes all tenants, requests, faults and scheduled jobs.
    pub fn reset(&self) {
        let _guard = self.state.snapshot_lock.enter();
        self.state.reset();
    }

    fn notify_of_evictions(&self) {
        while let Some(name) = self.state.tenants.next_evicted() {
            self.state.faults.clear_account(&name);
            let label = account::key_label(&self.state, &name);
            for listener in &*read(&self.eviction_listeners).clone() {
                listener(&label);
            }
        }
    }

    fn notify_listeners(&self) {
        loop {
            let Some(mail) = self.state.next_captured() else { return };
            let listeners = read(&self.listeners).clone();
            if listeners.is_empty() {
                continue;
            }
            let mail = mail.to_captured();
            for listener in listeners {
                listener(&mail);
            }
        }
    }

    /// Sets the base URL for links in emails and responses. Mounts call this; the first call wins.
    pub fn set_base_url(&self, base_url: &str) {
        self.state.links.add_address(base_url);
    }

    #[doc(hidden)]
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("settings", &self.state.settings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    mod scaling;
}
