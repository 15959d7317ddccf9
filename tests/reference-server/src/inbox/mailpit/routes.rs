//! The route table of Mailpit's API: method, path, required access and handler, one line per route.

use bytes::Bytes;
use http::{Method, Request};

use crate::inbox::access::Access::{self, Account, Public};
use crate::inbox::mailpit::call::{Call, segments};
use crate::inbox::mailpit::{account, events, message, messages, ok, send};
use crate::state::State;
use crate::wire::answers::Answer;

/// A route. `{…}` matches one segment, and `{…}.html` one with this ending.
pub(super) struct Route {
    method: Method,
    path: &'static str,
    /// What the route requires if the sandbox has a password.
    pub(super) access: Access,
    handler: fn(&Call<'_>) -> Answer,
}

const fn route(
    method: Method,
    path: &'static str,
    access: Access,
    handler: fn(&Call<'_>) -> Answer,
) -> Route {
    Route { method, path, access, handler }
}

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const DELETE: Method = Method::DELETE;

#[rustfmt::skip] // A line a route.
const ROUTES: &[Route] = &[
    route(GET, "/livez", Public, |_| Ok(ok())),
    route(GET, "/readyz", Public, |_| Ok(ok())),
    route(GET, "/api/events", Account, events::handshake),
    route(GET, "/api/v1/info", Account, |call| Ok(messages::info(call))),
    route(GET, "/api/v1/webui", Account, |_| Ok(messages::page_settings())),
    route(GET, "/api/v1/tags", Account, |call| Ok(messages::tags(call))),
    route(GET, "/api/v1/messages", Account, messages::index),
    route(PUT, "/api/v1/messages", Account, messages::mark),
    route(DELETE, "/api/v1/messages", Account, messages::delete),
    route(GET, "/api/v1/search", Account, messages::search),
    route(DELETE, "/api/v1/search", Account, messages::delete_found),
    route(GET, "/api/v1/message/{id}", Account, |call| message::show(call, call.segment(3))),
    route(GET, "/api/v1/message/{id}/headers", Account, |call| message::headers(call, call.segment(3))),
    route(GET, "/api/v1/message/{id}/raw", Account, |call| message::source(call, call.segment(3))),
    route(GET, "/api/v1/message/{id}/part/{part}", Account, |call| message::part(call, call.segment(3), call.segment(5))),
    route(GET, "/view/{id}.html", Account, |call| message::html(call, call.segment(1).trim_end_matches(".html"))),
    route(GET, "/view/{id}.txt", Account, |call| message::text(call, call.segment(1).trim_end_matches(".txt"))),
    route(POST, "/api/v1/send", Account, |call| Ok(send::answer(call))),
];

impl Route {
    pub(super) fn answer(&self, state: &State, request: &Request<Bytes>) -> Answer {
        let name = account(state, request)?;
        let reads = self.method == GET;
        let tenant = if reads { state.tenants.find_or_empty(&name) } else { state.tenants.tenant(&name) };
        (self.handler)(&Call { state, request, tenant })
    }
}

/// Finds the route of a method and path. The error contains the methods that the path supports, none if it is unknown.
pub(super) fn find(method: &Method, path: &str) -> Result<&'static Route, Vec<&'static str>> {
    let fitting = || ROUTES.iter().filter(|route| matches(route.path, path));
    let route = fitting().find(|route| route.method == *method);
    route.ok_or_else(|| fitting().map(|route| route.method.as_str()).collect())
}

fn matches(pattern: &str, path: &str) -> bool {
    let fits = |wanted: &str, given: &str| match wanted.strip_prefix('{') {
        Some(rest) => given.ends_with(rest.rsplit('}').next().unwrap_or_default()) && !given.is_empty(),
        None => wanted == given,
    };
    segments(pattern).count() == segments(path).count()
        && segments(pattern).zip(segments(path)).all(|(wanted, given)| fits(wanted, given))
}
