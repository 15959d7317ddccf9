//! From a request to its response, in stages: the route is found · due jobs run · a scripted fault may apply · the credential and its scope are
//! checked · the request counts against the rate limit · an idempotency key may replay an earlier response · the handler responds · the exchange is
//! logged. No stage needs a socket; the mounts add the listeners.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};

use crate::clock::Reading;
use crate::context::Context;
use crate::model::credential::{CreatedKey, Credential};
use crate::reply::{Reply, Then};
use crate::route::{Access, Area, Call, Effect, Handler, Route, RouteMatch, Stage};
use crate::service::Service;
use crate::settings::Compat;
use crate::state::faults::{Action, Wire, too_many};
use crate::state::idempotency::{self, KeyLookup};
use crate::state::ratelimit::Allowance;
use crate::state::tenant::Tenant;
use crate::store::changes;
use crate::wire::{Ignored, Problem};
use crate::{access, control, guard};

impl Service {
    /// Looks up a route. The path may belong to a metadata document with the service's base path after it (RFC 8414, section 3.1).
    pub(crate) fn find(&self, method: &Method, path: &str) -> RouteMatch {
        self.routes.find(method, self.state.links.without_base_path(path))
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
