//! The table of routes: method, path, scope, handler; a line a route.

mod context;
mod find;

use bytes::Bytes;
use http::{Method, Response};

pub(crate) use self::context::Context;
pub(crate) use self::find::{Found, find, no_such_route, pattern_matches, wrong_method};
use crate::keys::Scope;
use crate::problem::Problem;
use crate::resources::{domains, emails, logs};

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
    // Received emails. Without this line `receiving` would be taken for the id of a sent email.
    route(Method::GET, "/emails/receiving", Scope::Full, find::unknown),
    // Sent emails, by id
    route(Method::GET, "/emails/{email_id}", Scope::Full, emails::show),
    route(Method::PATCH, "/emails/{email_id}", Scope::Full, emails::schedule::update),
    route(Method::POST, "/emails/{email_id}/cancel", Scope::Full, emails::schedule::cancel),
    // Broadcasts
    // Templates
    // Domains
    route(Method::POST, "/domains", Scope::Full, domains::create),
    route(Method::GET, "/domains", Scope::Full, domains::index),
    route(Method::GET, "/domains/{domain_id}", Scope::Full, domains::show),
    route(Method::PATCH, "/domains/{domain_id}", Scope::Full, domains::update),
    route(Method::DELETE, "/domains/{domain_id}", Scope::Full, domains::delete),
    route(Method::POST, "/domains/{domain_id}/verify", Scope::Full, domains::verify),
    // Contacts
    // Contact properties
    // Segments, and audiences, their deprecated name
    // Topics
    // Automations
    // Events
    // Webhooks
    // Logs
    route(Method::GET, "/logs", Scope::Full, logs::index),
    // API keys
];
