//! The table of routes: method, path, scope, handler; a line a route.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use uuid::Uuid;

use crate::keys::Scope;
use crate::paging::quoted;
use crate::problem::Problem;
use crate::resources::{emails, logs};
use crate::service::Service;
use crate::state::Tenant;
use crate::validation::Ignored;

/// Answers one request of one tenant.
pub(crate) type Handler = fn(&Context<'_>) -> Result<Response<Bytes>, Problem>;

/// One line of the table.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// `{…}` stands for one segment. A literal segment wins over it, so its line stands first.
    pub(crate) path: &'static str,
    pub(crate) scope: Scope,
    /// Whether `Idempotency-Key` is honoured.
    pub(crate) keyed: bool,
    pub(crate) handler: Handler,
}

const fn route(method: Method, path: &'static str, scope: Scope, handler: Handler) -> Route {
    Route { method, path, scope, keyed: false, handler }
}

const fn keyed(method: Method, path: &'static str, scope: Scope, handler: Handler) -> Route {
    Route { method, path, scope, keyed: true, handler }
}

/// All that the service serves.
pub(crate) const ROUTES: &[Route] = &[
    keyed(Method::POST, "/emails", Scope::Send, emails::send),
    keyed(Method::POST, "/email", Scope::Send, emails::send),
    keyed(Method::POST, "/emails/sending", Scope::Send, emails::send),
    keyed(Method::POST, "/email/sending", Scope::Send, emails::send),
    keyed(Method::POST, "/emails/batch", Scope::Full, emails::batch::send),
    route(Method::GET, "/emails", Scope::Full, emails::index),
    // Received emails are not served yet; without this line `receiving` would be taken for the id of a sent email.
    route(Method::GET, "/emails/receiving", Scope::Full, unknown),
    route(Method::GET, "/emails/{email_id}", Scope::Full, emails::show),
    route(Method::GET, "/logs", Scope::Full, logs::index),
];

fn unknown(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    Err(no_such_route(context.request.uri().path()))
}

pub(crate) fn no_such_route(path: &str) -> Problem {
    Problem::not_found(format!("There is no route {}.", quoted(path)))
}

/// What a request's method and path lead to.
pub(crate) enum Found {
    Route(&'static Route),
    /// The path is known, the method is not; these are.
    WrongMethod(Vec<&'static str>),
    Nothing,
}

/// Looks a request up in the table.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let mut pattern = None;
    let mut methods = Vec::new();
    for route in ROUTES {
        // The first pattern that matches decides the path, so that `/emails/batch` is never an id.
        if pattern.is_some_and(|pattern| pattern != route.path) || !pattern_matches(route.path, path) {
            continue;
        }
        if route.method == *method {
            return Found::Route(route);
        }
        pattern = Some(route.path);
        methods.push(route.method.as_str());
    }
    if methods.is_empty() { Found::Nothing } else { Found::WrongMethod(methods) }
}

/// The answer to a known path with another method.
pub(crate) fn wrong_method(method: &Method, path: &str, allowed: &[&str]) -> Response<Bytes> {
    let message = format!("{} does not take {method}; it takes {}.", quoted(path), allowed.join(", "));
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
    let mut response = problem.into_response();
    if let Ok(allowed) = HeaderValue::try_from(allowed.join(", ")) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// Whether a path fits a pattern. A slash at the end is tolerated.
pub(crate) fn pattern_matches(pattern: &str, path: &str) -> bool {
    let mut wanted = segments(pattern);
    let mut given = segments(path);
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => {}
            _ => return false,
        }
    }
}

fn segments(path: &str) -> std::str::Split<'_, char> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path).split('/')
}

/// What a handler gets.
pub(crate) struct Context<'a> {
    pub(crate) service: &'a Service,
    pub(crate) request: &'a Request<Bytes>,
    pub(crate) tenant: Arc<Tenant>,
    route: &'a Route,
    ignored: &'a RefCell<Ignored>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        service: &'a Service,
        request: &'a Request<Bytes>,
        tenant: Arc<Tenant>,
        route: &'a Route,
        ignored: &'a RefCell<Ignored>,
    ) -> Self {
        Self { service, request, tenant, route, ignored }
    }

    /// A parameter of the path by its place, decoded.
    pub(crate) fn parameter(&self, place: usize) -> Cow<'_, str> {
        let mut parameters = segments(self.route.path)
            .zip(segments(self.request.uri().path()))
            .filter(|(pattern, _)| pattern.starts_with('{'));
        let text = parameters.nth(place).map_or("", |(_, text)| text);
        percent_decode_str(text).decode_utf8_lossy()
    }

    /// The only parameter of the path, which must be an id.
    pub(crate) fn id(&self, what: &str) -> Result<Uuid, Problem> {
        let text = self.parameter(0);
        Uuid::try_parse(&text).map_err(|_| {
            Problem::invalid_parameter(format!(
                "The id of an {what} must be a UUID; found {}.",
                quoted(&text)
            ))
        })
    }

    /// Where the names of ignored fields go.
    pub(crate) fn ignored(&self) -> IgnoredGuard<'_> {
        IgnoredGuard(self.ignored.borrow_mut())
    }
}

/// The names of ignored fields while a body is read.
pub(crate) struct IgnoredGuard<'a>(std::cell::RefMut<'a, Ignored>);

impl Deref for IgnoredGuard<'_> {
    type Target = Ignored;

    fn deref(&self) -> &Ignored {
        &self.0
    }
}

impl DerefMut for IgnoredGuard<'_> {
    fn deref_mut(&mut self) -> &mut Ignored {
        &mut self.0
    }
}
