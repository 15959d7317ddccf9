//! The route table: method, path, scope and handler, one line per route.

mod find;
mod table;

use bytes::Bytes;
use http::{Method, Request, Response};

use crate::model::credential::Scope;
use crate::oauth::{authorize, grants, metadata, register, revoke, token};
use crate::resources::{
    api_keys, automations, broadcasts, contact_properties, contacts, domains, emails, events, logs, received,
    segments, templates, topics, webhooks,
};
use crate::state::State;
use crate::wire::problem::Problem;

pub(crate) use crate::context::Context;
pub(crate) use crate::routes::find::{Found, find, find_open, is_open};
pub(crate) use crate::wire::answers::{no_such_route, wrong_method};

/// Handles one request of a tenant.
pub(crate) type Handler = fn(&Context<'_>) -> Result<Response<Bytes>, Problem>;

/// A route.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// `{…}` matches one segment. Literal segments take precedence and are listed first.
    pub(crate) path: &'static str,
    pub(crate) scope: Scope,
    /// Whether the route supports `Idempotency-Key`.
    pub(crate) keyed: bool,
    pub(crate) handler: Handler,
}

const fn route(method: Method, path: &'static str, scope: Scope, handler: Handler) -> Route {
    Route { method, path, scope, keyed: false, handler }
}

const fn keyed(method: Method, path: &'static str, scope: Scope, handler: Handler) -> Route {
    Route { method, path, scope, keyed: true, handler }
}

/// Lists every route as method and path.
pub(crate) fn all() -> impl Iterator<Item = (Method, &'static str)> {
    let open = OPEN_ROUTES.iter().map(|route| (route.method.clone(), route.path));
    ROUTES.iter().map(|route| (route.method.clone(), route.path)).chain(open)
}

/// Handles one request without a credential.
pub(crate) type OpenHandler = fn(&State, &Request<Bytes>) -> Response<Bytes>;

/// A route that needs no credential.
pub(crate) struct OpenRoute {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) handler: OpenHandler,
}

const fn open(method: Method, path: &'static str, handler: OpenHandler) -> OpenRoute {
    OpenRoute { method, path, handler }
}

/// The routes without a credential.
pub(crate) const OPEN_ROUTES: &[OpenRoute] = &[
    open(Method::GET, "/oauth/authorize", authorize::begin),
    open(Method::POST, "/oauth/token", token::exchange),
    open(Method::POST, register::PATH, register::register),
    open(Method::POST, "/oauth/revoke", revoke::revoke),
    open(Method::GET, "/.well-known/oauth-authorization-server", metadata::server),
    open(Method::GET, "/.well-known/oauth-protected-resource", metadata::resource),
    open(Method::GET, "/.well-known/jwks.json", metadata::keys),
];

