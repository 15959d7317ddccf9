//! The whole service as a plain function from request to response.
//!
//! A request passes these stages: due jobs run · a scripted fault may apply · the route is found · the credential and its scope are checked
//! · the request counts against the rate limit · an idempotency key may replay an earlier response · the handler responds · the exchange is
//! logged. No stage needs a socket; the mounts add the listeners.

mod due;
mod logins;
pub mod outbound;
mod record;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};

use self::due::DueWorker;
use crate::access::account;
use crate::clock::{Clock, Reading};
use crate::context::Context;
use crate::lock::{lock, read, write};
use crate::model::credential::{CreatedKey, Credential};
use crate::model::mail::{CapturedMail, Mail};
use crate::model::received::Authentication;
use crate::reply::{Reply, Then};
use crate::resources::received::{self, NotReceived};
use crate::route::{Access, Area, Call, Effect, Handler, Route, RouteMatch, Routes, Stage};
use crate::routes::ROUTES;
use crate::settings::{Compat, Settings};
use crate::state::arrivals::Seen;
use crate::state::event_bus::BusEventKind;
use crate::state::faults::{Action, Faults, Wire, too_many};
use crate::state::idempotency::{self, KeyLookup};
use crate::state::links::Links;
use crate::state::oauth::OAuthStore;
use crate::state::ratelimit::Allowance;
use crate::state::requests::RecordedRequest;
use crate::state::tenant::Tenant;
use crate::state::{State, keys};
use crate::store::changes;
use crate::wire::{Ignored, Problem};
use crate::{access, control, guard};

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

    /// Looks up a route. The path may belong to a metadata document with the service's base path after it (RFC 8414, section 3.1).
    pub(crate) fn find(&self, method: &Method, path: &str) -> RouteMatch {
        self.routes.find(method, self.state.links.without_base_path(path))
    }

    /// Handles one request of a mount. A request that changes something waits while too many changes are unwritten.
    #[doc(hidden)]
    pub fn reply(&self, mut request: Request<Bytes>) -> Reply {
        collapse_slashes(request.uri_mut());
        let found = self.find(request.method(), request.uri().path());
        self.reply_to_match(&request, &found)
    }

    /// Like [`reply`](Self::reply), once the route was found.
    pub(crate) fn reply_to_match(&self, request: &Request<Bytes>, found: &RouteMatch) -> Reply {
        let started = Instant::now();
        let _guard = is_change(found).then(|| self.state.snapshot_lock.enter());
        self.reply_to(request, found, started)
    }

    /// Like [`reply_to_match`](Self::reply_to_match), but returns `None` if the request would have to wait.
    pub(crate) fn try_reply(&self, request: &Request<Bytes>, found: &RouteMatch) -> Option<Reply> {
        let started = Instant::now();
        let lock = &self.state.snapshot_lock;
        let guard = if is_change(found) { lock.try_enter() } else { None };
        if guard.is_none() && (is_change(found) || lock.is_closed() && self.has_due()) {
            return None;
        }
        Some(self.reply_to(request, found, started))
    }

    fn reply_to(&self, request: &Request<Bytes>, found: &RouteMatch, started: Instant) -> Reply {
        let mut account = None;
        let exchanged = catch_unwind(AssertUnwindSafe(|| {
            // A request can delete its own key.
            let credential = self.state.credential(request.headers());
            account = credential.as_ref().ok().map(|credential| credential.tenant.clone().into_owned());
            self.exchange(request, found, credential)
        }));
        let (mut reply, allowance) = exchanged.unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "the panic has no message".into());
            let problem = Problem::application(format!("The service failed: {text}"));
            (problem.into_response().into(), Allowance::uncounted(self.state.settings.rate_limit))
        });
        let clock = self.clock_reading(request);
        self.finish_headers(&mut reply.response, allowance, clock);
        self.notify_of_evictions();
        if found.table.area == Area::Own {
            control::add_security_headers(reply.response.headers_mut());
        } else {
            self.record(request, account, &reply, started, clock.now());
        }
        reply
    }

    /// Whether the head of a request is enough to reject it.
    pub(crate) fn is_rejected(&self, head: &Request<Bytes>) -> bool {
        let found = self.find(head.method(), head.uri().path());
        if guard::reject(&self.state, head, &found).is_some() {
            return true;
        }
        let Ok(route) = &found.route else { return true };
        match route.handler {
            Handler::Service(_) => {
                let credential = self.state.credential(head.headers());
                credential.and_then(|credential| check_access(&credential, route)).is_err()
            }
            Handler::Open(_) | Handler::OAuth(_) => false,
            Handler::AnyKey(_) | Handler::AnyKeyLater(_) => {
                self.state.settings.password.is_none() && access::name_or_query(&self.state, head).is_err()
            }
            Handler::Account(_) | Handler::Later(_) => self.account_name(head, &found, route).is_err(),
        }
    }

    /// Responds to a request whose body was not read completely. `GET /logs` lists it; [`requests`](Self::requests), which contains only complete
    /// exchanges, doesn't.
    pub(crate) fn reject_unread(&self, head: &Request<Bytes>, problem: Problem) -> Response<Bytes> {
        let mut response = problem.into_response();
        let clock = self.clock_reading(head);
        self.finish_headers(&mut response, Allowance::uncounted(self.state.settings.rate_limit), clock);
        if self.find(head.method(), head.uri().path()).table.area == Area::Own {
            control::add_security_headers(response.headers_mut());
        }
        if let Ok(credential) = self.state.credential(head.headers()) {
            self.log(&self.state.tenants.find_or_empty(&credential.tenant), head, &response);
        }
        response
    }

    /// Responds to a connection beyond the limit, without reading it.
    pub(crate) fn reject_connection(&self) -> Response<Bytes> {
        let settings = &self.state.settings;
        let mut response = Problem::too_many_connections(settings.max_connections).into_response();
        let clock = self.state.clock.reading();
        self.finish_headers(&mut response, Allowance::uncounted(settings.rate_limit), clock);
        response
    }

    fn exchange(
        &self,
        request: &Request<Bytes>,
        found: &RouteMatch,
        credential: Result<Credential<'_>, Problem>,
    ) -> (Reply, Allowance) {
        if let Some(refusal) = guard::reject(&self.state, request, found) {
            return self.with_uncounted_allowance(refusal.into());
        }
        self.run_some_due();
        if found.table.area == Area::Own {
            return self.with_uncounted_allowance(self.call_own_route(request, found));
        }
        let account = || Some(credential.as_ref().ok()?.tenant.clone());
        let (fault, delay) = self.state.faults.apply(account, request.method(), request.uri().path());
        let mut wire = Wire { delay, ..Wire::default() };
        let served = || self.serve(request, found, credential);
        let unserved = |response| (response, Allowance::uncounted(self.state.settings.rate_limit));
        let (response, allowance) = match fault {
            // `Faults` returns a delay separately, never as the fault itself, and a reply is for SMTP only.
            None | Some(Action::Delay(_) | Action::Reply { .. }) => served(),
            Some(Action::DropBefore) => {
                wire.cut = Some(None);
                unserved(dropped_connection())
            }
            Some(Action::DropAfter) => {
                wire.cut = Some(None);
                served()
            }
            Some(Action::Stall) => {
                wire.stalled = true;
                unserved(dropped_connection())
            }
            Some(Action::Truncate(bytes)) => {
                wire.cut = Some(Some(bytes));
                served()
            }
            Some(Action::Answer { status, headers, body }) => {
                let mut response = Response::new(body);
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                unserved(response)
            }
            Some(Action::TooMany { retry_after }) => unserved(too_many(retry_after.as_deref())),
        };
        (Reply { response, then: Then::Send(wire) }, allowance)
    }

    fn with_uncounted_allowance(&self, reply: Reply) -> (Reply, Allowance) {
        (reply, Allowance::uncounted(self.state.settings.rate_limit))
    }

    /// Calls the handler of one of the sandbox's own routes.
    fn call_own_route(&self, request: &Request<Bytes>, found: &RouteMatch) -> Reply {
        let state = &self.state;
        let route = match &found.route {
            Ok(route) => *route,
            Err(no_route) => return no_route.response(request, found.table).into(),
        };
        let call = Call { state, request, routes: self.routes, route };
        let of_account = || {
            let tenant = self.account(request, found, route)?;
            Ok(call.for_account(tenant))
        };
        let with_key = || match state.settings.password {
            // The guard has checked the password or the key.
            Some(_) => Ok(()),
            None => access::name_or_query(state, request).map(drop),
        };
        let reply = as_declared(route, || match route.handler {
            Handler::Open(handler) => handler(&call).map(Reply::from),
            Handler::AnyKey(handler) => with_key().and_then(|()| handler(&call)).map(Reply::from),
            Handler::AnyKeyLater(handler) => with_key().and_then(|()| handler(&call)),
            Handler::Account(handler) => of_account().and_then(|call| handler(&call)).map(Reply::from),
            Handler::Later(handler) => of_account().and_then(|call| handler(&call)),
            Handler::OAuth(handler) => Ok(handler(state, request).into()),
            Handler::Service(_) => {
                Err(Problem::application("The service's operations have a table of their own."))
            }
        });
        reply.unwrap_or_else(|problem| (found.table.errors)(problem).into())
    }

    /// The account of a request of one of the sandbox's own routes. Only reads accept its key in the query, since frames, downloads and event
    /// streams can't send a header, and they create no account.
    fn account(
        &self,
        request: &Request<Bytes>,
        found: &RouteMatch,
        route: &Route,
    ) -> Result<Arc<Tenant>, Problem> {
        let name = self.account_name(request, found, route)?;
        let tenants = &self.state.tenants;
        let reads = route.effect == Effect::Reads;
        Ok(if reads { tenants.find_or_empty(&name) } else { tenants.tenant(&name) })
    }

    fn account_name(
        &self,
        request: &Request<Bytes>,
        found: &RouteMatch,
        route: &Route,
    ) -> Result<String, Problem> {
        let state = &self.state;
        if found.table.anonymous {
            access::name_or_default(state, request)
        } else if route.effect == Effect::Reads {
            access::name_or_query(state, request)
        } else {
            access::name(state, request)
        }
    }

    /// The clock of the account of a request, or of the service if it has none.
    fn clock_reading(&self, request: &Request<Bytes>) -> Reading {
        let state = &self.state;
        if !state.clock.has_own() {
            return state.clock.reading();
        }
        let credential = state.credential(request.headers()).map(|credential| credential.tenant.into_owned());
        let account = credential.ok().or_else(|| access::name_or_basic(state, request)?.ok());
        account.map_or_else(|| state.clock.reading(), |account| state.clock.for_account(&account).reading())
    }

    /// Checks the credential and the rate limit, responds and logs.
    fn serve(
        &self,
        request: &Request<Bytes>,
        found: &RouteMatch,
        credential: Result<Credential<'_>, Problem>,
    ) -> (Response<Bytes>, Allowance) {
        let mut allowance = Allowance::uncounted(self.state.settings.rate_limit);
        if found.table.area == Area::OAuth {
            let response = match &found.route {
                Ok(Route { handler: Handler::OAuth(handler), .. }) => handler(&self.state, request),
                Ok(_) => Problem::application("The endpoint has no handler.").into_response(),
                Err(no_route) => no_route.response(request, found.table),
            };
            return (response, allowance);
        }
        // Reads and unknown routes create no tenant.
        let creates = found.route.as_ref().is_ok_and(|route| route.effect != Effect::Reads);
        let tenants = &self.state.tenants;
        let tenant = credential.as_ref().ok().map(|Credential { tenant, .. }| {
            if creates { tenants.tenant(tenant) } else { tenants.find_or_empty(tenant) }
        });
        let response = match (&found.route, &tenant) {
            (Err(no_route), _) => no_route.response(request, found.table),
            (Ok(route), _) if route.stage == Stage::Beta && !self.state.settings.beta => {
                route.beta_disabled().into_response()
            }
            (Ok(route), tenant) => {
                let checked = credential
                    .and_then(|credential| check_access(&credential, route).map(|()| credential.created_key));
                match (checked, tenant) {
                    (Ok(created_key), Some(tenant)) => match self.count(tenant, &mut allowance) {
                        Ok(()) => {
                            if let Some(created_key) = created_key {
                                tenant.api_keys.change(created_key.id, |key| {
                                    key.last_used_at = Some(tenant.clock.now());
                                });
                                self.state.snapshot_lock.record_change();
                            }
                            self.call(request, tenant, route, created_key)
                        }
                        Err(problem) => problem.into_response(),
                    },
                    (Ok(_), None) => self.unauthorized_response(request, Problem::missing_api_key()),
                    (Err(problem), _) => self.unauthorized_response(request, problem),
                }
            }
        };
        if let Some(tenant) = &tenant {
            self.log(tenant, request, &response);
        }
        (response, allowance)
    }

    /// Responds to a request without a sufficient credential; a challenge names the metadata of the resource (RFC 9728, section 5.1).
    fn unauthorized_response(&self, request: &Request<Bytes>, problem: Problem) -> Response<Bytes> {
        let mut response = problem.into_response();
        let error = response.headers().get(header::WWW_AUTHENTICATE).and_then(|error| error.to_str().ok());
        if error.is_some() || response.status() == StatusCode::UNAUTHORIZED {
            let separator = if error.is_some() { "," } else { "" };
            let challenge = format!(
                "{}{separator} resource_metadata=\"{}{}\"",
                error.unwrap_or("Bearer"),
                self.state.links.issuer(request),
                crate::oauth::metadata::RESOURCE
            );
            if let Ok(challenge) = HeaderValue::try_from(challenge) {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
        }
        response
    }

    fn count(&self, tenant: &Arc<Tenant>, allowance: &mut Allowance) -> Result<(), Problem> {
        let Some(limit) = self.state.settings.rate_limit else { return Ok(()) };
        let now = tenant.clock.now();
        let (found, allowed) = self.state.tenants.meter(tenant, |meter| meter.count(limit, now));
        *allowance = found;
        allowed
    }

    /// Replays the response of an earlier request with the same key, or calls the route's handler.
    fn call(
        &self,
        request: &Request<Bytes>,
        tenant: &Arc<Tenant>,
        route: &'static Route,
        created_key: Option<CreatedKey>,
    ) -> Response<Bytes> {
        let sends = route.effect == Effect::Sends;
        let key = if sends { idempotency::read(request.headers()) } else { Ok(None) };
        let lookup = key.and_then(|key| {
            let Some(key) = key else { return Ok(None) };
            tenant
                .keys
                .begin(
                    &route.method,
                    route.idempotency_scope(request),
                    key,
                    request.body(),
                    tenant.clock.now(),
                )
                .map(Some)
        });
        match lookup {
            Err(problem) => problem.into_response(),
            Ok(Some(KeyLookup::Replay(answer))) => answer,
            Ok(lookup) => {
                let response = self.run_handler(request, tenant, route, created_key);
                if let Some(KeyLookup::First(claim)) = lookup {
                    claim.finish(&response);
                }
                response
            }
        }
    }

    fn run_handler(
        &self,
        request: &Request<Bytes>,
        tenant: &Arc<Tenant>,
        route: &'static Route,
        created_key: Option<CreatedKey>,
    ) -> Response<Bytes> {
        let ignored = RefCell::new(Ignored::new(self.state.settings.compat == Compat::Live));
        let context = Context {
            state: &self.state,
            request,
            tenant: Arc::clone(tenant),
            key: created_key,
            pattern: route.path,
            ignored: &ignored,
        };
        let answer = as_declared(route, || match route.handler {
            Handler::Service(handler) => handler(&context),
            _ => Err(Problem::application("The operation has no handler.")),
        });
        let mut response = answer.unwrap_or_else(Problem::into_response);
        if let Some(names) = ignored.borrow().header() {
            response.headers_mut().insert("x-sandbox-ignored-fields", names);
        }
        self.notify_listeners();
        response
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

/// Whether a request changes something as a whole, so that its changes are persisted together. Moving the clock may take long; each batch of due
/// jobs enters the snapshot lock by itself.
fn is_change(found: &RouteMatch) -> bool {
    found.route.as_ref().is_ok_and(|route| matches!(route.effect, Effect::Changes | Effect::Sends))
}

/// Calls a handler. A handler that is declared to read must not change persisted state, since it isn't inside the snapshot lock.
fn as_declared<T>(route: &Route, handle: impl FnOnce() -> T) -> T {
    let before = changes::bytes();
    let answer = handle();
    debug_assert!(
        route.effect != Effect::Reads || changes::bytes() == before,
        "{} {} is declared to read, but changes records",
        route.method,
        route.path
    );
    answer
}

/// A response in place of one whose connection is dropped.
fn dropped_connection() -> Response<Bytes> {
    Problem::application("This fault drops the connection, which needs the HTTP mount.").into_response()
}

/// Checks that a credential may use a route.
fn check_access(credential: &Credential<'_>, route: &Route) -> Result<(), Problem> {
    match route.access {
        Access::Key(scope) => credential.check(scope),
        Access::Health | Access::Open | Access::Link | Access::Password => Ok(()),
    }
}

/// Removes extra slashes at the beginning of a path: some clients join a base URL that ends with a slash and a path that begins with one.
pub(crate) fn collapse_slashes(uri: &mut Uri) {
    let target = uri.path_and_query().map_or("", PathAndQuery::as_str);
    if target.starts_with("//") {
        let target = PathAndQuery::try_from(format!("/{}", target.trim_start_matches('/')));
        let mut parts = std::mem::take(uri).into_parts();
        // The end of a valid target is also valid.
        parts.path_and_query = target.ok();
        *uri = Uri::from_parts(parts).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    mod scaling;
}