/// All other routes.
pub(crate) const ROUTES: &[Route] = &[
    keyed(Method::POST, "/emails", Scope::Send, emails::send),
    keyed(Method::POST, "/email", Scope::Send, emails::send),
    keyed(Method::POST, "/emails/sending", Scope::Send, emails::send),
    keyed(Method::POST, "/email/sending", Scope::Send, emails::send),
    keyed(Method::POST, "/emails/batch", Scope::Full, emails::batch::send),
    route(Method::GET, "/emails", Scope::Full, emails::index),
    // Received emails. Listed before the sent ones, so that `receiving` isn't matched as an ID.
    route(Method::GET, "/emails/receiving", Scope::Full, received::index),
    route(Method::GET, "/emails/receiving/{email_id}", Scope::Full, received::show),
    route(Method::GET, "/emails/receiving/{email_id}/attachments", Scope::Full, received::attachments::index),
    route(
        Method::GET,
        "/emails/receiving/{email_id}/attachments/{attachment_id}",
        Scope::Full,
        received::attachments::show,
    ),
    // Sent emails, by ID
    route(Method::GET, "/emails/{email_id}", Scope::Full, emails::show),
    route(Method::PATCH, "/emails/{email_id}", Scope::Full, emails::schedule::update),
    route(Method::POST, "/emails/{email_id}/cancel", Scope::Full, emails::schedule::cancel),
    // Broadcasts
    route(Method::POST, "/broadcasts", Scope::Full, broadcasts::create),
    route(Method::GET, "/broadcasts", Scope::Full, broadcasts::index),
    route(Method::GET, "/broadcasts/{broadcast_id}", Scope::Full, broadcasts::show),
    route(Method::PATCH, "/broadcasts/{broadcast_id}", Scope::Full, broadcasts::update),
    route(Method::DELETE, "/broadcasts/{broadcast_id}", Scope::Full, broadcasts::delete),
    route(Method::POST, "/broadcasts/{broadcast_id}/send", Scope::Send, broadcasts::send),
    route(Method::POST, "/broadcasts/{broadcast_id}/cancel", Scope::Full, broadcasts::cancel),
    route(Method::POST, "/broadcasts/{broadcast_id}/duplicate", Scope::Full, broadcasts::duplicate),
    // Templates
    route(Method::POST, "/templates", Scope::Full, templates::create),
    route(Method::GET, "/templates", Scope::Full, templates::index),
    route(Method::GET, "/templates/{id_or_alias}", Scope::Full, templates::show),
    route(Method::PATCH, "/templates/{id_or_alias}", Scope::Full, templates::update),
    route(Method::DELETE, "/templates/{id_or_alias}", Scope::Full, templates::delete),
    route(Method::POST, "/templates/{id_or_alias}/publish", Scope::Full, templates::publish),
    route(Method::POST, "/templates/{id_or_alias}/duplicate", Scope::Full, templates::duplicate),
    // Domains
    route(Method::POST, "/domains", Scope::Full, domains::create),
    route(Method::GET, "/domains", Scope::Full, domains::index),
    route(Method::GET, "/domains/{domain_id}", Scope::Full, domains::show),
    route(Method::PATCH, "/domains/{domain_id}", Scope::Full, domains::update),
    route(Method::DELETE, "/domains/{domain_id}", Scope::Full, domains::delete),
    route(Method::POST, "/domains/{domain_id}/verify", Scope::Full, domains::verify),
    // Contacts
    route(Method::POST, "/contacts", Scope::Full, contacts::create),
    route(Method::GET, "/contacts", Scope::Full, contacts::index),
    route(Method::GET, "/contacts/{id_or_email}", Scope::Full, contacts::show),
    route(Method::PATCH, "/contacts/{id_or_email}", Scope::Full, contacts::update),
    route(Method::DELETE, "/contacts/{id_or_email}", Scope::Full, contacts::delete),
    route(Method::GET, "/contacts/{id_or_email}/segments", Scope::Full, contacts::segments::index),
    route(
        Method::POST,
        "/contacts/{id_or_email}/segments/{segment_id}",
        Scope::Full,
        contacts::segments::add,
    ),
    route(
        Method::DELETE,
        "/contacts/{id_or_email}/segments/{segment_id}",
        Scope::Full,
        contacts::segments::remove,
    ),
    route(Method::GET, "/contacts/{id_or_email}/topics", Scope::Full, contacts::topics::index),
    route(Method::PATCH, "/contacts/{id_or_email}/topics", Scope::Full, contacts::topics::update),
    // Contact properties
    route(Method::POST, "/contact-properties", Scope::Full, contact_properties::create),
    route(Method::GET, "/contact-properties", Scope::Full, contact_properties::index),
    route(Method::GET, "/contact-properties/{contact_property_id}", Scope::Full, contact_properties::show),
    route(
        Method::PATCH,
        "/contact-properties/{contact_property_id}",
        Scope::Full,
        contact_properties::update,
    ),
    route(
        Method::DELETE,
        "/contact-properties/{contact_property_id}",
        Scope::Full,
        contact_properties::delete,
    ),
    // Segments, and their deprecated name, audiences
    route(Method::POST, "/segments", Scope::Full, segments::create),
    route(Method::GET, "/segments", Scope::Full, segments::index),
    route(Method::GET, "/segments/{segment_id}", Scope::Full, segments::show),
    route(Method::PATCH, "/segments/{segment_id}", Scope::Full, segments::update),
    route(Method::DELETE, "/segments/{segment_id}", Scope::Full, segments::delete),
    route(Method::GET, "/segments/{segment_id}/contacts", Scope::Full, segments::members),
    route(Method::POST, "/audiences", Scope::Full, segments::create),
    route(Method::GET, "/audiences", Scope::Full, segments::index),
    route(Method::GET, "/audiences/{audience_id}", Scope::Full, segments::show),
    route(Method::DELETE, "/audiences/{audience_id}", Scope::Full, segments::delete),
    route(Method::GET, "/audiences/{audience_id}/contacts", Scope::Full, segments::members),
    route(Method::POST, "/audiences/{audience_id}/contacts", Scope::Full, contacts::audience::create),
    route(
        Method::GET,
        "/audiences/{audience_id}/contacts/{id_or_email}",
        Scope::Full,
        contacts::audience::show,
    ),
    route(
        Method::PATCH,
        "/audiences/{audience_id}/contacts/{id_or_email}",
        Scope::Full,
        contacts::audience::update,
    ),
    route(
        Method::DELETE,
        "/audiences/{audience_id}/contacts/{id_or_email}",
        Scope::Full,
        contacts::audience::delete,
    ),
    // Topics
    route(Method::POST, "/topics", Scope::Full, topics::create),
    route(Method::GET, "/topics", Scope::Full, topics::index),
    route(Method::GET, "/topics/{topic_id}", Scope::Full, topics::show),
    route(Method::PATCH, "/topics/{topic_id}", Scope::Full, topics::update),
    route(Method::DELETE, "/topics/{topic_id}", Scope::Full, topics::delete),
    // Automations
    route(Method::POST, "/automations", Scope::Full, automations::create),
    route(Method::GET, "/automations", Scope::Full, automations::index),
    route(Method::GET, "/automations/{automation_id}", Scope::Full, automations::show),
    route(Method::PATCH, "/automations/{automation_id}", Scope::Full, automations::update),
    route(Method::DELETE, "/automations/{automation_id}", Scope::Full, automations::delete),
    route(Method::POST, "/automations/{automation_id}/duplicate", Scope::Full, automations::duplicate),
    route(Method::POST, "/automations/{automation_id}/stop", Scope::Full, automations::stop),
    route(Method::GET, "/automations/{automation_id}/runs", Scope::Full, automations::run::index),
    route(Method::GET, "/automations/{automation_id}/runs/{run_id}", Scope::Full, automations::run::show),
    // Events
    route(Method::POST, "/events", Scope::Full, events::create),
    route(Method::GET, "/events", Scope::Full, events::index),
    route(Method::POST, "/events/send", Scope::Full, events::send),
    route(Method::GET, "/events/{id_or_name}", Scope::Full, events::show),
    route(Method::PATCH, "/events/{id_or_name}", Scope::Full, events::update),
    route(Method::DELETE, "/events/{id_or_name}", Scope::Full, events::delete),
    // Webhooks
    route(Method::POST, "/webhooks", Scope::Full, webhooks::create),
    route(Method::GET, "/webhooks", Scope::Full, webhooks::index),
    route(Method::GET, "/webhooks/{webhook_id}", Scope::Full, webhooks::show),
    route(Method::PATCH, "/webhooks/{webhook_id}", Scope::Full, webhooks::update),
    route(Method::DELETE, "/webhooks/{webhook_id}", Scope::Full, webhooks::delete),
    route(Method::GET, "/webhooks/{webhook_id}/events", Scope::Full, webhooks::events::index),
    route(Method::GET, "/webhooks/{webhook_id}/events/{event_id}", Scope::Full, webhooks::events::show),
    route(
        Method::GET,
        "/webhooks/{webhook_id}/events/{event_id}/attempts",
        Scope::Full,
        webhooks::events::attempts,
    ),
    route(
        Method::POST,
        "/webhooks/{webhook_id}/events/{event_id}/replay",
        Scope::Full,
        webhooks::events::replay,
    ),
    route(Method::POST, "/webhooks/{webhook_id}/signing-secret/rotate", Scope::Full, webhooks::rotate),
    // Logs
    route(Method::GET, "/logs", Scope::Full, logs::index),
    route(Method::GET, "/logs/{log_id}", Scope::Full, logs::show),
    // API keys
    route(Method::POST, "/api-keys", Scope::Full, api_keys::create),
    route(Method::GET, "/api-keys", Scope::Full, api_keys::index),
    route(Method::PATCH, "/api-keys/{api_key_id}", Scope::Full, api_keys::update),
    route(Method::DELETE, "/api-keys/{api_key_id}", Scope::Full, api_keys::delete),
    // OAuth grants
    route(Method::GET, "/oauth/grants", Scope::Full, grants::index),
    route(Method::DELETE, "/oauth/grants/{oauth_grant_id}", Scope::Full, grants::revoke),
];
